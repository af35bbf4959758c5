//! Measured times of computations.

use overtake::data::{Array, ArrayOptions, Computation, discard};
use overtake::task::More;

use crate::bed::{self, Bed};
use crate::failure::{Failure, Outcome, ensure, same};
use crate::raw;
use crate::rig::Rig;

const SMALL: usize = 1 << 10;
// On a real device it takes several times as long as a first launch.
const LARGE: usize = 1 << 23;

/// By kernel and by size; nothing is measured where it is not asked for.
pub fn by_kernel_and_size(rig: &Rig) -> Outcome {
    let plain = bed::open(rig)?;
    let [one, other] = [SMALL, SMALL].map(|count| plain.arrays.array_of(&vec![1.0_f32; count]));
    raw::add(&plain, "not measured", &one?, &other?, &plain.arrays.array(&[SMALL])?).submit()?.wait()?;
    same("times that are not asked for", &plain.arrays.times(), &Vec::new())?;
    drop(plain);

    let options = ArrayOptions { measures: true, ..ArrayOptions::default() };
    let bed = bed::open_with(rig, rig.shared_driver(), options)?;
    for (count, times) in [(SMALL, 3), (LARGE, 2)] {
        let (one, sum) = (bed.arrays.array_of(&vec![1.0_f32; count])?, bed.arrays.array(&[count])?);
        for number in 0..times {
            raw::add(&bed, &format!("sum {number}"), &one, &one, &sum).submit()?.wait()?;
        }
    }
    let measured = bed.arrays.times();
    let rows: Vec<_> = measured.iter().map(|it| (it.name.as_str(), it.bytes, it.device, it.count)).collect();
    let bytes = |count: usize| 12 * count as u64;
    same("rows", &rows, &vec![("work_add", bytes(SMALL), 0, 3), ("work_add", bytes(LARGE), 0, 2)])?;
    let [small, large] = &measured[..] else { return Err(Failure::from_text("two rows".to_owned())) };
    ensure!(0.0 < small.least_us && small.least_us < large.least_us, "a larger one takes longer: {measured:?}");
    ensure!(large.least_us <= large.mean_us && large.least_us <= large.last_us, "the least is least: {measured:?}");
    Ok(())
}

/// A computation of the device that writes all of an array.
fn fill<'c>(bed: &'c Bed, name: &'c str, array: &Array<u8>) -> Computation<'c> {
    let bytes = array.len() as u64;
    bed.arrays.launch(name, (discard(array),), move |lane, at| {
        lane.driver().memset_d8_async(at[0], 1, bytes, lane.stream())?;
        Ok(More::Done)
    })
}

/// A program may make a name for each computation: those that have ended long ago are forgotten, and one that comes
/// again and again is not.
pub fn of_generated_names(rig: &Rig) -> Outcome {
    const NAMES: u64 = 3000;
    let options = ArrayOptions { measures: true, ..ArrayOptions::default() };
    let bed = bed::open_with(rig, rig.shared_driver(), options)?;
    let array = bed.arrays.array(&[SMALL])?;
    for number in 0..NAMES {
        fill(&bed, &format!("frame {number}"), &array).submit()?;
        if number % 100 == 0 {
            fill(&bed, "each time", &array).submit()?.wait()?;
        }
    }
    bed.arrays.wait()?;
    let measured = bed.arrays.times();
    ensure!((1024..=2048).contains(&measured.len()), "rows are kept: {}", measured.len());
    let count = |name: &str| measured.iter().find(|it| it.name == name).map(|it| it.count);
    same("the one that comes again", &count("each time"), &Some(NAMES / 100))?;
    same("the last one", &count(&format!("frame {}", NAMES - 1)), &Some(1))?;
    same("the first one", &count("frame 0"), &None)
}
