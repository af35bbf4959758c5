//! The bound against a simulation of engines and queues that choose as they like.

use hal::Nanos;
use proptest::prelude::*;

use crate::latency::{Background, Machine, PlannedStream, plan};

/// The closer the load is to one, the longer the busy time, and the more steps it takes to find. Below this load the
/// steps are enough for all frames that these laws make.
const LOAD_FOUND: f64 = 0.99;

/// Work of a frame in its engines, one after another.
const ENGINES: usize = 3;

/// A machine without costs of its own: a byte is a nanosecond.
const PLAIN: Machine = Machine {
    h2d_gbps: 1.0,
    d2h_gbps: 1.0,
    h2d_beside_kernels_gbps: 1.0,
    d2h_beside_kernels_gbps: 1.0,
    copy_setup: Nanos::ZERO,
    kernel_setup: Nanos::ZERO,
    step: Nanos::ZERO,
    notice: Nanos::ZERO,
    blocking: Nanos::ZERO,
};

/// A stream: the parts of a frame, its period, its first frame, and the lane that it shares with others.
#[derive(Clone, Debug)]
struct Camera {
    parts: [u64; ENGINES],
    period: u64,
    first: u64,
    lane: usize,
}

#[derive(Clone, Debug)]
struct Frame {
    came: u64,
    camera: usize,
    part: usize,
    left: u64,
    ended: Option<u64>,
}

/// Runs all frames tick by tick: each engine takes the part that `choose` names of those that may run. The parts of a
/// lane run one at a time in the order of their frames, as in a queue that several streams share.
fn simulate(cameras: &[Camera], until: u64, mut choose: impl FnMut(usize) -> usize) -> Vec<Frame> {
    let mut frames: Vec<Frame> = Vec::new();
    for (camera, one) in cameras.iter().enumerate() {
        let times = (0..).map(|number| one.first + number * one.period).take_while(|came| *came < until);
        frames.extend(times.map(|came| Frame { came, camera, part: 0, left: one.parts[0], ended: None }));
    }
    frames.sort_by_key(|frame| (frame.came, frame.camera));
    let mut running: [Option<usize>; ENGINES] = [None; ENGINES];
    let mut now = 0;
    while frames.iter().any(|frame| frame.ended.is_none()) {
        for (engine, running) in running.iter_mut().enumerate() {
            if running.is_none() {
                let ready = ready(cameras, &frames, engine, now);
                *running = (!ready.is_empty()).then(|| ready[choose(ready.len())]);
            }
        }
        now += 1;
        for running in &mut running {
            if let Some(frame) = *running {
                let done = &mut frames[frame];
                done.left -= 1;
                if done.left == 0 {
                    *running = None;
                    done.part += 1;
                    match cameras[done.camera].parts.get(done.part) {
                        Some(left) => done.left = *left,
                        None => done.ended = Some(now),
                    }
                }
            }
        }
    }
    frames
}

/// The frames whose part may run on this engine: the first of each lane.
fn ready(cameras: &[Camera], frames: &[Frame], engine: usize, now: u64) -> Vec<usize> {
    let lanes = cameras.iter().map(|camera| camera.lane).max().unwrap_or(0);
    let first = |lane| {
        let mut of_lane = frames.iter().enumerate().filter(|(_, frame)| cameras[frame.camera].lane == lane);
        of_lane.find(|(_, frame)| frame.ended.is_none() && frame.came <= now)
    };
    (0..=lanes).filter_map(first).filter(|(_, frame)| frame.part == engine).map(|(index, _)| index).collect()
}

fn planned(camera: &Camera) -> PlannedStream {
    PlannedStream {
        name: String::new(),
        count: 1,
        period: Nanos(camera.period),
        deadline: Nanos(camera.period),
        jitter: Nanos::ZERO,
        tolerance: Nanos::ZERO,
        upload_bytes: camera.parts[0],
        kernels: vec![Nanos(camera.parts[1])],
        download_bytes: camera.parts[2],
    }
}

fn camera() -> impl Strategy<Value = Camera> {
    let parts = [1..9_u64, 1..9, 1..9];
    (parts, 30..120_u64, 0..40_u64, 0..3_usize).prop_map(|(parts, period, first, lane)| Camera {
        parts,
        period,
        first,
        lane,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// No frame takes longer than its bound, on engines that take any part that may run, and with streams that wait
    /// for each other in queues.
    #[test]
    fn no_frame_is_later_than_its_bound(
        cameras in prop::collection::vec(camera(), 1..6),
        choices in prop::collection::vec(0..64_usize, 64),
    ) {
        let streams: Vec<PlannedStream> = cameras.iter().map(planned).collect();
        let plan = plan(&PLAIN, &Background::default(), &streams);
        let mut turn = 0;
        let choose = |count: usize| {
            turn += 1;
            choices[turn % choices.len()] % count
        };
        if plan.loads.together < 1.0 {
            for frame in simulate(&cameras, 400, choose) {
                let Some(bound) = plan.streams[frame.camera].bound else {
                    prop_assert!(plan.loads.together > LOAD_FOUND, "no bound at a load of {}", plan.loads.together);
                    continue;
                };
                let latency = Nanos(frame.ended.expect("all have ended") - frame.came);
                prop_assert!(latency <= bound, "{latency} of {frame:?}, bound {bound}");
            }
        }
    }

    /// One stream more, or a larger one, makes no bound smaller.
    #[test]
    fn more_work_is_never_sooner(cameras in prop::collection::vec(camera(), 2..6), bytes in 0..9_u64) {
        let streams: Vec<PlannedStream> = cameras.iter().map(planned).collect();
        let bounds = |streams: &[PlannedStream]| {
            let planned = plan(&PLAIN, &Background::default(), streams).streams;
            planned.into_iter().map(|stream| stream.bound.unwrap_or(Nanos::MAX)).collect::<Vec<_>>()
        };
        let all = bounds(&streams);
        let fewer = bounds(&streams[1..]);
        prop_assert!(all[1..].iter().zip(&fewer).all(|(all, fewer)| all >= fewer), "{all:?} {fewer:?}");
        let mut larger = streams.clone();
        larger[0].upload_bytes += bytes;
        let larger = bounds(&larger);
        prop_assert!(all.iter().zip(&larger).all(|(all, larger)| larger >= all), "{all:?} {larger:?}");
    }
}

/// Frames that come at once, and take turns in the worst order, come to the bound.
#[test]
fn the_bound_is_reached() {
    let one = |lane| Camera { parts: [5, 5, 5], period: 100, first: 0, lane };
    let cameras = [one(0), one(0), one(0)];
    let streams: Vec<PlannedStream> = cameras.iter().map(planned).collect();
    let bound = plan(&PLAIN, &Background::default(), &streams).streams[2].bound;
    let worst = simulate(&cameras, 100, |_| 0).iter().filter_map(|frame| Some(frame.ended? - frame.came)).max();
    assert_eq!(worst.map(Nanos), bound);
}

/// At a load of 0.99996 the busy time spans thousands of frames, and has an end.
#[test]
fn a_load_just_below_one_has_a_bound() {
    let cameras = [([8, 1, 2], 50), ([7, 1, 3], 32), ([5, 5, 6], 61), ([3, 3, 6], 69)];
    let one = |(parts, period)| planned(&Camera { parts, period, first: 0, lane: 0 });
    let planned = plan(&PLAIN, &Background::default(), &cameras.map(one));
    assert!(planned.loads.together < 1.0, "{planned:?}");
    assert!(planned.streams.iter().all(|stream| stream.bound.is_some()), "{planned:?}");
}
