//! The waits of urgent copies that tolerate one, beside bulk on machines with more or fewer queues.

use hal::Nanos;
use overtake::copy::{Plan, Reason};
use overtake::{Options, Priority};
use softgpu::{Connections, Payload};

use crate::bed;
use crate::failure::{Failure, Outcome, ensure, same};
use crate::model::on;
use crate::rig::Rig;
use crate::scene::{Lane, Scene, Seen, TOLERANCE};
use crate::word::Gate;

const MIB: u64 = 1 << 20;
/// A little more than 4 MiB keep an engine.
const TURN: Nanos = Nanos::from_us(85);

impl Scene {
    fn play_with(&self, copy_queues: u32) -> Result<Seen, Failure> {
        let connections = Connections { max: None, copy: Some(copy_queues) };
        let options = bed::with_queues(Options::default(), copy_queues);
        on(|builder| builder.connections(connections).payload(Payload::TimingOnly), |_, rig| self.play(rig, options))
    }
}

/// Requests of 4 MiB keep the rate of plain ones, but for the write behind each, and an urgent copy waits for no more
/// than one of them.
pub fn one_stream_keeps_its_rate() -> Outcome {
    let seen = Scene { streams: 1, bytes: 4 * MIB, urgent_streams: 2 }.play_with(16)?;
    ensure!(seen.not_whole == 0 && seen.whole > 100 && seen.part >= 0.93, "{seen:?}");
    Ok(())
}

/// Four turns of 1 MiB are no longer than that either.
pub fn three_streams_of_short_requests() -> Outcome {
    let seen = Scene { streams: 3, bytes: MIB, urgent_streams: 2 }.play_with(16)?;
    ensure!(seen.not_whole == 0 && seen.whole > 300 && seen.part >= 0.8, "{seen:?}");
    Ok(())
}

/// Behind a request of each of three streams an urgent copy would wait for longer than it tolerates.
pub fn three_streams_go_in_chunks() -> Outcome {
    let seen = Scene { streams: 3, bytes: 4 * MIB, urgent_streams: 2 }.play_with(16)?;
    ensure!(seen.whole == 0 && seen.not_whole > 100, "{seen:?}");
    Ok(())
}

/// The plans of bulk beside so many quiet streams.
fn plans_beside(rig: &Rig, counts: [usize; 3]) -> Result<Vec<Plan>, Failure> {
    let overtake = bed::open(rig, bed::with_queues(Options::default(), 5))?;
    let highest = overtake.priorities().highest();
    let bulk = Lane::new(rig, overtake.adopt(rig.stream()?, Priority::LOWEST)?, MIB, true)?;
    let _camera = overtake.expect(highest, None)?.tolerating(TOLERANCE);
    let mut quiet = Vec::new();
    let plan_beside = |streams| {
        quiet.truncate(streams);
        while quiet.len() < streams {
            quiet.push(overtake.adopt_quiet(rig.stream()?, highest)?);
        }
        let copy = bulk.copy()?;
        copy.wait()?;
        Ok(copy.plan())
    };
    counts.into_iter().map(plan_beside).collect()
}

/// An urgent copy that shared a queue with bulk would stand behind all that is queued there. A stream that is closed
/// needs none.
pub fn streams_without_queues_go_in_chunks() -> Outcome {
    let five = Connections { max: None, copy: Some(5) };
    let plans = on(|builder| builder.connections(five), |_, rig| plans_beside(rig, [2, 4, 2]))?;
    let whole = Plan::Native(Reason::WithinBudget);
    same("the plans beside 2, 4 and 2 streams", &plans, &vec![whole, Plan::Engine { raises: false }, whole])?;
    for (urgent_streams, has_queues) in [(2, true), (3, false)] {
        let seen = Scene { streams: 1, bytes: 4 * MIB, urgent_streams }.play_with(4)?;
        ensure!((seen.whole > 100, seen.not_whole > 100) == (has_queues, !has_queues), "{urgent_streams}: {seen:?}");
    }
    Ok(())
}

/// Bulk that was submitted while all tolerated a wait holds one that tolerates none up for a turn, as chunks would; the
/// next copies of its stream give way.
pub fn one_that_tolerates_none_waits_for_a_turn() -> Outcome {
    on(
        |builder| builder.payload(Payload::TimingOnly),
        |_, rig| {
            let overtake = bed::open(rig, Options::default())?;
            let highest = overtake.priorities().highest();
            let urgent = Lane::new(rig, overtake.adopt_quiet(rig.stream()?, highest)?, 64 << 10, true)?;
            let alone = urgent.longest(rig, 60)?;
            let bulk = Lane::new(rig, overtake.adopt(rig.stream()?, Priority::LOWEST)?, 4 * MIB, true)?;
            let camera = overtake.expect(highest, None)?.tolerating(TOLERANCE);
            for _ in 0..64 {
                same("bulk beside a camera", &bulk.copy()?.plan(), &Plan::Native(Reason::WithinBudget))?;
            }
            let _hasty = overtake.expect(highest, None)?;
            same("bulk behind it", &bulk.copy()?.plan(), &Plan::Kernel { raises: false })?;
            let longest = urgent.longest(rig, 6)?;
            ensure!(longest <= alone + TURN, "{longest} beside bulk, {alone} alone");
            ensure!(!rig.driver().stream_query(bulk.stream.raw())?, "bulk had ended before");
            drop(camera);
            Ok(bulk.stream.synchronize()?)
        },
    )
}

/// The copies of a chain, up and down in turn.
const ROUNDS: u32 = 16;

/// The time of so many chains, each of copies up and down in one stream.
fn time_of(rig: &Rig, chains: &[[Lane; 2]]) -> Result<Nanos, Failure> {
    let gates = chains.iter().map(|[up, _]| rig.gate(up.stream.raw())).collect::<Result<Vec<_>, Failure>>()?;
    for lane in (0..ROUNDS).flat_map(|_| chains.iter().flatten()) {
        same("a way of a chain", &lane.copy()?.plan(), &Plan::Engine { raises: false })?;
    }
    let host = rig.driver().host();
    let began = host.now();
    gates.iter().for_each(Gate::open);
    chains.iter().flatten().try_for_each(|lane| lane.stream.synchronize())?;
    Ok(host.now().since(began))
}

/// Two chains begin together. Soon one of them copies up while the other copies down, in place of both up and both down
/// at half of the rate.
pub fn chains_alternate() -> Outcome {
    let connections = Connections { max: None, copy: Some(16) };
    on(
        |builder| builder.connections(connections).payload(Payload::TimingOnly),
        |_, rig| {
            let overtake = bed::open(rig, bed::with_queues(Options::default(), 16))?;
            let _camera = overtake.expect(overtake.priorities().highest(), None)?.tolerating(Nanos::from_us(300));
            let chain = |_| {
                let raw = rig.stream()?;
                let lane = |to_device| Lane::new(rig, overtake.adopt(raw, Priority::LOWEST)?, 32 * MIB, to_device);
                Ok([lane(true)?, lane(false)?])
            };
            let chains = (0..2).map(chain).collect::<Result<Vec<_>, Failure>>()?;
            time_of(rig, &chains)?;
            let (one, both) = (time_of(rig, &chains[..1])?, time_of(rig, &chains)?);
            ensure!(both.0 * 10 <= one.0 * 14, "one chain takes {one}, two take {both}");
            Ok(())
        },
    )
}
