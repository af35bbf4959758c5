//! The other API on the software GPU, with descriptors of its own.

use std::sync::Arc;

use overtake::hal::{Driver, ExternalSemaphoreKind, Nanos};
use softgpu::{ForeignMemory, ForeignSemaphore};

use crate::sides::{Exported, Outcome, Round, Sentence, Theirs, Wait};

/// A side that does not wait is early by this time.
const SLOW: Nanos = Nanos::from_ms(2);

const PATIENCE: Nanos = Nanos::from_ms(20_000);

/// Its steps are taken by the thread that asks for their results. Copies go on meanwhile.
pub struct Foreign {
    driver: Arc<dyn Driver>,
    kind: ExternalSemaphoreKind,
    bytes: u64,
    memory: ForeignMemory,
    theirs: ForeignSemaphore,
    ours: ForeignSemaphore,
    submitted: Option<(Round, Wait)>,
}

impl Foreign {
    pub fn new(driver: &Arc<dyn Driver>, kind: ExternalSemaphoreKind, bytes: u64) -> Outcome<Foreign> {
        Ok(Foreign {
            driver: Arc::clone(driver),
            kind,
            bytes,
            memory: ForeignMemory::new(bytes)?,
            theirs: ForeignSemaphore::new(kind)?,
            ours: ForeignSemaphore::new(kind)?,
            submitted: None,
        })
    }

    /// The value of a signal: a binary semaphore has 1.
    fn value(&self, round: Round) -> u64 {
        round.value(self.kind).max(1)
    }

    fn await_ours(&self, round: Round) -> Outcome<()> {
        let (value, host) = (self.value(round), self.driver.host());
        let deadline = Nanos(host.now().0 + PATIENCE.0);
        while self.ours.value() < value {
            if host.now() > deadline {
                Err(Sentence(format!("no signal of overtake's has come in round {}", round.0)))?;
            }
            host.sleep(Nanos::from_us(10));
        }
        if self.kind == ExternalSemaphoreKind::Binary {
            self.ours.signal(0);
        }
        Ok(())
    }
}

impl Theirs for Foreign {
    fn export(&self) -> Outcome<Exported> {
        Ok(Exported {
            memory: self.memory.export()?,
            memory_bytes: self.bytes,
            is_dedicated: false,
            kind: self.kind,
            theirs: self.theirs.export()?,
            ours: self.ours.export()?,
        })
    }

    fn write(&mut self, _round: Round) -> Outcome<()> {
        Ok(())
    }

    fn read(&mut self, round: Round, wait: Wait) -> Outcome<()> {
        self.submitted = Some((round, wait));
        Ok(())
    }

    fn seen(&mut self) -> Outcome<Vec<u8>> {
        let Some((round, wait)) = self.submitted.take() else {
            return Err(Sentence("nothing was submitted".to_owned()))?;
        };
        self.driver.host().sleep(SLOW);
        self.memory.write(0, &round.their_bytes(self.bytes as usize));
        self.theirs.signal(self.value(round));
        if wait == Wait::Before {
            self.await_ours(round)?;
        }
        let seen = self.memory.read();
        if wait == Wait::Behind {
            self.await_ours(round)?;
        }
        Ok(seen)
    }
}
