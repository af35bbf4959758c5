//! Safe wrappers of the unsafe methods of lanes. Of the suite's files only this one, and the faulty driver, have unsafe
//! code.
//!
//! They are safe because every range lies in a buffer of a rig, which outlives the dispatcher of the check.
#![allow(unsafe_code)]

use std::sync::Arc;

use hal::{DevicePtr, Nanos};
use overtake::copy::Request;
use overtake::task::{Arguments, Kernel, Lane, Shape, WorkResult};

use crate::memory::Pinned;
use crate::place::Buffer;

pub fn upload(lane: &mut Lane<'_>, target: Buffer, source: &Arc<Pinned>, bytes: u64) -> WorkResult<()> {
    let request = Request::htod(target.range(0, bytes), source.range(0, bytes), bytes);
    // SAFETY: both ranges lie in memory of the rig.
    unsafe { lane.copy(&request)? };
    Ok(())
}

pub fn download(lane: &mut Lane<'_>, target: &Arc<Pinned>, source: Buffer, bytes: u64) -> WorkResult<()> {
    let request = Request::dtoh(target.range(0, bytes), source.range(0, bytes), bytes);
    // SAFETY: both ranges lie in memory of the rig.
    unsafe { lane.copy(&request)? };
    Ok(())
}

/// Adds to a word of the device, or stores it.
pub fn word(lane: &mut Lane<'_>, kernel: &Kernel, at: DevicePtr, value: u32) -> WorkResult<()> {
    let arguments = Arguments::new().address(at).value(&value);
    // SAFETY: the word lies in memory of the rig.
    unsafe { lane.launch(kernel, &Shape::line(1, 1), arguments)? };
    Ok(())
}

pub fn spin(lane: &mut Lane<'_>, kernel: &Kernel, span: Nanos) -> WorkResult<()> {
    // SAFETY: the kernel accesses no memory.
    unsafe { lane.launch(kernel, &Shape::line(1, 1), Arguments::new().value(&span.0))? };
    Ok(())
}

/// A launch that must be refused before it reaches the driver.
pub fn launch(lane: &mut Lane<'_>, kernel: &Kernel, arguments: Arguments) -> WorkResult<()> {
    // SAFETY: it is refused; if it is not, the kernel accesses memory of the rig or none.
    unsafe { lane.launch(kernel, &Shape::line(1, 1), arguments)? };
    Ok(())
}
