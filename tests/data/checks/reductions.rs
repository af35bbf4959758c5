//! Reductions: no order among each other, and no result is lost.

use overtake::buffer::PinnedBuffer;
use overtake::data::{Array, ArrayOptions, Max, Min, Operator, Sum, discard, read, reduce};
use overtake::task::More;

use crate::bed::{self, Bed};
use crate::failure::{Outcome, ensure, same};
use crate::raw;
use crate::rig::Rig;

fn all_ended(bed: &Bed) -> Outcome {
    bed.arrays.wait()?;
    same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)
}

/// Two that are held hold neither a third nor those behind it back, and a reader waits for all of them.
pub fn without_an_order(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let word = bed.arrays.array_of(&[1_u32, 7])?;
    let held = [10, 20].map(|more| raw::count_up(&bed, "held", &word, more).held().submit());
    for _ in 0..20 {
        raw::count_up(&bed, "free", &word, 100).submit()?.wait()?;
    }
    same("none has been combined", &bed.arrays.statistics().combined, &0)?;
    let sees = |seen: &[u32]| if seen == [2031] { Ok(()) } else { Err(format!("it saw {seen:?}").into()) };
    let reader = bed.arrays.host("reader", (read(&word).part(0..1),), move |(seen,)| sees(seen)).submit()?;
    ensure!(!reader.is_done(), "a reader waits for all");
    for held in held {
        let held = held?;
        ensure!(!held.is_launched(), "it is held");
        held.release()?;
    }
    reader.wait()?;
    // Those that waited for each other have shared their memory.
    same("combined", &bed.arrays.statistics().combined, &3)?;
    same("both words", &word.read()?.to_vec(), &vec![2031, 7])?;
    all_ended(&bed)
}

/// Each device has results of its own, which go to the host only.
pub fn on_two_devices(rig: &Rig) -> Outcome {
    if rig.driver().device_count()? < 2 {
        return Ok(());
    }
    let bed = bed::open_on(rig, rig.shared_driver(), 2, ArrayOptions::default())?;
    let word = bed.arrays.array_of(&[5_u32])?;
    let held = raw::count_up(&bed, "held", &word, 1000).on(0).held().submit()?;
    for number in 0..40_u8 {
        raw::count_up(&bed, "adds", &word, 1 << (number % 4)).on(number / 2 % 2).submit()?;
    }
    raw::count_up(&bed, "adds", &word, 1).on(1).submit()?.wait()?;
    held.release()?;
    same("all additions", &word.read()?[0], &1156)?;
    let it = bed.arrays.statistics();
    same("copies to and between devices", &(it.uploads, it.between_devices), &(0, 0))?;
    same("copies to the host", &it.downloads, &it.combined)?;
    ensure!((2..=16).contains(&it.combined), "{} were combined", it.combined);
    all_ended(&bed)
}

// Both wait, so the next reduction by the operator finds the result free.
fn up_to(bed: &Bed, array: &Array<i32>, value: i32) -> Outcome {
    let step = bed.arrays.host("up to", (reduce(array, Max),), move |(most,)| {
        most.iter_mut().for_each(|most| *most = value.max(*most));
        Ok(())
    });
    Ok(step.submit()?.wait()?)
}

fn add_to(bed: &Bed, array: &Array<i32>, part: std::ops::Range<usize>, value: i32) -> Outcome {
    let step = bed.arrays.host("add to", (reduce(array, Sum).part(part),), move |(sum,)| {
        sum.iter_mut().for_each(|sum| *sum += value);
        Ok(())
    });
    Ok(step.submit()?.wait()?)
}

/// Two operators have an order, also where they have some of the elements in common only.
pub fn of_two_operators(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let array = bed.arrays.array_of(&[0_i32; 8])?;
    add_to(&bed, &array, 0..6, 3)?;
    add_to(&bed, &array, 4..8, 5)?;
    up_to(&bed, &array, 4)?;
    up_to(&bed, &array, -9)?;
    add_to(&bed, &array, 0..1, 10)?;
    up_to(&bed, &array, 12)?;
    same("the contents", &array.read()?.to_vec(), &vec![14, 12, 12, 12, 12, 12, 12, 12])?;
    add_to(&bed, &array, 0..8, -1)?;
    discard(&array).part(0..7).open()?.fill(1);
    same("written later", &array.read()?.to_vec(), &vec![1, 1, 1, 1, 1, 1, 1, 11])?;
    all_ended(&bed)
}

fn stays<T: bytemuck::Pod + PartialEq + std::fmt::Debug, O: Operator<T> + Copy>(
    bed: &Bed,
    operator: O,
    contents: [T; 3],
) -> Outcome {
    let array = bed.arrays.array_of(&contents)?;
    bed.arrays.launch("nothing", (reduce(&array, operator),), |_, _| Ok(More::Done)).submit()?;
    bed.arrays.host("nothing", (reduce(&array, operator),), |_| Ok(())).submit()?;
    same("the contents", &array.read()?.to_vec(), &contents.to_vec())
}

/// A result to which nothing was added changes nothing, of each operator and each number.
pub fn identities(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    macro_rules! numbers {
        ($($number:ident)+) => {
            $({
                let contents = [$number::MIN, 7 as $number, $number::MAX];
                stays(&bed, Sum, contents)?;
                stays(&bed, Min, contents)?;
                stays(&bed, Max, contents)?;
            })+
        };
    }
    numbers! { u8 i8 u16 i16 u32 i32 u64 i64 f32 f64 }
    all_ended(&bed)
}

/// The elements are lost if one fails, also when others have not, until they are written again.
pub fn one_that_fails(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let word = bed.arrays.array_of(&[1_u32])?;
    let broken = bed.arrays.launch("broken", (reduce(&word, Sum),), |_, _| Err("no luck".into()));
    let broken = broken.held().submit()?;
    let beside = raw::count_up(&bed, "beside", &word, 1).submit()?;
    broken.release()?;
    ensure!(broken.wait().is_err(), "it fails");
    beside.wait()?;
    let error = word.read().map(drop).expect_err("the word is lost");
    ensure!(error.to_string().contains("task \"broken\" failed: no luck"), "{error}");
    let late = raw::count_up(&bed, "late", &word, 1).submit()?;
    ensure!(late.wait().is_err(), "there is nothing to add to");
    word.overwrite()?.fill(5);
    raw::count_up(&bed, "again", &word, 1).submit()?;
    same("written again", &word.read()?[0], &6)
}

/// A function with two reductions of the same elements is refused: where many are under way both would get one memory.
pub fn twice_in_one(rig: &Rig) -> Outcome {
    const MANY: u32 = 20;
    let bed = bed::open(rig)?;
    let sums = bed.arrays.array_of(&[0_u32; 4])?;
    let mut held = Vec::new();
    for _ in 0..MANY {
        let add = bed.arrays.host("adds", (reduce(&sums, Sum),), |(sums,)| {
            sums[0] += 1;
            Ok(())
        });
        held.push(add.held().submit()?);
    }
    let twice = bed.arrays.host("twice", (reduce(&sums, Sum), reduce(&sums, Sum)), |(one, other)| {
        if one.as_ptr() == other.as_ptr() { Err("it has one memory twice".into()) } else { Ok(()) }
    });
    let error = twice.submit().expect_err("it is refused").to_string();
    ensure!(error.contains("uses the same bytes of an array twice"), "{error}");
    let halves = (reduce(&sums, Sum).part(0..2), reduce(&sums, Sum).part(2..4));
    let halves = bed.arrays.host("halves", halves, |(left, right)| {
        left[0] += 1;
        right[0] += 1;
        Ok(())
    });
    halves.submit()?;
    held.iter().try_for_each(|task| task.release())?;
    same("the sums", &sums.read()?.to_vec(), &vec![MANY + 1, 0, 1, 0])
}

/// Elements that were never written, or are frozen, are refused, and so are repeated reductions.
pub fn refused(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let word = bed.arrays.array::<u32>(&[1])?;
    let refused = |fault: &str, repeats| {
        let error = raw::count_up(&bed, "adds", &word, 1).retries(repeats).submit().expect_err("it is refused");
        ensure!(error.to_string().contains(fault), "{error}");
        Ok(())
    };
    refused("no task has written", 0)?;
    word.overwrite()?.fill(1);
    refused("`read` and `discard` only", 1)?;
    let frozen = read(&word).freeze(0)?;
    refused("frozen", 0)?;
    drop(frozen);
    raw::count_up(&bed, "adds", &word, 1).submit()?;
    same("both", &word.read()?[0], &2)?;
    all_ended(&bed)
}

/// Memory that was adopted has the results when the arrays have gone, those of functions of the host too.
pub fn adopted(rig: &Rig) -> Outcome {
    for on_host in [false, true] {
        let bed = bed::open(rig)?;
        let mut memory = PinnedBuffer::<u32>::new(&bed.overtake, 2)?;
        memory.copy_from_slice(&[1, 2]);
        let array = bed.arrays.adopt(memory)?;
        if on_host {
            let step = bed.arrays.host("adds", (reduce(&array, Sum).part(0..1),), |(sum,)| {
                sum[0] += 8;
                Ok(())
            });
            step.submit()?;
        } else {
            raw::count_up(&bed, "adds", &array, 8).submit()?;
        }
        drop(bed);
        let memory = array.release()?.expect("it was adopted");
        same("the results", &memory.to_vec(), &vec![9, 2])?;
    }
    Ok(())
}
