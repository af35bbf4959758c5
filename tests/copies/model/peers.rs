//! Times of copies between devices, with the bandwidth that the model gives the pair.

use hal::{Context, Device, Nanos};
use overtake::options::{Transport, WHOLE_BULK_FROM};
use overtake::{Options, Overtake};
use softgpu::{Payload, SoftGpu};

use crate::bed;
use crate::failure::{Failure, Outcome, ensure};
use crate::lane::level;
use crate::model::on;
use crate::place::{Buffer, Side};
use crate::raw;
use crate::rig::Rig;

const BULK_BYTES: u64 = 256 << 20;
const URGENT_BYTES: u64 = 64 << 10;
const COPIES: u32 = 6;
/// The rate of the model's link between devices.
const PEER_GBPS: u32 = 375;
/// The most that an urgent copy may add to a chunk: its own calls, and the turn of the engine.
const SLACK: Nanos = Nanos::from_us(25);
/// Bulk keeps at least this part of its raw bandwidth.
const KEPT: f64 = 0.88;

/// Memory on both devices.
struct Pair {
    near: Buffer,
    far: Buffer,
    contexts: [Context; 2],
}

impl Pair {
    fn new(rig: &Rig) -> Result<Pair, Failure> {
        let there = rig.other_context(Device(1))?;
        rig.driver().context_set_current(Some(there))?;
        let far = rig.buffer(BULK_BYTES)?;
        rig.driver().context_set_current(Some(rig.context()))?;
        rig.driver().enable_peer_access(there)?;
        Ok(Pair { near: rig.buffer(BULK_BYTES)?, far, contexts: [rig.context(), there] })
    }

    fn copy(&self, stream: &overtake::PriorityStream, bytes: u64) -> hal::Result<overtake::copy::CopyHandle> {
        raw::linear(stream, (Side::UnifiedDevice(self.far), 0), (Side::UnifiedDevice(self.near), 0), bytes, None)
    }

    /// The time of some bulk copies by the driver alone.
    fn raw(&self, rig: &Rig) -> Result<Nanos, Failure> {
        let (stream, began) = (rig.stream()?, rig.driver().host().now());
        for _ in 0..COPIES {
            rig.copy_peer((self.far, 0, self.contexts[1]), (self.near, 0, self.contexts[0]), BULK_BYTES, stream)?;
        }
        rig.driver().stream_synchronize(stream)?;
        Ok(rig.driver().host().now().since(began))
    }
}

fn options(transport: Transport) -> Options {
    Options { peer_gbps: Some(PEER_GBPS), ..Options::default() }.with_profile(|profile| profile.transport = transport)
}

/// The time of some bulk copies, that of an urgent one beside as many again, and whether some of these are still under
/// way after it.
fn times(rig: &Rig, overtake: &Overtake, pair: &Pair) -> Result<(Nanos, Nanos, bool), Failure> {
    let host = rig.driver().host();
    let (low, high) = (overtake.adopt(rig.stream()?, level(1))?, overtake.adopt(rig.stream()?, level(6))?);
    pair.copy(&low, URGENT_BYTES)?;
    low.synchronize()?;
    let began = host.now();
    (0..COPIES).try_for_each(|_| pair.copy(&low, BULK_BYTES).map(drop))?;
    low.synchronize()?;
    let bulk = host.now().since(began);
    (0..COPIES).try_for_each(|_| pair.copy(&low, BULK_BYTES).map(drop))?;
    host.sleep(Nanos::from_us(900));
    let began = host.now();
    pair.copy(&high, URGENT_BYTES)?.wait()?;
    let urgent = host.now().since(began);
    let still_there = !rig.driver().stream_query(low.raw())?;
    low.synchronize()?;
    Ok((bulk, urgent, still_there))
}

fn keeps_both(way: &str, options: Options, urgent_max: Nanos) -> Outcome {
    let machine = |builder: softgpu::Builder| builder.devices(2).payload(Payload::TimingOnly);
    on(machine, |_: &SoftGpu, rig| {
        let pair = Pair::new(rig)?;
        let raw = pair.raw(rig)?;
        let overtake = bed::open(rig, options)?;
        let (bulk, urgent, still_there) = times(rig, &overtake, &pair)?;
        ensure!(still_there, "the urgent copy came after all bulk");
        let kept = raw.0 as f64 / bulk.0 as f64;
        ensure!(kept >= KEPT, "bulk {way} keeps {kept:.3} of raw");
        ensure!(urgent <= urgent_max, "an urgent copy beside bulk {way} takes {urgent}");
        bed::at_rest(rig, &overtake)
    })
}

/// In chunks by the engine an urgent copy waits for at most one of them.
pub fn an_urgent_copy_waits_for_a_chunk() -> Outcome {
    keeps_both("in chunks", options(Transport::Engine), Options::default().profile.chunk_max + SLACK)
}

/// By kernel it waits for the bytes in flight.
pub fn an_urgent_copy_passes_a_kernel() -> Outcome {
    keeps_both("by kernel", options(Transport::Kernel), SLACK)
}

/// By kernel it waits for none of the whole bulk on the engine, and shares the link with it.
pub fn an_urgent_copy_passes_whole_bulk() -> Outcome {
    keeps_both("on the engine", Options { wait_budget: WHOLE_BULK_FROM, ..options(Transport::Auto) }, SLACK)
}

/// Without the option an urgent copy waits for the bulk before it.
pub fn without_the_option_it_waits() -> Outcome {
    let machine = |builder: softgpu::Builder| builder.devices(2).payload(Payload::TimingOnly);
    on(machine, |_: &SoftGpu, rig| {
        let pair = Pair::new(rig)?;
        let overtake = bed::open(rig, Options::default())?;
        let (bulk, urgent, still_there) = times(rig, &overtake, &pair)?;
        ensure!(!still_there && urgent + urgent >= bulk, "beside {bulk} of bulk an urgent copy takes {urgent}");
        bed::at_rest(rig, &overtake)
    })
}
