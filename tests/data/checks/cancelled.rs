//! Steps of random programs that are cancelled: readers, and writers with others before and behind them.

use overtake::data::{discard, read};
use overtake::task::{Error, Handle, More, Reason};

use crate::checks::oracle::{Fate, How, Part, Place};
use crate::checks::random::{Next, Program};
use crate::failure::{Failure, Outcome, ensure};

/// Whether it tells that a task was not run because one was cancelled.
pub fn is_cancelled(error: &Error) -> bool {
    matches!(error, Error::NotRun { fault, .. } if matches!(fault.reason, Reason::Cancelled))
}

impl Program<'_> {
    /// A reader is cancelled. Steps that write what it reads come behind it, and run.
    pub fn cancels_reader(&mut self) -> Outcome {
        let (part, priority, device) = (self.part(), self.priority(), self.device());
        let (bed, arrays) = (self.bed, std::mem::take(&mut self.arrays));
        let uses = (read(&arrays[part.array]).part(part.elements.clone()),);
        let step = bed.arrays.launch("cancelled", uses, |_, _| Ok(More::Done)).priority(priority);
        let step = if self.size.names_devices { step.on(device) } else { step };
        self.next = Next::IsHeldInVain;
        let is_there = self.submit(Place::Device(device), &[(part, How::Reads)], step);
        self.arrays = arrays;
        is_there?;
        self.cancels_chosen()
    }

    /// A step that writes is cancelled, with others behind it, and in some cases before it: one of those may be held
    /// until then.
    pub fn cancels_writer(&mut self) -> Outcome {
        // A full device would wait for a step that is held.
        let gate = if self.size.fits && self.prng.below(2) == 0 { self.writes(Next::IsHeld)? } else { None };
        if self.size.fits && self.prng.below(3) == 0 {
            self.writes(Next::Runs)?;
        }
        let next = self.prng.pick(&[Next::IsHeldInVain, Next::IsHeldInVain, Next::IsCancelled]);
        self.chosen = self.writes(next)?;
        self.cancelled += u64::from(self.chosen.is_some());
        self.cancels_chosen()?;
        if let Some((gate, _)) = gate {
            let released = gate.release();
            ensure!(released.is_ok() || gate.is_done(), "one that waits is released: {released:?}");
        }
        Ok(())
    }

    /// Most arrays are written from the start, so most steps are possible.
    pub fn begins(&mut self) -> Outcome {
        for array in 0..self.size.arrays {
            if self.prng.below(4) > 0 {
                self.sets(Part { array, elements: 0..self.size.elements })?;
            }
        }
        Ok(())
    }

    /// A function of the host that reads nothing.
    fn sets(&mut self, part: Part) -> Outcome {
        let (value, priority) = (self.prng.below(100) as f32, self.priority());
        let (bed, arrays) = (self.bed, std::mem::take(&mut self.arrays));
        let uses = (discard(&arrays[part.array]).part(part.elements.clone()),);
        let step = bed.arrays.host("sets", uses, move |(elements,)| {
            elements.fill(value);
            Ok(())
        });
        let is_done = self.submit(Place::Host, &[(part.clone(), How::Discards)], step.priority(priority));
        self.arrays = arrays;
        self.oracle.set(&part, &vec![value; part.elements.len()]);
        is_done.map(drop)
    }

    /// A step that writes, if there is one, done this way.
    fn writes(&mut self, next: Next) -> Result<Option<(Handle, Fate)>, Failure> {
        self.next = next;
        match self.prng.below(5) {
            0 | 1 => self.kernel()?,
            2 => self.function()?,
            3 => self.reduction()?,
            _ => {
                let part = self.part();
                self.sets(part)?;
            }
        }
        self.next = Next::Runs;
        Ok(self.chosen.take())
    }

    /// Some steps come behind the chosen one, if there is one, which is cancelled then.
    fn cancels_chosen(&mut self) -> Outcome {
        let Some((chosen, fate)) = self.chosen.take() else { return Ok(()) };
        for _ in 0..if self.size.fits { self.prng.below(5) } else { 0 } {
            match self.prng.below(12) {
                0..5 => self.kernel()?,
                5..8 => self.function()?,
                8 | 9 => self.reduction()?,
                10 => self.bring()?,
                _ if self.cancels_writers => self.cancels_writer()?,
                _ => self.cancels_reader()?,
            }
        }
        let was_cancelled = chosen.cancel()?;
        ensure!(was_cancelled || fate != Fate::Good, "it has not started: {chosen:?}");
        Ok(())
    }

    /// Each task has ended as it must.
    pub fn check_fates(&mut self) -> Outcome {
        for (task, fate) in self.fates.drain(..) {
            let told = task.wait();
            let is_lost = told.as_ref().is_err_and(is_cancelled);
            let is_right = match fate {
                Fate::Good => told.is_ok(),
                Fate::Either => told.is_ok() || is_lost,
                Fate::Lost => is_lost,
            };
            ensure!(is_right, "{task:?} is {fate:?}, and {told:?}");
        }
        Ok(())
    }
}
