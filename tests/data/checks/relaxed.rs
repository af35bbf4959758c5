//! Relaxed uses: no order among each other, and no addition is lost.

use overtake::data::{ArrayOptions, relaxed};
use overtake::task::More;

use crate::bed;
use crate::failure::{Outcome, ensure, same};
use crate::raw;
use crate::rig::Rig;

/// One that is held does not hold back another one, but a reader waits for both.
pub fn without_an_order(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let word = bed.arrays.array_of(&[1_u32, 7])?;
    let held = raw::count(&bed, "held", &word, 10).held().submit()?;
    let free = raw::count(&bed, "free", &word, 100).submit()?;
    free.wait()?;
    ensure!(!held.is_launched(), "it is held");
    let reader = bed.arrays.host("reader", (overtake::data::read(&word),), |(word,)| match word[0] {
        111 => Ok(()),
        other => Err(format!("it saw {other}").into()),
    });
    let reader = reader.submit()?;
    ensure!(!reader.is_done(), "a reader waits for both");
    held.release()?;
    reader.wait()?;
    same("uploads", &bed.arrays.statistics().uploads, &1)?;
    same("both words", &word.read()?.to_vec(), &vec![111, 7])?;
    bed.arrays.wait()?;
    same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)
}

/// On two devices they do have an order, because each has memory of its own.
pub fn on_two_devices(rig: &Rig) -> Outcome {
    if rig.driver().device_count()? < 2 {
        return Ok(());
    }
    let bed = bed::open_on(rig, rig.shared_driver(), 2, ArrayOptions::default())?;
    let word = bed.arrays.array_of(&[0_u32])?;
    for number in 0..40 {
        raw::count(&bed, "adds", &word, 1 << (number % 4)).on(number as u8 / 2 % 2).submit()?;
    }
    same("all additions", &word.read()?[0], &150)?;
    bed.arrays.wait()?;
    same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)
}

/// The bytes are lost if one of several fails, also when it is not the last.
pub fn one_that_fails(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let word = bed.arrays.array_of(&[1_u32])?;
    let broken = bed.arrays.launch("broken", (relaxed(&word),), |_, _| -> Result<More, _> { Err("no luck".into()) });
    let broken = broken.held().submit()?;
    let beside = raw::count(&bed, "beside", &word, 1).submit()?;
    broken.release()?;
    ensure!(broken.wait().is_err(), "it fails");
    beside.wait()?;
    let error = word.read().map(drop).expect_err("the word is lost");
    ensure!(error.to_string().contains("task \"broken\" failed: no luck"), "{error}");
    word.overwrite()?.fill(5);
    raw::count(&bed, "again", &word, 1).submit()?;
    same("written again", &word.read()?[0], &6)
}
