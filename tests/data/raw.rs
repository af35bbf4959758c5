//! Safe wrappers of computations by kernels. Of the suite's files only this one, and the faulty driver, have unsafe
//! code.
//!
//! They are safe because each use has as many elements as the kernel is told.
#![allow(unsafe_code)]

use std::ops::Range;
use std::sync::Arc;

use hal::DevicePtr;
use overtake::copy::Request;
use overtake::data::{
    Array, Arrays, CheckedKernel, Computation, Location, Reads, Reduce, Sum, Use, Writes, discard, read, reduce,
    relaxed, write,
};
use overtake::task::{Arguments, Error, Lane, More, Recording, Shape, Step, WorkResult};

use crate::bed::{Bed, Kernels};
use crate::memory::Pinned;
use crate::place::Buffer;

type Ins<'a> = Use<'a, Reads<f32>>;
type Outs<'a> = Use<'a, Writes<f32>>;
/// The parameters of the kernel that adds, and those without one of them.
type Adds = (Reads<f32>, Reads<f32>, Writes<f32>, u32);
type AddsBytes = (Reads<u8>, Reads<f32>, Writes<f32>, u32);
type TooFew = (Reads<f32>, Writes<f32>, u32);

/// `sum[i] = left[i] + right[i]` of whole arrays of one length.
pub fn add<'c>(
    bed: &'c Bed,
    name: &'c str,
    left: &Array<f32>,
    right: &Array<f32>,
    sum: &Array<f32>,
) -> Computation<'c> {
    let count = left.len().min(right.len()).min(sum.len());
    add_uses(bed, name, (read(left), read(right), discard(sum)), count)
}

/// The same kernel, whose launches are checked.
pub fn checked_add(bed: &Bed) -> Result<CheckedKernel<Adds>, Error> {
    // SAFETY: it accesses the first `count` elements of each.
    let checked = unsafe {
        CheckedKernel::new(bed.kernels.add.clone(), |_, (left, right, sum, count): (usize, usize, usize, u32)| {
            count as usize <= left.min(right).min(sum)
        })
    };
    Ok(checked?)
}

/// The same with bytes in the place of the first numbers.
pub fn checked_add_of_bytes(bed: &Bed) -> Result<CheckedKernel<AddsBytes>, Error> {
    // SAFETY: it accepts launches without an element.
    Ok(unsafe {
        CheckedKernel::new(bed.kernels.add.clone(), |_, (_, _, _, count): (usize, usize, usize, u32)| count == 0)
    }?)
}

/// The same with a parameter too few.
pub fn checked_wrongly(bed: &Bed) -> Result<CheckedKernel<TooFew>, Error> {
    // SAFETY: it accepts no launch.
    Ok(unsafe { CheckedKernel::new(bed.kernels.add.clone(), |_, _| false) }?)
}

/// An array in this memory, which the rig frees after all arrays have gone.
pub fn adopt(bed: &Bed, memory: Buffer, owner: impl Send + Sync + 'static) -> Result<Array<f32>, Error> {
    let (at, shape) = (Location::Device(0), [memory.bytes as usize / 4]);
    // SAFETY: the buffer has as many bytes; the checks use it when the array has been released or the arrays have gone,
    // and before that only while it is lent to them.
    unsafe { bed.arrays.adopt_at(at, memory.base.0, &shape, owner) }
}

/// The same of pinned memory, with these arrays.
pub fn adopt_pinned(arrays: &Arrays, memory: &Arc<Pinned>) -> Result<Array<f32>, Error> {
    let shape = [memory.read_all().len() / 4];
    // SAFETY: as above.
    unsafe { arrays.adopt_at(Location::Host, memory.address(), &shape, Arc::clone(memory)) }
}

/// Adds to one word, as others may at the same time.
pub fn count<'c>(bed: &'c Bed, name: &'c str, word: &Array<u32>, more: u32) -> Computation<'c> {
    // SAFETY: the kernel adds to the first word of the use, atomically.
    unsafe { bed.arrays.compute(name, &bed.kernels.count, Shape::line(1, 1), (relaxed(word).part(0..1), more)) }
}

/// The same behind a token, which is no argument of the kernel.
pub fn count_behind<'c>(
    bed: &'c Bed,
    name: &'c str,
    word: &Array<u32>,
    token: Use<'_, Reads<u8>>,
    more: u32,
) -> Computation<'c> {
    let arguments = (token, relaxed(word).part(0..1), more);
    // SAFETY: as above.
    unsafe { bed.arrays.compute(name, &bed.kernels.count, Shape::line(1, 1), arguments) }
}

/// The same as a reduction.
pub fn count_up<'c>(bed: &'c Bed, name: &'c str, word: &Array<u32>, more: u32) -> Computation<'c> {
    // SAFETY: as above.
    unsafe { bed.arrays.compute(name, &bed.kernels.count, Shape::line(1, 1), (reduce(word, Sum).part(0..1), more)) }
}

/// `into[i] += from[i]`, as others may at the same time. Both have `count` elements.
pub fn add_up<'c>(bed: &'c Bed, name: &'c str, uses: (Ins<'_>, Reduce<'_, f32>), count: usize) -> Computation<'c> {
    let (add, shape) = (bed.kernels.add.clone(), Shape::line(count.div_ceil(256) as u32, 256));
    bed.arrays.launch(name, uses, move |lane, at| {
        let arguments = Arguments::new().address(at[0]).address(at[1]).address(at[1]).value(&(count as u32));
        // SAFETY: the kernel accesses `count` elements of both, as the uses say.
        unsafe { lane.launch(&add, &shape, arguments)? };
        Ok(More::Done)
    })
}

/// `sum[i] = left[i] + right[i]` of any uses. They have at least `count` elements.
pub fn add_uses<'c>(bed: &'c Bed, name: &'c str, uses: (Ins<'_>, Ins<'_>, Outs<'_>), count: usize) -> Computation<'c> {
    named(&bed.kernels, &bed.arrays, name, uses, count)
}

/// Doubles all elements of one of these arrays.
pub fn add_of_arrays<'c>(bed: &Bed, arrays: &'c Arrays, array: &Array<f32>) -> Computation<'c> {
    named(&bed.kernels, arrays, "double", (read(array), read(array), write(array)), array.len())
}

/// The same in a section.
pub fn add_of<'c>(
    kernels: &Kernels,
    arrays: &'c Arrays,
    uses: (Ins<'_>, Ins<'_>, Outs<'_>),
    count: usize,
) -> Computation<'c> {
    named(kernels, arrays, "inside", uses, count)
}

fn named<'c>(
    kernels: &Kernels,
    arrays: &'c Arrays,
    name: &'c str,
    (left, right, sum): (Ins<'_>, Ins<'_>, Outs<'_>),
    count: usize,
) -> Computation<'c> {
    let shape = Shape::line(count.div_ceil(256) as u32, 256);
    // SAFETY: the uses have as many elements, and the kernel accesses them as the uses say.
    unsafe { arrays.compute(name, &kernels.add, shape, (left, right, sum, count as u32)) }
}

/// The same of parts.
pub fn add_parts<'c>(
    bed: &'c Bed,
    name: &'c str,
    left: (&Array<f32>, Range<usize>),
    right: (&Array<f32>, Range<usize>),
    sum: (&Array<f32>, Range<usize>),
) -> Computation<'c> {
    let count = left.1.len().min(right.1.len()).min(sum.1.len());
    let uses = (read(left.0).part(left.1), read(right.0).part(right.1), discard(sum.0).part(sum.1));
    add_uses(bed, name, uses, count)
}

/// Copies one array to another in two turns, each a half: `begin` gets the device and the turn, and may refuse.
pub fn copy_halves<'c>(
    bed: &'c Bed,
    name: &'c str,
    from: &Array<f32>,
    to: &Array<f32>,
    begin: impl Fn(u8, u32) -> Result<(), Box<dyn std::error::Error + Send + Sync>> + Send + 'static,
) -> Computation<'c> {
    let half = 4 * from.len() as u64 / 2;
    bed.arrays.launch(name, (read(from), discard(to)), move |lane, at| {
        begin(lane.device(), lane.turn())?;
        let by = half * u64::from(lane.turn());
        let [source, target] = [at[0], at[1]].map(|start| DevicePtr(start.0 + by));
        // SAFETY: both are as long as the uses, which are alive until the task has ended.
        unsafe { lane.copy(&Request::linear(target, source, half))? };
        Ok(if lane.turn() == 0 { More::Again } else { More::Done })
    })
}

/// The arguments of a replay: addresses of elements that are lent to it, on its device.
#[derive(Clone, Copy, Debug)]
pub struct Lent {
    pub target: u64,
    pub source: u64,
    pub count: u32,
    pub value: f32,
}

/// Records a kernel that adds the source to the target.
pub fn record_add(recording: &mut Recording<Lent>, bed: &Bed, after: &[Step]) -> Step {
    let add = bed.kernels.add.clone();
    recording.kernel("adds", after, move |lane, lent| {
        let [target, source] = [lent.target, lent.source].map(DevicePtr);
        let arguments = Arguments::new().address(target).address(source).address(target).value(&lent.count);
        // SAFETY: both have `count` elements, and are lent until the replay has ended.
        unsafe { lane.launch(&add, &Shape::line(lent.count.div_ceil(256), 256), arguments)? };
        Ok(More::Done)
    })
}

/// Records a copy from the source to the target.
pub fn record_copy(recording: &mut Recording<Lent>, after: &[Step]) -> Step {
    recording.kernel("copies", after, |lane, lent| {
        let [target, source] = [lent.target, lent.source].map(DevicePtr);
        // SAFETY: as above.
        unsafe { lane.copy(&Request::linear(target, source, 4 * u64::from(lent.count)))? };
        Ok(More::Done)
    })
}

/// Copies bytes of the device: both sides live until the task of the lane has ended.
pub fn copy(lane: &mut Lane<'_>, target: DevicePtr, source: DevicePtr, bytes: u64) -> WorkResult<()> {
    // SAFETY: as the checks say that call this.
    unsafe { lane.copy(&Request::linear(target, source, bytes))? };
    Ok(())
}
