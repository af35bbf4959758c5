//! The end of arrays beside accesses of the program: results come to adopted memory, or the error tells that they did
//! not.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hal::{Code, Driver, Host, Nanos};
use overtake::buffer::PinnedBuffer;
use overtake::data::{Array, ArrayOptions, Location, Sum, Use, Writes, discard, read, read_write, reduce, write};
use overtake::task::More;

use crate::bed::{self, Bed};
use crate::failure::{Failure, Outcome, ensure, same};
use crate::faulty::{Faulty, INJECTED};
use crate::raw;
use crate::rig::Rig;

const COUNT: usize = 1 << 10;
/// A transfer makes fewer calls.
const CALLS_MAX: u64 = 20;
/// The end waits for less than for tasks that do not end.
pub const AT_ONCE: Nanos = Nanos::from_ms(10_000);

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

/// Runs `body` in a thread that borrows what it uses, and `beside` in this one.
pub fn with_another<T: Send, B>(
    rig: &Rig,
    body: impl FnOnce(&dyn Host) -> Result<T, Failure> + Send,
    beside: impl FnOnce() -> B,
) -> (Result<T, Failure>, B) {
    let (driver, host) = (rig.shared_driver(), rig.driver().host());
    let token = host.announce("another");
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            driver.host().enter(token);
            let told = body(driver.host());
            driver.host().leave();
            told
        });
        let (beside, mut thread, mut told) = (beside(), Some(thread), None);
        host.outside(&mut || told = thread.take().map(|thread| thread.join().expect("it does not panic")));
        (told.expect("it is joined once"), beside)
    })
}

/// An access that another thread has is about to end: the results come behind it. Who has opened it does not matter.
pub fn waits_for_other_threads(rig: &Rig) -> Outcome {
    for is_handed_over in [false, true] {
        let (bed, host, has_it) = (bed::open(rig)?, rig.driver().host(), AtomicBool::new(false));
        let adopted = adopt(&bed)?;
        twos(&bed, &adopted)?;
        let opened = is_handed_over.then(|| read_write(&adopted).open_at(Location::Device(0))).transpose()?;
        let body = |host: &dyn Host| {
            let lent = if opened.is_none() { Some(read_write(&adopted).lend(0)?) } else { None };
            if let Some(opened) = &opened {
                opened.there().wait()?;
                opened.address()?;
            }
            has_it.store(true, Ordering::Release);
            host.sleep(Nanos::from_ms(10));
            drop((lent, opened));
            Ok(())
        };
        let ends = || {
            host.wait_until(None, &mut || has_it.load(Ordering::Acquire));
            bed.arrays.clone().finish()
        };
        let (told, ended) = with_another(rig, body, ends);
        told?;
        ended.map_err(|error| Failure::new(format_args!("handed over {is_handed_over}: {error}")))?;
        has(bed, adopted, 2.0)?;
    }
    Ok(())
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

/// Of two results of reductions one comes behind an access that this thread has: the other is combined all the same.
pub fn combines_what_no_access_keeps(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let adopted = adopt(&bed)?;
    adopted.overwrite()?.fill(1.0);
    let halves = [0..COUNT / 2, COUNT / 2..COUNT];
    let access = read(&adopted).part(halves[0].clone()).open()?;
    for half in halves {
        let adds = bed.arrays.host("adds", (reduce(&adopted, Sum).part(half),), |(sum,)| {
            sum.iter_mut().for_each(|each| *each += 1.0);
            Ok(())
        });
        adds.submit()?;
    }
    contains(bed.arrays.clone().finish(), "is open")?;
    same("partial results that are combined", &bed.arrays.statistics().combined, &1)?;
    drop(access);
    bed.arrays.clone().finish()?;
    has(bed, adopted, 2.0)
}

/// A task that never ends is waited for once, also where results do not come and are brought again.
pub fn waits_once_for_what_does_not_end(rig: &Rig) -> Outcome {
    let (faulty, bed, adopted) = faulty_twos(rig)?;
    let never = bed.tasks.host("never", || Ok(())).held().submit()?;
    let other = bed.arrays.array::<f32>(&[COUNT])?;
    let behind = bed.arrays.host("behind", (discard(&other),), |_| Ok(())).after(&never).submit()?;
    faulty.refuse(&["copy_dtoh_async", "launch"]);
    let access = read_write(&adopted).open_at(Location::Host)?;
    ensure!(access.there().wait().is_err(), "its elements do not come");
    let waits = read_write(&other).open_at(Location::Host)?;
    let reader = read(&other).open_at(Location::Host)?;
    let begun = rig.driver().host().now();
    let ended = bed.arrays.clone().finish();
    let waited = rig.driver().host().now().since(begun);
    faulty.refuse(&[]);
    ensure!(ended.is_err(), "a task has not ended");
    ensure!(waited < Nanos::from_ms(100_000), "it has waited for {waited}");
    let told = waits.address().err().map(|error| error.to_string()).unwrap_or_default();
    ensure!(told.contains("before the program had its elements"), "it is left, and asks in vain: {told:?}");
    drop((access, waits, reader));
    never.release()?;
    Ok(behind.wait()?)
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
        let why = "\"write on the device\" was not run: its arrays were dropped before the program had";
        ensure!(told.contains(why), "{told}");
        task.map_or(Ok(()), |task| task.wait())?;
        if let Some(reader) = &reader {
            ensure!(reader.address()?.is_some(), "its elements are there");
        }
        drop((access, reader));
        has(bed, adopted, if doubles { 4.0 } else { 2.0 })?;
    }
    Ok(())
}

/// What needs elements that were never written does not run, if the end leaves the access that was to write them.
pub fn runs_nothing_without_contents(rig: &Rig) -> Outcome {
    for at in [Location::Host, Location::Device(0)] {
        let bed = bed::open(rig)?;
        let (array, copy) = (bed.arrays.array::<f32>(&[COUNT])?, bed.arrays.array::<f32>(&[COUNT])?);
        let access = write(&array).open_at(at)?;
        let reader = bed.arrays.launch("reads", (read(&array), discard(&copy)), |_, _| Ok(More::Done)).submit()?;
        bed.arrays.clone().finish()?;
        let told = reader.wait().err().map(|error| error.to_string()).unwrap_or_default();
        ensure!(told.contains("before the program had its elements"), "the reader of nothing has {told:?}");
        ensure!(access.address().is_err(), "it is left");
        drop(access);
        ensure!(read(&array).open().is_err(), "no element was ever written");
    }
    Ok(())
}

/// Elements that have not come are not frozen any more once the end has left their access.
pub fn thaws_what_it_leaves(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let array = bed.arrays.array::<f32>(&[COUNT])?;
    let fails = bed.arrays.launch("broken", (discard(&array),), |_, _| Err("no luck".into())).held().submit()?;
    let (access, other) = (read(&array).open_at(Location::Device(0))?, read(&array).open_at(Location::Device(0))?);
    fails.release()?;
    ensure!(access.there().wait().is_err() && other.there().wait().is_err(), "it has failed");
    let fills = || bed.arrays.launch("fills", (discard(&array),), |_, _| Ok(More::Done)).submit();
    ensure!(fills().is_err(), "the elements are frozen");
    bed.arrays.clone().finish()?;
    fills()?.wait()?;
    let frozen = read(&array).freeze(0)?;
    drop((access, other));
    ensure!(fills().is_err(), "they are frozen again, by another access");
    drop(frozen);
    Ok(())
}

/// An access to an array of which one half was never written goes: uses of the other half behind it have its contents.
pub fn leaves_what_was_written(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    for at in [Location::Device(0), Location::Host] {
        let array = bed.arrays.array::<f32>(&[COUNT])?;
        bed.arrays
            .host("fills", (discard(&array).part(0..COUNT / 2),), |(half,)| {
                half.fill(7.0);
                Ok(())
            })
            .submit()?;
        let slow = bed.arrays.launch("slow", (read_write(&array).part(0..COUNT / 2),), |_, _| Ok(More::Done)).held();
        let slow = slow.submit()?;
        let access = write(&array).open_at(at)?;
        let changes = bed.arrays.host("changes", (read_write(&array).part(0..COUNT / 2),), |(half,)| {
            half[0] += 1.0;
            Ok(())
        });
        let changes = changes.submit()?;
        drop(access);
        slow.release()?;
        changes.wait()?;
        let half = read(&array).part(0..COUNT / 2).open()?;
        same("the written half", &[half[0], half[1]], &[8.0, 7.0])?;
    }
    Ok(())
}

/// One result of a reduction cannot be combined: the next one is, and the next end brings both.
pub fn combines_what_can_be(rig: &Rig) -> Outcome {
    const MANY: usize = 1 << 24;
    let faulty = Faulty::new(rig.shared_driver(), Code::OUT_OF_MEMORY);
    let driver: Arc<dyn Driver> = Arc::clone(&faulty) as Arc<dyn Driver>;
    let bed = bed::open_with(rig, &driver, ArrayOptions::default())?;
    let adopted = bed.arrays.adopt(PinnedBuffer::<f32>::new(&bed.overtake, MANY)?)?;
    adopted.overwrite()?.fill(1.0);
    let all_but_one = reduce(&adopted, Sum).part(0..MANY - 1);
    bed.arrays.launch("adds nothing", (all_but_one,), |_, _| Ok(More::Done)).submit()?;
    let adds = bed.arrays.host("adds", (reduce(&adopted, Sum).part(MANY - 1..MANY),), |(sum,)| {
        sum[0] += 1.0;
        Ok(())
    });
    adds.submit()?;
    bed.arrays.wait()?;
    faulty.refuse(&["host_alloc"]);
    contains(bed.arrays.clone().finish(), INJECTED)?;
    same("partial results that are combined", &bed.arrays.statistics().combined, &1)?;
    faulty.refuse(&[]);
    bed.arrays.clone().finish()?;
    same("the values", &[adopted.read()?[0], adopted.read()?[MANY - 1]], &[1.0, 2.0])
}
