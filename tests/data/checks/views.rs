//! Views of an array: the same bytes, with an order, memory and transfers of their own parts.

use overtake::buffer::PinnedBuffer;
use overtake::data::{discard, read};

use crate::bed;
use crate::failure::{Failure, Outcome, ensure, same};
use crate::raw;
use crate::rig::Rig;

const COUNT: usize = 1000;

/// A use of a view has an order with uses of the same elements, by the array or by another view, and with no others.
pub fn are_the_same_bytes(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let (source, sum) = (bed.arrays.array_of(&[1.0_f32; COUNT])?, bed.arrays.array::<f32>(&[COUNT])?);
    let (left, right) = (source.view(0..500, &[5, 100])?, source.view(500..COUNT, &[500])?);
    let inner = right.view(100..200, &[100])?;
    let held = raw::add_uses(&bed, "held", (read(&left), read(&left), discard(&inner)), 100).held().submit()?;
    let behind = raw::add_parts(&bed, "behind", (&source, 600..700), (&source, 600..700), (&sum, 0..100)).submit()?;
    let beside = raw::add_parts(&bed, "beside", (&right, 0..100), (&right, 200..300), (&sum, 100..200)).submit()?;
    beside.wait()?;
    ensure!(!held.is_launched() && !behind.is_launched(), "both are held");
    held.release()?;
    same(
        "the sums",
        &[sum.view(0..200, &[2, 100])?, sum.view(100..200, &[100])?].map(|view| view.shape().to_vec()),
        &[vec![2, 100], vec![100]],
    )?;
    let seen = read(&sum).part(0..200).open()?;
    same("behind and beside", &[seen[0], seen[99], seen[100], seen[199]], &[4.0, 4.0, 2.0, 2.0])?;
    drop(seen);
    same("the view", &inner.read()?[99], &2.0)?;
    same("the array", &source.read()?[599..602].to_vec(), &vec![1.0, 2.0, 2.0])?;
    // Each element went up once: 0..600 and 700..800, and 600..700 never.
    same("bytes up", &bed.arrays.statistics().upload_bytes, &(4 * 700))
}

/// A view is a part of its array, of a shape that fits.
pub fn of_views(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let array = bed.arrays.array_of(&(0..24).collect::<Vec<i32>>())?;
    let rows = array.view(0..24, &[4, 6])?;
    let row = rows.view(rows.rows(2..3), &[6])?;
    same("a row", &row.read()?.to_vec(), &(12..18).collect::<Vec<i32>>())?;
    row.change()?[1] = -1;
    same("the array sees it", &array.read()?[13], &-1)?;
    same("a part of a view", &read(&row).part(1..3).open()?.to_vec(), &vec![-1, 14])?;
    for (elements, shape) in [(0..25, &[25][..]), (4..4, &[0]), (0..6, &[2, 4]), (20..24, &[2, 2, 2])] {
        let error = array.view(elements, shape).map(drop).expect_err("it is no view");
        ensure!(error.to_string().contains("no array of shape") || shape == [0], "{error}");
    }
    Ok(())
}

/// Memory is given back when no view is left.
pub fn released_without_views(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let of = || -> Result<_, Failure> { Ok(bed.arrays.adopt(PinnedBuffer::<f32>::new(&bed.overtake, COUNT)?)?) };
    let (array, other) = (of()?, of()?);
    let view = array.view(0..10, &[10])?;
    let error = array.release().map(drop).expect_err("there is a view");
    ensure!(error.to_string().contains("other views"), "{error}");
    // The array has gone with the call, and a part does not give the whole back.
    ensure!(view.release().is_err(), "it is a part");
    let whole = other.view(0..COUNT, &[10, COUNT / 10])?;
    drop(other);
    same("the memory", &whole.release()?.map(|memory| memory.len()), &Some(COUNT))
}
