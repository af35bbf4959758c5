//! Copies without a host side: on one device, and between two. The driver makes them. With the option `peer_gbps` those
//! between devices have priorities as all others.

use hal::{Code, Device};
use overtake::copy::{Plan, Reason, Request};
use overtake::options::{Transport, WHOLE_BULK_FROM};
use overtake::{Direction, Options, Overtake, PriorityStream};

use crate::bed;
use crate::failure::{Failure, Outcome, refused, same, same_bytes};
use crate::lane::level;
use crate::place::{Buffer, Side};
use crate::prng::Prng;
use crate::raw;
use crate::rig::Rig;

const BYTES: u64 = 512 << 10;
/// A rate for those between devices, from which the length of chunks follows.
const PEER_GBPS: u32 = 375;
const URGENT_BYTES: u64 = 64 << 10;

/// Memory of the first device, and memory on the other end of the path: of the same device, or of the second.
struct Path {
    direction: Direction,
    near: Buffer,
    far: Buffer,
    sent: Vec<u8>,
}

impl Path {
    fn new(rig: &Rig, direction: Direction) -> Result<Path, Failure> {
        let sent = Prng::new(50).bytes(BYTES);
        let near = rig.buffer_of(&sent)?;
        if direction == Direction::DeviceToDevice {
            return Ok(Path { direction, near, far: rig.buffer(BYTES)?, sent });
        }
        let there = rig.other_context(Device(1))?;
        rig.driver().context_set_current(Some(there))?;
        let far = rig.buffer(BYTES);
        rig.driver().context_set_current(Some(rig.context()))?;
        match rig.driver().enable_peer_access(there) {
            // Another check may have enabled it.
            Err(error) if error.code() != Code::PEER_ACCESS_ALREADY_ENABLED => Err(error.into()),
            _ => Ok(Path { direction, near, far: far?, sent }),
        }
    }

    /// Options that give copies between devices this transport.
    fn options(transport: Transport) -> Options {
        Options { peer_gbps: Some(PEER_GBPS), ..bed::transport(transport) }
    }

    /// The plan of a copy to the other end.
    fn there(&self, stream: &PriorityStream, bytes: u64) -> Result<Plan, Failure> {
        let (far, near) = (Side::UnifiedDevice(self.far), Side::UnifiedDevice(self.near));
        Ok(raw::linear(stream, (far, 0), (near, 0), bytes, None)?.plan())
    }

    /// Copies that went this way, by the statistics.
    fn counted(&self, overtake: &Overtake) -> [u64; 2] {
        let statistics = overtake.statistics();
        let (own, other) = match self.direction {
            Direction::Peer => (statistics.between_devices, statistics.on_device),
            _ => (statistics.on_device, statistics.between_devices),
        };
        [own.copies, other.copies]
    }
}

/// A bulk copy and an urgent one beside each other have these plans, and the bytes arrive.
fn goes(rig: &Rig, path: &Path, options: Options, plans: [Plan; 2]) -> Outcome {
    let overtake = bed::open(rig, options)?;
    let (low, high) = (overtake.adopt(rig.stream()?, level(1))?, overtake.adopt(rig.stream()?, level(3))?);
    rig.driver().memset_d8_async(path.far.base, 0, BYTES, low.raw())?;
    same("the plan of bulk", &path.there(&low, BYTES)?, &plans[0])?;
    low.synchronize()?;
    same_bytes("bulk", &rig.download(path.far, low.raw())?, &path.sent)?;
    rig.driver().memset_d8_async(path.far.base, 0, BYTES, high.raw())?;
    same("the plan of an urgent copy", &path.there(&high, URGENT_BYTES)?, &plans[1])?;
    high.synchronize()?;
    let small = URGENT_BYTES as usize;
    same_bytes("urgent", &rig.download(path.far, high.raw())?[..small], &path.sent[..small])?;
    same("copies by direction", &path.counted(&overtake), &[2, 0])?;
    let to_device = overtake.pending_above(Direction::HostToDevice, level(1));
    same("words of the host's engine", &to_device, &0)?;
    drop((low, high));
    bed::at_rest(rig, &overtake)
}

/// Within the device, whatever the transport of the others.
pub fn on_device(rig: &Rig) -> Outcome {
    let path = Path::new(rig, Direction::DeviceToDevice)?;
    let left_alone = [Plan::Native(Reason::NoHostSide); 2];
    Transport::ALL.into_iter().try_for_each(|transport| goes(rig, &path, Path::options(transport), left_alone))
}

/// Between two devices, by each transport.
pub fn between_devices(rig: &Rig) -> Outcome {
    if !rig.driver().device_can_access_peer(Device(0), Device(1))? {
        return Ok(());
    }
    let path = Path::new(rig, Direction::Peer)?;
    let (by_kernel, by_engine) = (Plan::Kernel { raises: false }, Plan::Engine { raises: false });
    goes(rig, &path, bed::small_options(), [Plan::Native(Reason::NoHostSide); 2])?;
    goes(rig, &path, Path::options(Transport::Engine), [by_engine, Plan::Urgent])?;
    goes(rig, &path, Path::options(Transport::Kernel), [by_kernel, Plan::Urgent])?;
    goes(rig, &path, Path::options(Transport::Auto), [by_kernel, Plan::Urgent])?;
    let whole = Options { wait_budget: WHOLE_BULK_FROM, ..Path::options(Transport::Auto) };
    goes(rig, &path, whole, [Plan::Native(Reason::LeftAlone), Plan::UrgentKernel])
}

/// Urgent copies between devices arm no bulk to the device, nor the other way round.
pub fn not_the_host(rig: &Rig) -> Outcome {
    if !rig.driver().device_can_access_peer(Device(0), Device(1))? {
        return Ok(());
    }
    let path = Path::new(rig, Direction::Peer)?;
    let overtake = bed::open(rig, Path::options(Transport::Engine))?;
    let [one, other] = [overtake.adopt_plain(rig.stream()?), overtake.adopt_plain(rig.stream()?)];
    let host = rig.pinned(BYTES)?;
    let alone = Plan::Native(Reason::Alone);
    for _ in 0..2 {
        let bulk = raw::htod(&one, path.near, &host, BYTES)?;
        same("bulk to the device", &bulk.plan(), &alone)?;
        let (far, near) = (Side::UnifiedDevice(path.far), Side::UnifiedDevice(path.near));
        let urgent = raw::linear(&other, (far, 0), (near, 0), URGENT_BYTES, Some(level(3)))?;
        same("an urgent copy between devices", &urgent.plan(), &alone)?;
    }
    same("bulk between devices", &path.there(&one, BYTES)?, &Plan::Engine { raises: false })?;
    one.synchronize()?;
    other.synchronize()?;
    bed::at_rest(rig, &overtake)
}

/// Copies between the host and memory of another context are the driver's, also where kernels of this one reach it: by
/// every transport, in a batch, and staged.
fn far_from_the_host(rig: &Rig, device: Device, has_access: bool) -> Outcome {
    let driver = rig.driver();
    let there = driver.context_create(device)?;
    let far = driver.mem_alloc(BYTES).map(|base| Buffer { base, bytes: BYTES });
    driver.context_set_current(Some(rig.context()))?;
    let (far, sent) = (far?, Prng::new(52).bytes(BYTES));
    if has_access {
        driver.enable_peer_access(there)?;
    }
    let gone = [Transport::Kernel, Transport::Engine, Transport::Auto]
        .into_iter()
        .try_for_each(|transport| goes_natively(rig, far, &sent, transport))
        .and_then(|()| is_not_staged(rig, far, &sent));
    driver.context_destroy(there)?;
    gone
}

fn goes_natively(rig: &Rig, far: Buffer, sent: &[u8], transport: Transport) -> Outcome {
    let (overtake, unknown) = (bed::open(rig, bed::transport(transport))?, Plan::Native(Reason::OtherMemory));
    let (low, high) = (overtake.adopt(rig.stream()?, level(1))?, overtake.adopt(rig.stream()?, level(3))?);
    let (source, target, near) = (rig.pinned_of(sent)?, rig.pinned(BYTES)?, rig.buffer(BYTES)?);
    same("the plan of a copy there", &raw::htod(&low, far, &source, BYTES)?.plan(), &unknown)?;
    let back = raw::dtoh(&low, &target, far, BYTES)?;
    same("the plan of a copy back", &back.plan(), &unknown)?;
    back.wait()?;
    same_bytes("there and back", &target.read_all(), sent)?;
    let to = |buffer: Buffer| Request::htod(buffer.base, source.pointer(), BYTES);
    refused("a batch by kernel", raw::unordered(&low, &[to(near), to(far)]), &[Code::NOT_SUPPORTED])?;
    drop((back, low, high));
    bed::at_rest(rig, &overtake)
}

fn is_not_staged(rig: &Rig, far: Buffer, sent: &[u8]) -> Outcome {
    let options = Options { staging: true, staging_threads: 2, ..bed::small_options() }
        .with_profile(|profile| profile.staging_bytes_min = BYTES);
    let overtake = bed::open(rig, options)?;
    let stream = overtake.adopt(rig.stream()?, level(1))?;
    let plan = raw::htod_pageable(&stream, (far, 0), sent)?.plan();
    same("the plan of a pageable copy", &plan, &Plan::Native(Reason::Unstaged))?;
    let mut back = vec![0; sent.len()];
    let plan = raw::dtoh_pageable(&stream, &mut back, (far, 0))?.plan();
    same("the plan of one back", &plan, &Plan::Native(Reason::Unstaged))?;
    same_bytes("pageable", &back, sent)?;
    drop(stream);
    bed::at_rest(rig, &overtake)
}

/// Of another context of this device.
pub fn another_context(rig: &Rig) -> Outcome {
    far_from_the_host(rig, Device(0), false)
}

/// Of another device, without access and with it.
pub fn another_device(rig: &Rig) -> Outcome {
    far_from_the_host(rig, Device(1), false)?;
    match rig.driver().device_can_access_peer(Device(0), Device(1))? {
        true => far_from_the_host(rig, Device(1), true),
        false => Ok(()),
    }
}
