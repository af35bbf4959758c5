//! Copies that leave their allocations: the driver refuses them, and a kernel would take the context down.

use std::sync::Arc;

use hal::{Code, Shape, Side};
use overtake::copy::{Plan, Request};
use overtake::options::Transport;
use overtake::{Overtake, PriorityStream};

use crate::bed;
use crate::checks::guard;
use crate::failure::{Failure, Outcome, ensure, refused, same, same_bytes};
use crate::lane::level;
use crate::memory::Pinned;
use crate::place::Buffer;
use crate::raw;
use crate::rig::Rig;

const BYTES: u64 = 512 << 10;
const WIDTH_BYTES: u64 = 16 << 10;
const ROWS: u64 = BYTES / WIDTH_BYTES;

/// Memory of `BYTES`, and longer memory.
struct Memory {
    host: Arc<Pinned>,
    long_host: Arc<Pinned>,
    device: Buffer,
    long_device: Buffer,
    /// Behind `device`, on the model and in most cases on hardware too.
    neighbour: Buffer,
}

impl Memory {
    fn new(rig: &Rig) -> Result<Memory, Failure> {
        let (long_host, long_device) = (rig.pinned(4 * BYTES)?, rig.buffer(4 * BYTES)?);
        let (host, device) = (rig.pinned_of(&[3; BYTES as usize])?, rig.buffer(BYTES)?);
        let neighbour = rig.buffer_of(&[5; BYTES as usize])?;
        let is_model = rig.driver().backend() == "soft";
        ensure!(!is_model || device.base.offset(BYTES) == neighbour.base, "there is no neighbour");
        Ok(Memory { host, long_host, device, long_device, neighbour })
    }
}

fn to_device(device: Buffer, host: &Pinned, bytes: u64) -> Request {
    Request::htod(device.base, host.pointer(), bytes)
}

fn to_host(host: &Pinned, device: Buffer, bytes: u64) -> Request {
    Request::dtoh(host.pointer(), device.base, bytes)
}

fn rectangle(device: Buffer, host: &Pinned, rows: u64) -> Request {
    rows_between(Side::device(device.base), Side::host(host.address()), rows)
}

fn rectangle_back(host: &Pinned, device: Buffer, rows: u64) -> Request {
    rows_between(Side::host(host.address()), Side::device(device.base), rows)
}

fn rows_between(target: Side, source: Side, rows: u64) -> Request {
    let (target, source) = (target.pitched(WIDTH_BYTES, 0), source.pitched(WIDTH_BYTES, 0));
    let shape = Shape { target, source, width_bytes: WIDTH_BYTES, rows, depth: 1 };
    Request::shaped(&shape).expect("its numbers are sound")
}

/// Past the end of device memory, in both directions, in one dimension and in two.
pub fn beyond_device_memory(rig: &Rig) -> Outcome {
    are_refused(rig, |memory| {
        vec![
            to_device(memory.device, &memory.long_host, BYTES + 16),
            to_host(&memory.long_host, memory.device, BYTES + 16),
            rectangle(memory.device, &memory.long_host, ROWS + 1),
            rectangle_back(&memory.long_host, memory.device, ROWS + 1),
        ]
    })
}

/// A batch of which one copy does so.
pub fn a_batch_beyond_device_memory(rig: &Rig) -> Outcome {
    let overtake = bed::open(rig, guard::options())?;
    let (low, _high) = (overtake.adopt(rig.stream()?, level(1))?, overtake.adopt(rig.stream()?, level(3))?);
    let memory = Memory::new(rig)?;
    let fits = to_device(memory.long_device, &memory.host, BYTES);
    let pair = |bytes| [fits, to_device(memory.device, &memory.long_host, bytes)];
    refused("beyond", raw::unordered(&low, &pair(BYTES + 16)), &[Code::NOT_SUPPORTED])?;
    same("the plan", &raw::unordered(&low, &pair(BYTES))?.plan(), &Plan::Kernel { raises: false })?;
    low.synchronize()?;
    same_bytes("the neighbour", &rig.download(memory.neighbour, low.raw())?, &[5; BYTES as usize])?;
    bed::at_rest(rig, &overtake)
}

/// The same past the end of pinned memory. For the model only: a real driver's answer is not defined.
pub fn beyond_host_memory(rig: &Rig) -> Outcome {
    are_refused(rig, |memory| {
        vec![
            to_device(memory.long_device, &memory.host, BYTES + 16),
            to_host(&memory.host, memory.long_device, BYTES + 16),
            rectangle(memory.long_device, &memory.host, ROWS + 1),
            rectangle_back(&memory.host, memory.long_device, ROWS + 1),
        ]
    })
}

fn are_refused(rig: &Rig, requests: impl Fn(&Memory) -> Vec<Request>) -> Outcome {
    for options in [guard::options(), bed::transport(Transport::Kernel)] {
        let overtake = bed::open(rig, options)?;
        let (low, _high) = (overtake.adopt(rig.stream()?, level(1))?, overtake.adopt(rig.stream()?, level(3))?);
        let memory = Memory::new(rig)?;
        for request in requests(&memory) {
            refused(&format!("{request:?}"), raw::batch(&low, &[request]), &[Code::INVALID_VALUE])?;
        }
        works(rig, &overtake, &low, &memory)?;
    }
    Ok(())
}

/// The context has survived, and a copy that just fits goes by kernel.
fn works(rig: &Rig, overtake: &Overtake, low: &PriorityStream, memory: &Memory) -> Outcome {
    let fitting = [
        to_device(memory.device, &memory.host, BYTES),
        rectangle(memory.device, &memory.host, ROWS),
        rectangle_back(&memory.host, memory.device, ROWS),
    ];
    for handle in raw::batch(low, &fitting)? {
        same("the plan", &handle.plan(), &Plan::Kernel { raises: false })?;
        handle.wait()?;
    }
    same_bytes("the bytes", &rig.download(memory.device, low.raw())?, &[3; BYTES as usize])?;
    same_bytes("the neighbour", &rig.download(memory.neighbour, low.raw())?, &[5; BYTES as usize])?;
    bed::at_rest(rig, overtake)
}
