//! Copies along one dimension, checked byte by byte.

use std::sync::Arc;

use hal::{Code, Device, DevicePtr};
use testkit::fixture::attempt;

use crate::failure::{Failure, Outcome, ensure, refused, same_bytes};
use crate::memory::Pinned;
use crate::place::{Buffer, Side};
use crate::prng::Prng;
use crate::rig::Rig;

const ARENA_BYTES: u64 = (2 << 20) + 77;

/// Sizes around the limits at which implementations change their method.
const SIZES: [u64; 22] =
    [1, 2, 3, 4, 7, 8, 15, 16, 17, 63, 64, 65, 255, 256, 257, 4_095, 4_096, 4_097, 65_535, 65_536, 65_537, 1_048_589];

/// A source with known bytes and a target with others.
struct Pair<S, T> {
    source: S,
    target: T,
    sent: Vec<u8>,
    expected: Vec<u8>,
}

/// Calls `copy(to, from, bytes)` for every size, at random places and at both ends, and updates the expected bytes.
fn at_many_places<S, T>(
    pair: &mut Pair<S, T>,
    prng: &mut Prng,
    mut copy: impl FnMut(&Pair<S, T>, u64, u64, u64) -> hal::Result<()>,
) -> Outcome {
    for (index, bytes) in SIZES.into_iter().enumerate() {
        let room = ARENA_BYTES - bytes;
        let (to, from) = match index {
            0 => (0, room),
            1 => (room, 0),
            _ => (prng.below(room + 1), prng.below(room + 1)),
        };
        copy(pair, to, from, bytes)?;
        let moved = &pair.sent[from as usize..(from + bytes) as usize];
        pair.expected[to as usize..(to + bytes) as usize].copy_from_slice(moved);
    }
    Ok(())
}

fn pinned_to_device(rig: &Rig, prng: &mut Prng) -> Result<Pair<Arc<Pinned>, Buffer>, Failure> {
    let (sent, expected) = (prng.bytes(ARENA_BYTES), prng.bytes(ARENA_BYTES));
    Ok(Pair { source: rig.pinned_of(&sent)?, target: rig.buffer_of(&expected)?, sent, expected })
}

fn device_to_pinned(rig: &Rig, prng: &mut Prng) -> Result<Pair<Buffer, Arc<Pinned>>, Failure> {
    let (sent, expected) = (prng.bytes(ARENA_BYTES), prng.bytes(ARENA_BYTES));
    Ok(Pair { source: rig.buffer_of(&sent)?, target: rig.pinned_of(&expected)?, sent, expected })
}

fn device_to_device(rig: &Rig, prng: &mut Prng) -> Result<Pair<Buffer, Buffer>, Failure> {
    let (sent, expected) = (prng.bytes(ARENA_BYTES), prng.bytes(ARENA_BYTES));
    Ok(Pair { source: rig.buffer_of(&sent)?, target: rig.buffer_of(&expected)?, sent, expected })
}

/// Pinned host memory to the device.
pub fn host_to_device(rig: &Rig) -> Outcome {
    let (mut prng, stream) = (Prng::new(21), rig.stream()?);
    let mut pair = pinned_to_device(rig, &mut prng)?;
    at_many_places(&mut pair, &mut prng, |p, to, from, bytes| {
        rig.htod((p.target, to), (&p.source, from), bytes, stream)
    })?;
    same_bytes("the device", &rig.download(pair.target, stream)?, &pair.expected)
}

/// Registered host memory to the device.
pub fn registered_to_device(rig: &Rig) -> Outcome {
    let (mut prng, stream) = (Prng::new(22), rig.stream()?);
    let (sent, expected) = (prng.bytes(ARENA_BYTES), prng.bytes(ARENA_BYTES));
    let source = rig.registered(ARENA_BYTES)?;
    source.write(0, &sent);
    let mut pair = Pair { source, target: rig.buffer_of(&expected)?, sent, expected };
    at_many_places(&mut pair, &mut prng, |p, to, from, bytes| {
        rig.htod((p.target, to), (&p.source, from), bytes, stream)
    })?;
    same_bytes("the device", &rig.download(pair.target, stream)?, &pair.expected)
}

/// The device to pinned host memory.
pub fn device_to_host(rig: &Rig) -> Outcome {
    let (mut prng, stream) = (Prng::new(23), rig.stream()?);
    let mut pair = device_to_pinned(rig, &mut prng)?;
    at_many_places(&mut pair, &mut prng, |p, to, from, bytes| {
        rig.dtoh((&p.target, to), (p.source, from), bytes, stream)
    })?;
    rig.settle(stream)?;
    same_bytes("the host", &pair.target.read_all(), &pair.expected)
}

/// One place of the device to another.
pub fn inside_the_device(rig: &Rig) -> Outcome {
    let (mut prng, stream) = (Prng::new(24), rig.stream()?);
    let mut pair = device_to_device(rig, &mut prng)?;
    at_many_places(&mut pair, &mut prng, |p, to, from, bytes| {
        rig.dtod((p.target, to), (p.source, from), bytes, stream)
    })?;
    same_bytes("the device", &rig.download(pair.target, stream)?, &pair.expected)
}

/// The kind that follows from the addresses, for all four kinds.
pub fn default_kind(rig: &Rig) -> Outcome {
    let (mut prng, stream) = (Prng::new(25), rig.stream()?);
    let mut up = pinned_to_device(rig, &mut prng)?;
    at_many_places(&mut up, &mut prng, |p, to, from, bytes| {
        rig.copy_any((Side::Device(p.target), to), (Side::Host(&p.source), from), bytes, stream)
    })?;
    same_bytes("up", &rig.download(up.target, stream)?, &up.expected)?;
    let mut across = device_to_device(rig, &mut prng)?;
    at_many_places(&mut across, &mut prng, |p, to, from, bytes| {
        rig.copy_any((Side::Device(p.target), to), (Side::Device(p.source), from), bytes, stream)
    })?;
    same_bytes("across", &rig.download(across.target, stream)?, &across.expected)?;
    let mut down = device_to_pinned(rig, &mut prng)?;
    at_many_places(&mut down, &mut prng, |p, to, from, bytes| {
        rig.copy_any((Side::Host(&p.target), to), (Side::Device(p.source), from), bytes, stream)
    })?;
    rig.settle(stream)?;
    same_bytes("down", &down.target.read_all(), &down.expected)
}

/// The kind that follows from the addresses, between two places of pinned host memory.
pub fn default_kind_inside_the_host(rig: &Rig) -> Outcome {
    let (mut prng, stream) = (Prng::new(26), rig.stream()?);
    let (sent, expected) = (prng.bytes(ARENA_BYTES), prng.bytes(ARENA_BYTES));
    let mut pair = Pair { source: rig.pinned_of(&sent)?, target: rig.pinned_of(&expected)?, sent, expected };
    at_many_places(&mut pair, &mut prng, |p, to, from, bytes| {
        rig.copy_any((Side::Host(&p.target), to), (Side::Host(&p.source), from), bytes, stream)
    })?;
    rig.settle(stream)?;
    same_bytes("the host", &pair.target.read_all(), &pair.expected)
}

/// Mapped host memory through its device pointer: a copy inside the device's address space.
pub fn mapped_memory_by_device_pointer(rig: &Rig) -> Outcome {
    let (mut prng, stream) = (Prng::new(27), rig.stream()?);
    let sent = prng.bytes(70_000);
    let (source, target) = (rig.pinned_of(&sent)?, rig.buffer(70_000)?);
    let mapped = Buffer { base: rig.driver().host_device_pointer(source.pointer())?, bytes: 70_000 };
    rig.copy_any((Side::Device(target), 0), (Side::Device(mapped), 0), 70_000, stream)?;
    same_bytes("the device", &rig.download(target, stream)?, &sent)
}

/// Synchronous copies, from and to pageable and pinned memory.
pub fn synchronous(rig: &Rig) -> Outcome {
    let mut prng = Prng::new(28);
    for bytes in SIZES {
        let (sent, offset) = (prng.bytes(bytes), prng.below(300));
        let buffer = rig.buffer(bytes + 300)?;
        rig.htod_now((buffer, offset), &sent)?;
        same_bytes("there and back", &rig.dtoh_now((buffer, offset), bytes)?, &sent)?;
    }
    Ok(())
}

/// A copy of nothing is a copy that succeeds and moves nothing.
pub fn zero_bytes(rig: &Rig) -> Outcome {
    let stream = rig.stream()?;
    let (pinned, buffer, other) = (rig.pinned_of(&[1; 64])?, rig.buffer_of(&[2; 64])?, rig.buffer_of(&[3; 64])?);
    rig.htod((buffer, 8), (&pinned, 8), 0, stream)?;
    rig.dtoh((&pinned, 8), (buffer, 8), 0, stream)?;
    rig.dtod((buffer, 8), (other, 8), 0, stream)?;
    rig.copy_any((Side::Device(buffer), 0), (Side::Host(&pinned), 0), 0, stream)?;
    attempt::htod(rig.driver(), DevicePtr::NULL, 0, 0, stream)?;
    attempt::dtod(rig.driver(), DevicePtr::NULL, DevicePtr::NULL, 0, stream)?;
    rig.settle(stream)?;
    same_bytes("the host", &pinned.read_all(), &[1; 64])?;
    same_bytes("the device", &rig.download(buffer, stream)?, &[2; 64])
}

/// Both directions at once, on two streams, do not mix.
pub fn both_directions(rig: &Rig) -> Outcome {
    const BYTES: u64 = 4 << 20;
    let mut prng = Prng::new(29);
    let (up, down) = (rig.stream()?, rig.stream()?);
    let (sent, stored) = (prng.bytes(BYTES), prng.bytes(BYTES));
    let (source, target) = (rig.pinned_of(&sent)?, rig.buffer(BYTES)?);
    let (store, sink) = (rig.buffer_of(&stored)?, rig.pinned(BYTES)?);
    for offset in (0..BYTES).step_by(1 << 20) {
        rig.htod((target, offset), (&source, offset), 1 << 20, up)?;
        rig.dtoh((&sink, offset), (store, offset), 1 << 20, down)?;
    }
    rig.settle_all(&[up, down])?;
    same_bytes("down", &sink.read_all(), &stored)?;
    same_bytes("up", &rig.download(target, up)?, &sent)
}

/// From one device to another and back, with and without peer access.
pub fn peer(rig: &Rig) -> Outcome {
    const BYTES: u64 = 300_001;
    let (mut prng, stream) = (Prng::new(30), rig.stream()?);
    let (here, there) = (rig.context(), rig.other_context(Device(1))?);
    let sent = prng.bytes(BYTES);
    let (source, back) = (rig.buffer_of(&sent)?, rig.buffer(BYTES)?);
    rig.driver().context_set_current(Some(there))?;
    let far = rig.buffer(BYTES);
    rig.driver().context_set_current(Some(here))?;
    let far = far?;
    let copied = attempt::copy_peer(rig.driver(), (DevicePtr::NULL, there), (source.base, here), 64, stream);
    refused("a peer copy to null", copied, &[Code::INVALID_VALUE])?;
    for round in 0..2 {
        let (at, bytes) = (prng.below(1_000), BYTES - prng.between(1_000, 2_000));
        rig.copy_peer((far, at, there), (source, at, here), bytes, stream)?;
        rig.copy_peer((back, at, here), (far, at, there), bytes, stream)?;
        let seen = rig.download(back, stream)?;
        let range = at as usize..(at + bytes) as usize;
        same_bytes("there and back", &seen[range.clone()], &sent[range])?;
        if round == 0 && rig.driver().device_can_access_peer(Device(0), Device(1))? {
            rig.driver().enable_peer_access(there)?;
        }
    }
    Ok(())
}

/// A device is no peer of itself.
pub fn no_peer_of_itself(rig: &Rig) -> Outcome {
    ensure!(!rig.driver().device_can_access_peer(Device(0), Device(0))?, "a device is its own peer");
    let enabled = rig.driver().enable_peer_access(rig.context());
    refused("peer access to itself", enabled, &[Code::PEER_ACCESS_UNSUPPORTED])
}
