//! The end of arrays beside accesses of the program: results come to adopted memory, or the error tells that they did
//! not.

use std::sync::Arc;
use std::sync::mpsc::channel;

use hal::{Code, Driver, Nanos};
use overtake::buffer::PinnedBuffer;
use overtake::data::{
    AccessAt, Array, ArrayOptions, Arrays, Location, Sum, Use, Writes, discard, read, read_write, reduce, write,
};
use overtake::dispatch::{DispatchOptions, Dispatcher};
use overtake::task::More;

use crate::bed::{self, Bed};
use crate::failure::{Failure, Outcome, ensure, same};
use crate::faulty::{Faulty, INJECTED};
use crate::prng::Prng;
use crate::raw;
use crate::rig::Rig;

const COUNT: usize = 1 << 10;
const PROGRAMS: u64 = 300;
const STEPS: u64 = 10;
/// A transfer makes fewer calls.
const CALLS_MAX: u64 = 20;
/// The end waits for less than for tasks that do not end.
const AT_ONCE: Nanos = Nanos::from_ms(10_000);

/// A way to access adopted memory that has its elements.
type Way = fn(&Array<f32>) -> Use<'_, Writes<f32>>;

fn adopt(bed: &Bed) -> Result<Array<f32>, Failure> {
    Ok(bed.arrays.adopt(PinnedBuffer::<f32>::new(&bed.overtake, COUNT)?)?)
}

/// Has twos as results on the device.
fn twos(bed: &Bed, adopted: &Array<f32>) -> Outcome {
    let source = bed.arrays.array_of(&[1.0; COUNT])?;
    raw::add(bed, "twos", &source, &source, adopted).submit()?;
    Ok(())
}

/// The same, made, by a driver whose calls may be made to fail from now on.
fn faulty_twos(rig: &Rig) -> Result<(Arc<Faulty>, Bed, Array<f32>), Failure> {
    let faulty = Faulty::new(rig.shared_driver(), Code::INVALID_VALUE);
    let driver: Arc<dyn Driver> = Arc::clone(&faulty) as Arc<dyn Driver>;
    let bed = bed::open_with(rig, &driver, ArrayOptions::default())?;
    let adopted = adopt(&bed)?;
    twos(&bed, &adopted)?;
    bed.arrays.wait()?;
    Ok((faulty, bed, adopted))
}

/// The results are in the memory itself: no dispatcher brings them any more.
fn has(bed: Bed, adopted: Array<f32>, value: f32) -> Outcome {
    let Bed { arrays: _arrays, tasks, dispatcher, .. } = bed;
    drop((tasks, dispatcher));
    let memory = adopted.release()?.ok_or_else(|| Failure::new("it was made of a buffer"))?;
    same("the results", &[memory[0], memory[COUNT - 1]], &[value; 2])
}

fn contains(ended: Result<(), overtake::task::Error>, text: &str) -> Outcome {
    let told = ended.err().map(|error| error.to_string());
    ensure!(told.as_ref().is_some_and(|told| told.contains(text)), "{told:?} does not tell: {text}");
    Ok(())
}

/// An access that stays open, and never has its elements, does not hide that those are lost.
pub fn is_told_of_what_an_access_would_hide(rig: &Rig) -> Outcome {
    for (way, fails) in [write as Way, read_write].into_iter().flat_map(|way| [(way, false), (way, true)]) {
        let bed = bed::open(rig)?;
        let adopted = adopt(&bed)?;
        let task = bed.arrays.launch("broken", (discard(&adopted),), |_, _| Err("no luck".into())).held().submit()?;
        let access = way(&adopted).open_at(Location::Host)?;
        if fails {
            task.release()?;
            ensure!(task.wait().is_err(), "it fails");
        }
        let ended = bed.arrays.clone().finish();
        contains(ended, if fails { "no luck" } else { "its arrays were dropped" })?;
        ensure!(access.address().is_err(), "its elements are lost");
    }
    Ok(())
}

/// The transfer of an access fails: it is made again, for the memory that was adopted.
pub fn brings_what_came_for_no_access(rig: &Rig) -> Outcome {
    let mut copies = 0;
    for (way, nth) in [write as Way, read_write].into_iter().flat_map(|way| (1..=CALLS_MAX).map(move |nth| (way, nth)))
    {
        let (faulty, bed, adopted) = faulty_twos(rig)?;
        faulty.fail(nth);
        let access = way(&adopted).open_at(Location::Host)?;
        let ended = bed.arrays.clone().finish();
        faulty.fail(0);
        let failed = faulty.failed();
        drop(access);
        let is_copy = failed == Some("copy_dtoh_async");
        copies += u32::from(is_copy);
        match ended {
            Ok(()) => has(bed, adopted, 2.0).map_err(|error| Failure::new(format_args!("{failed:?}: {error}")))?,
            Err(error) => ensure!(failed.is_some() && !is_copy, "{failed:?}: {error}"),
        }
    }
    ensure!(copies > 0, "no copy has failed");
    Ok(())
}

/// Where it fails again too, the end tells of it.
pub fn is_told_of_what_does_not_come(rig: &Rig) -> Outcome {
    for way in [write as Way, read_write] {
        let (faulty, bed, adopted) = faulty_twos(rig)?;
        faulty.refuse(&["copy_dtoh_async", "launch"]);
        let access = way(&adopted).open_at(Location::Host)?;
        let ended = bed.arrays.clone().finish();
        faulty.refuse(&[]);
        contains(ended, INJECTED)?;
        drop(access);
    }
    Ok(())
}

/// Many accesses may be open at once.
pub fn of_many(rig: &Rig) -> Outcome {
    const MANY: usize = 3000;
    let bed = bed::open(rig)?;
    let (array, adopted) = (bed.arrays.array_of(&[1.0_f32; COUNT])?, adopt(&bed)?);
    twos(&bed, &adopted)?;
    let mut accesses = Vec::new();
    for at in 0..2 * MANY {
        accesses.push(write(if at % 2 == 0 { &array } else { &adopted }).open_at(Location::Host)?);
    }
    bed.arrays.clone().finish()?;
    drop(accesses);
    has(bed, adopted, 2.0)
}

/// An access that another thread has is about to end: the results come behind it.
pub fn waits_for_other_threads(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let adopted = Arc::new(adopt(&bed)?);
    twos(&bed, &adopted)?;
    let (theirs, host, (tell, told)) = (Arc::clone(&adopted), rig.driver().host(), channel());
    let thread = rig.spawn("has it", move |driver| {
        let lent = read_write(&theirs).lend(0)?;
        tell.send(()).map_err(Failure::new)?;
        driver.host().sleep(Nanos::from_ms(10));
        drop(lent);
        Ok(())
    });
    while told.try_recv().is_err() {
        host.sleep(Nanos::from_us(100));
    }
    let ended = bed.arrays.clone().finish();
    rig.join(thread)?;
    ended?;
    has(bed, Arc::into_inner(adopted).ok_or_else(|| Failure::new("the thread has ended"))?, 2.0)
}

/// A section that writes memory where it is at home brings the results with its own end.
pub fn is_told_of_a_section_at_home(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let adopted = adopt(&bed)?;
    let (section, (inside,)) = bed.arrays.section("at home", (write(&adopted),)).on_host().open()?;
    let fill = section.host("fill", (discard(&inside),), |(all,): (&mut [f32],)| {
        all.fill(2.0);
        Ok(())
    });
    fill.submit()?;
    contains(bed.arrays.clone().finish(), "is open")?;
    section.end()?;
    drop(inside);
    bed.arrays.clone().finish()?;
    has(bed, adopted, 2.0)
}

/// What reductions have added comes behind an access that this thread has: it is told of that at once, and loses none.
pub fn is_told_of_reductions_behind_an_access(rig: &Rig) -> Outcome {
    let (bed, host) = (bed::open(rig)?, rig.driver().host());
    let adopted = adopt(&bed)?;
    adopted.overwrite()?.fill(1.0);
    let adds = || {
        let adds = bed.arrays.host("adds", (reduce(&adopted, Sum),), |(sum,)| {
            sum.iter_mut().for_each(|each| *each += 1.0);
            Ok(())
        });
        adds.submit()
    };
    let ends = || {
        let begun = host.now();
        let ended = bed.arrays.clone().finish();
        ensure!(host.now().since(begun) < AT_ONCE, "the end has waited for this thread");
        contains(ended, "is open")
    };
    let guard = adopted.change()?;
    adds()?;
    ends()?;
    drop(guard);
    let guard = read_write(&adopted).lend(0)?;
    adds()?;
    ends()?;
    drop(guard);
    let guard = adopted.read()?;
    adds()?;
    ends()?;
    drop(guard);
    // An access that is given up comes behind it, and the results behind that one.
    let guard = adopted.read()?;
    let given_up = discard(&adopted).open_at(Location::Host)?;
    adds()?;
    ends()?;
    drop((guard, given_up));
    bed.arrays.clone().finish()?;
    has(bed, adopted, 5.0)
}

/// An access that the end gives up, and that was to overwrite nothing, fails none of those behind it.
pub fn leaves_those_behind_an_access(rig: &Rig) -> Outcome {
    for (way, doubles) in [write as Way, read_write].into_iter().flat_map(|way| [(way, false), (way, true)]) {
        let bed = bed::open(rig)?;
        let adopted = adopt(&bed)?;
        twos(&bed, &adopted)?;
        let access = way(&adopted).open_at(Location::Device(0))?;
        let double = || raw::add_of_arrays(&bed, &bed.arrays, &adopted).submit();
        let task = doubles.then(double).transpose()?;
        let reader = (!doubles).then(|| read(&adopted).open_at(Location::Host)).transpose()?;
        bed.arrays.clone().finish()?;
        ensure!(bed.arrays.failure().is_none(), "nothing has failed: {:?}", bed.arrays.failure());
        let told = access.address().err().map(|error| error.to_string()).unwrap_or_default();
        ensure!(told.contains("was not run: its arrays were dropped before the program had"), "{told}");
        task.map_or(Ok(()), |task| task.wait())?;
        if let Some(reader) = &reader {
            ensure!(reader.address()?.is_some(), "its elements are there");
        }
        drop((access, reader));
        has(bed, adopted, if doubles { 4.0 } else { 2.0 })?;
    }
    Ok(())
}

/// A program that ends its arrays with accesses open.
struct Program<'a> {
    arrays: &'a Arrays,
    adopted: &'a Array<f32>,
    /// Those that are open, and whether the program may have their elements without writing them.
    accesses: Vec<(AccessAt<'a>, bool)>,
    /// Of each element, if all that was submitted has run.
    value: f32,
    /// Results may be lost.
    is_at_risk: bool,
}

impl<'a> Program<'a> {
    fn step(&mut self, prng: &mut Prng) -> Outcome {
        let (arrays, adopted) = (self.arrays, self.adopted);
        let value = prng.below(100) as f32;
        // Writers are refused while an access has frozen the elements.
        match prng.below(9) {
            0 | 1 => {
                let fills = arrays.host("fills", (discard(adopted),), move |(all,)| {
                    all.fill(value);
                    Ok(())
                });
                let is_held = prng.below(4) == 0;
                self.is_at_risk |= is_held;
                if if is_held { fills.held() } else { fills }.submit().is_ok() {
                    self.value = value;
                }
            }
            2 | 3 => drop(arrays.launch("stays", (read_write(adopted),), |_, _| Ok(More::Done)).submit()),
            4 => {
                let fails = arrays.host("fails", (discard(adopted),), |_| Err("no luck".into()));
                if prng.below(3) == 0 && fails.submit().is_ok() {
                    (self.value, self.is_at_risk) = (f32::NAN, true);
                }
            }
            5 => {
                let adds = arrays.host("adds", (reduce(adopted, Sum),), |(sum,)| {
                    sum.iter_mut().for_each(|each| *each += 1.0);
                    Ok(())
                });
                if adds.submit().is_ok() {
                    self.value += 1.0;
                }
            }
            6 | 7 => self.opens(prng),
            _ => self.asks_or_closes(prng)?,
        }
        Ok(())
    }

    fn opens(&mut self, prng: &mut Prng) {
        let at = if prng.below(2) == 0 { Location::Host } else { Location::Device(0) };
        let adopted = self.adopted;
        let (access, keeps) = match prng.below(4) {
            0 => (read(adopted).open_at(at), true),
            1 => (write(adopted).open_at(at), true),
            2 => (read_write(adopted).open_at(at), true),
            _ => (discard(adopted).open_at(at), false),
        };
        self.accesses.extend(access.ok().map(|access| (access, keeps)));
    }

    fn asks_or_closes(&mut self, prng: &mut Prng) -> Outcome {
        if self.accesses.is_empty() {
            return Ok(());
        }
        let one = prng.below(self.accesses.len() as u64) as usize;
        if prng.below(2) == 0 {
            // What needs the elements of one that was to overwrite them fails.
            self.is_at_risk |= !self.accesses.swap_remove(one).1;
        } else if self.accesses[one].1 {
            drop(self.accesses[one].0.address());
        }
        Ok(())
    }
}

/// In random programs an end without an error has brought all results, and it has not waited for its own thread.
pub fn of_random_programs(rig: &Rig) -> Outcome {
    let (bed, host) = (bed::open(rig)?, rig.driver().host());
    let run = |seed| -> Result<bool, Failure> {
        let mut prng = Prng::new(seed);
        let dispatcher = Dispatcher::open(&bed.overtake, DispatchOptions::default())?;
        let arrays = Arrays::open(&dispatcher, ArrayOptions::default())?;
        let adopted = arrays.adopt(PinnedBuffer::<f32>::new(&bed.overtake, COUNT)?)?;
        adopted.overwrite()?.fill(0.0);
        let (arrays_of, adopted_of) = (&arrays, &adopted);
        let mut program =
            Program { arrays: arrays_of, adopted: adopted_of, accesses: Vec::new(), value: 0.0, is_at_risk: false };
        for _ in 0..STEPS {
            program.step(&mut prng)?;
            if prng.below(3) == 0 {
                host.sleep(Nanos::from_us(50));
            }
        }
        let begun = host.now();
        let ended = arrays.clone().finish();
        ensure!(host.now().since(begun) < AT_ONCE, "the end has waited for this thread: {ended:?}");
        let Program { accesses, value, is_at_risk, .. } = program;
        ensure!(ended.is_ok() || is_at_risk || !accesses.is_empty(), "nothing keeps the results: {ended:?}");
        drop(accesses);
        drop(dispatcher);
        if ended.is_ok() {
            let memory = adopted.release()?.ok_or_else(|| Failure::new("it was made of a buffer"))?;
            same("the results", &[memory[0], memory[COUNT - 1]], &[value; 2])?;
        }
        Ok(ended.is_ok())
    };
    let mut well = 0;
    for seed in 0..PROGRAMS {
        let ended = run(seed).map_err(|error| Failure::new(format_args!("program {seed}: {error}")))?;
        well += u64::from(ended);
    }
    ensure!((PROGRAMS / 4..PROGRAMS).contains(&well), "{well} of {PROGRAMS} have ended well");
    Ok(())
}
