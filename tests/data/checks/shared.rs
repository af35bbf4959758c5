//! Arrays that threads share, on a device that is too small for all. Readers fail and are cancelled, and the arrays end
//! at any time: an access of the host finds what the last one has left, and only the end refuses one. Computations that
//! write are lost if the end gives them up, and nothing else is.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use hal::Nanos;
use overtake::Overtake;
use overtake::buffer::PinnedBuffer;
use overtake::data::{Array, ArrayOptions, Arrays, read, read_write, write};
use overtake::dispatch::{DispatchOptions, Dispatcher};
use overtake::heap::HeapOptions;
use overtake::task::{Error, Handle, More};

use crate::bed;
use crate::checks::moments::{Left, Moments};
use crate::failure::{Failure, Outcome, ensure, same};
use crate::prng::Prng;
use crate::rig::Rig;

const PROGRAMS: u64 = 16;
const PROGRAMS_REAL: u64 = 40;
const THREADS: u64 = 4;
const STEPS: u64 = 10;
const ARRAYS: u64 = 4;
/// Elements of an array, which fills a page.
const COUNT: usize = 16 << 10;
const PAGE_BYTES: u64 = 4 * COUNT as u64;
const PAGES: u64 = 2;

/// What happens beside readers and accesses of the host.
#[derive(Clone, Copy)]
struct Beside {
    /// The arrays end.
    ends: bool,
    /// Computations write. One that the end gives up loses its results.
    writes: bool,
}

impl Beside {
    /// Whether the end has given this up, or what it needs.
    fn gives_up(self, told: &Error) -> bool {
        self.ends && told.to_string().contains("its arrays were dropped")
    }

    /// The same of an array that a computation was to write.
    fn loses(self, told: &Error) -> bool {
        self.writes && self.gives_up(told)
    }
}

struct Shared {
    array: Array<u32>,
    /// The value of all elements. Who has them to change changes this.
    value: AtomicU32,
}

impl Shared {
    fn check(&self, seen: &[u32]) -> Outcome {
        let value = self.value.load(Ordering::Acquire);
        same("the elements", &[seen[0], seen[COUNT / 2], seen[COUNT - 1]], &[value; 3])
    }
}

/// One thread's part.
struct Part {
    arrays: Arrays,
    all: Arc<Vec<Shared>>,
    beside: Beside,
    moments: Arc<Moments>,
    prng: Prng,
    /// Readers that fail, or were cancelled.
    failing: Vec<Handle>,
    /// Computations that write.
    written: Vec<Handle>,
}

/// What a thread has submitted.
struct Told {
    failing: Vec<Handle>,
    written: Vec<Handle>,
}

impl Part {
    fn run(mut self, host: &dyn hal::Host) -> Result<Told, Failure> {
        for number in 0..STEPS {
            self.step(host).map_err(|failure| Failure::from_text(format!("step {number}: {failure}")))?;
        }
        Ok(Told { failing: self.failing, written: self.written })
    }

    fn step(&mut self, host: &dyn hal::Host) -> Outcome {
        let all = Arc::clone(&self.all);
        let one = &all[self.prng.below(ARRAYS) as usize];
        let left = || Left { arrays: self.arrays.clone(), tasks: None, array: &one.array, handles: &self.failing };
        self.moments.pass(|| left().try_all());
        match self.prng.below(10) {
            0..3 => self.reads(one, host),
            3 => match read(&one.array).within(self.span()).open() {
                Ok(seen) => one.check(&seen),
                Err(refused) => self.told(refused),
            },
            4 | 5 => match write(&one.array).within(self.span()).open() {
                Ok(mut guard) => {
                    one.check(&guard)?;
                    // Others come behind it meanwhile, and the end gives them up.
                    host.sleep(Nanos::from_us(self.prng.below(200)));
                    guard.fill(one.value.fetch_add(1, Ordering::AcqRel) + 1);
                    Ok(())
                }
                Err(refused) => self.told(refused),
            },
            6 => match one.array.overwrite() {
                Ok(mut guard) => {
                    let value = self.prng.below(1000) as u32;
                    one.value.store(value, Ordering::Release);
                    guard.fill(value);
                    Ok(())
                }
                Err(refused) => self.told(refused),
            },
            _ if !self.beside.writes => Ok(read(&one.array).to_device().map(drop)?),
            _ => {
                let stays = self.arrays.launch("stays", (read_write(&one.array),), |_, _| Ok(More::Done)).submit()?;
                self.written.push(stays);
                Ok(())
            }
        }
    }

    /// A reader on the device, before which others begin to wait for it.
    fn reads(&mut self, one: &Shared, host: &dyn hal::Host) -> Outcome {
        let (fails, is_cancelled) = (self.prng.below(3) > 0, self.prng.below(4) == 0);
        let reads = self.arrays.launch("reads", (read(&one.array),), move |_, _| match fails {
            true => Err("as planned".into()),
            false => Ok(More::Done),
        });
        let task = reads.held().submit()?;
        self.failing.extend(Some(task.clone()).filter(|_| fails));
        host.sleep(Nanos::from_us(self.prng.below(200)));
        if is_cancelled {
            self.failing.extend(Some(task.clone()).filter(|_| !fails));
            ensure!(task.cancel()? || task.is_done(), "it is held, or the end has given it up");
            return Ok(());
        }
        let released = task.release();
        ensure!(released.is_ok() || task.is_done(), "{released:?}");
        Ok(())
    }

    /// How long an access waits.
    fn span(&mut self) -> Duration {
        if self.prng.below(2) == 0 { Duration::MAX } else { Duration::from_nanos(self.prng.below(300_000)) }
    }

    /// An access was refused: it came behind one that is open, where the arrays end, or its time is over.
    fn told(&self, refused: Error) -> Outcome {
        let is_late = matches!(refused, Error::TimedOut { .. });
        if is_late || self.beside.gives_up(&refused) { Ok(()) } else { Err(Failure::new(refused)) }
    }
}

/// The arrays, the first of them in memory of the program. At first the device alone has them, as far as it has room.
fn shared(overtake: &Arc<Overtake>, arrays: &Arrays) -> Result<Vec<Shared>, Failure> {
    let mut all = Vec::new();
    for number in 0..ARRAYS {
        let array = match number {
            0 => arrays.adopt(PinnedBuffer::<u32>::new(overtake, COUNT)?)?,
            _ => arrays.array(&[COUNT])?,
        };
        array.overwrite()?.fill(7);
        all.push(Shared { array, value: AtomicU32::new(7) });
    }
    for one in all.iter().rev() {
        arrays.launch("stays", (read_write(&one.array),), |_, _| Ok(More::Done)).submit()?.wait()?;
    }
    Ok(all)
}

pub fn program(rig: &Rig, overtake: &Arc<Overtake>, seed: u64, moments: &Arc<Moments>) -> Outcome {
    let (host, mut prng) = (rig.driver().host(), Prng::new(seed));
    let beside = Beside { ends: seed % 2 == 1, writes: seed % 4 != 1 };
    let options = DispatchOptions { lanes: 2, ..DispatchOptions::default() };
    let dispatcher = Dispatcher::open(overtake, options)?;
    let device = HeapOptions { page_bytes: PAGE_BYTES, max_bytes: PAGES * PAGE_BYTES, ..HeapOptions::default() };
    let arrays = Arrays::open(&dispatcher, ArrayOptions { device, ..ArrayOptions::default() })?;
    let all = Arc::new(shared(overtake, &arrays)?);
    let part = |thread| {
        let (arrays, all, prng) = (arrays.clone(), Arc::clone(&all), Prng::new(seed * THREADS + thread));
        let (moments, failing, written) = (Arc::clone(moments), Vec::new(), Vec::new());
        let part = Part { arrays, all, beside, moments, prng, failing, written };
        rig.spawn("part", move |driver| part.run(driver.host()))
    };
    let threads: Vec<_> = (0..THREADS).map(part).collect();
    let may_lose = |told: Result<(), Error>| told.or_else(|told| if beside.loses(&told) { Ok(()) } else { Err(told) });
    for _ in 0..if beside.ends { 8 } else { 0 } {
        host.sleep(Nanos::from_us(prng.below(200)));
        may_lose(arrays.clone().finish())?;
    }
    let told = threads.into_iter().map(|thread| rig.join(thread)).collect::<Result<Vec<_>, _>>()?;
    for one in all.iter() {
        match one.array.read() {
            Ok(seen) => one.check(&seen)?,
            Err(told) if beside.loses(&told) => one.array.overwrite()?.fill(one.value.load(Ordering::Acquire)),
            Err(told) => return Err(Failure::from_text(format!("in the end: {told}"))),
        }
    }
    arrays.finish()?;
    for Told { failing, written } in &told {
        ensure!(failing.iter().all(|task| matches!(task.outcome(), Some(Err(_)))), "all readers that fail do");
        written.iter().try_for_each(|task| may_lose(task.wait()))?;
    }
    drop(dispatcher);
    let all = Arc::into_inner(all).ok_or_else(|| Failure::new("no thread is left"))?;
    let Shared { array, value } = all.into_iter().next().expect("there are some");
    let memory = array.release()?.ok_or_else(|| Failure::new("it was made of a buffer"))?;
    same("the program's own memory", &memory[COUNT - 1], &value.into_inner())
}

fn programs(rig: &Rig, overtake: &Arc<Overtake>, programs: u64) -> Outcome {
    (0..programs).try_for_each(|seed| {
        let end = program(rig, overtake, seed, &Arc::default());
        end.map_err(|error| Failure::from_text(format!("program {seed}: {error}")))
    })
}

/// Nothing is lost but with its writer.
pub fn values(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    programs(rig, &bed.overtake, if rig.driver().host().is_virtual() { PROGRAMS } else { PROGRAMS_REAL })
}
