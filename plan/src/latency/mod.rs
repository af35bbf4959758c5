//! Plans of live streams: the load of each engine and the worst latency of each stream, without running anything. No
//! driver, clock or thread.
//!
//! The bound is that of one server that does all work of all streams, one part at a time and in any order. Hardware is
//! never worse than that: while a frame has not ended, a part of some frame makes progress, also where copies of
//! several streams share a queue of the hardware. It is often much better, because the engines work side by side.

mod busy;
#[cfg(test)]
mod laws;
mod machine;
mod stream;

use std::fmt;

use hal::Nanos;

use busy::Demand;
pub use machine::{Background, Machine};
pub use stream::PlannedStream;

/// The part of its time for which each engine works. 1 is all of it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Loads {
    /// The copy engine to the device.
    pub to_device: f64,
    /// The multiprocessors.
    pub kernels: f64,
    /// The copy engine to the host.
    pub to_host: f64,
    /// All of it one after another, with the steps between and the waits for the background.
    pub together: f64,
}

/// The worst cases of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamPlan {
    /// The longest time for a frame without other frames.
    pub alone: Nanos,
    /// The longest time from a frame's capture to its end; `None` if there is no limit.
    pub bound: Option<Nanos>,
}

/// Why a set of streams cannot hold.
#[derive(Clone, Debug, PartialEq)]
pub enum Shortfall {
    /// An engine has more work than time.
    Overloaded {
        /// Its work.
        work: &'static str,
        /// Its load.
        load: f64,
    },
    /// The engines have the time, but no bound is known for parts that may have to wait for each other.
    Unbounded {
        /// The load of all parts one after another.
        load: f64,
    },
    /// A frame may be late.
    Late {
        /// The stream.
        name: String,
        /// The longest time for one of its frames.
        bound: Nanos,
        /// The time that it has.
        deadline: Nanos,
    },
}

/// A plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The loads.
    pub loads: Loads,
    /// In the order of the streams.
    pub streams: Vec<StreamPlan>,
    /// Why it cannot hold; empty if it can.
    pub shortfalls: Vec<Shortfall>,
}

/// Plans these streams on a machine beside a background.
#[must_use]
pub fn plan(machine: &Machine, background: &Background, streams: &[PlannedStream]) -> Plan {
    // Bulk makes use of a tolerance only while all tolerate a wait, and then of the least.
    let tolerated = streams.iter().map(|stream| stream.tolerance).min().unwrap_or(Nanos::ZERO);
    let machine = &machine.beside(background, tolerated);
    let demands: Vec<Demand> = streams.iter().map(|stream| stream.demand(machine, background)).collect();
    let loads = loads(machine, streams, &demands);
    let bound = |index: usize| {
        let alone = demands[index].span;
        StreamPlan { alone, bound: busy::longest(&demands, index) }
    };
    let planned: Vec<StreamPlan> = (0..streams.len()).map(bound).collect();
    let shortfalls = shortfalls(&loads, streams, &planned);
    Plan { loads, streams: planned, shortfalls }
}

fn loads(machine: &Machine, streams: &[PlannedStream], demands: &[Demand]) -> Loads {
    let sum = |work: &dyn Fn(&PlannedStream) -> Nanos| {
        let part = |stream: &PlannedStream| f64::from(stream.count) * work(stream).0 as f64 / stream.period.0 as f64;
        streams.iter().map(part).sum()
    };
    Loads {
        to_device: sum(&|stream| machine.upload(stream.upload_bytes)),
        kernels: sum(&|stream| stream.kernels_span(machine)),
        to_host: sum(&|stream| machine.download(stream.download_bytes)),
        together: demands.iter().map(Demand::load).sum(),
    }
}

fn shortfalls(loads: &Loads, streams: &[PlannedStream], planned: &[StreamPlan]) -> Vec<Shortfall> {
    let works =
        [("copies to the device", loads.to_device), ("kernels", loads.kernels), ("copies to the host", loads.to_host)];
    let overloaded = works.into_iter().filter(|(_, load)| *load >= 1.0);
    let mut all: Vec<Shortfall> = overloaded.map(|(work, load)| Shortfall::Overloaded { work, load }).collect();
    if all.is_empty() && planned.iter().any(|stream| stream.bound.is_none()) {
        all.push(Shortfall::Unbounded { load: loads.together });
    }
    all.extend(streams.iter().zip(planned).filter_map(|(stream, planned)| {
        let (bound, deadline) = (planned.bound?, stream.deadline);
        (bound > deadline).then(|| Shortfall::Late { name: stream.name.clone(), bound, deadline })
    }));
    all
}

impl fmt::Display for Shortfall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Shortfall::Overloaded { work, load } => {
                write!(f, "{work} need {:.0} % of the time of their engine: leave streams out", load * 100.0)
            }
            Shortfall::Unbounded { load } => write!(
                f,
                "the parts of all frames one after another need {:.0} % of the time, so there is no bound for them: \
                 leave streams out",
                load * 100.0
            ),
            Shortfall::Late { name, bound, deadline } => {
                write!(f, "a frame of {name:?} may take {bound}, and has {deadline}: leave streams out")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine() -> Machine {
        Machine {
            h2d_gbps: 50.0,
            d2h_gbps: 25.0,
            h2d_beside_kernels_gbps: 25.0,
            d2h_beside_kernels_gbps: 20.0,
            copy_setup: Nanos::from_us(2),
            kernel_setup: Nanos::from_us(1),
            step: Nanos::from_us(10),
            notice: Nanos::from_us(5),
            blocking: Nanos::from_us(100),
        }
    }

    /// 20 us up, two kernels of 4 us, 20 us down, and 4 steps.
    fn stream(count: u32, period_us: u64) -> PlannedStream {
        PlannedStream {
            name: "camera".to_owned(),
            count,
            period: Nanos::from_us(period_us),
            deadline: Nanos::from_us(period_us),
            jitter: Nanos::ZERO,
            tolerance: Nanos::ZERO,
            upload_bytes: 900_000,
            kernels: vec![Nanos::from_us(4); 2],
            download_bytes: 450_000,
        }
    }

    const SPAN_US: u64 = 20 + 2 * (4 + 1) + 20 + 3 * 10 + 5;
    /// Beside kernels that make bulk copies the upload takes 36 us in place of 18, and the download 22.5.
    const BESIDE_KERNELS: Nanos = Nanos(22_500);

    #[test]
    fn a_frame_alone_takes_the_sum_of_its_parts() {
        let plan = super::plan(&machine(), &Background::default(), &[stream(1, 1_000)]);
        let us = Nanos::from_us;
        assert_eq!(plan.streams, [StreamPlan { alone: us(SPAN_US), bound: Some(us(SPAN_US)) }]);
        let Loads { to_device, kernels, to_host, together } = plan.loads;
        let loads = [to_device, kernels, to_host, together].map(|load| (load * 1e3).round() as u64);
        assert_eq!(loads, [20, 10, 20, SPAN_US]);
        assert_eq!(plan.shortfalls, []);
    }

    #[test]
    fn all_others_may_come_first_and_bulk_blocks_each_copy() {
        let streams = [stream(4, 1_000), stream(1, 2_000)];
        let alone = super::plan(&machine(), &Background::default(), &streams);
        assert_eq!(alone.streams[0].bound, Some(Nanos::from_us(5 * SPAN_US)));
        let background = Background { has_bulk: true, kernel: Nanos::from_us(7) };
        let beside = super::plan(&machine(), &background, &streams[..1]);
        assert_eq!(beside.streams[0].alone, Nanos::from_us(SPAN_US + 2 * 100 + 2 * 7) + BESIDE_KERNELS);
        assert_eq!(beside.loads.to_device, 4.0 * 0.038);
        let by_engine = Machine { h2d_beside_kernels_gbps: 90.0, d2h_beside_kernels_gbps: 90.0, ..machine() };
        let beside = super::plan(&by_engine, &background, &streams[..1]);
        let is_never_sooner = "a copy beside bulk is not faster than without";
        assert_eq!(beside.streams[0].alone, Nanos::from_us(SPAN_US + 2 * 100 + 2 * 7), "{is_never_sooner}");
    }

    #[test]
    fn bulk_makes_use_of_what_all_streams_tolerate() {
        let background = Background { has_bulk: true, kernel: Nanos::ZERO };
        let tolerant = |us| PlannedStream { tolerance: Nanos::from_us(us), ..stream(1, 10_000) };
        let alone = |streams: &[PlannedStream]| super::plan(&machine(), &background, streams).streams[0].alone;
        assert_eq!(alone(&[tolerant(100), tolerant(150)]), Nanos::from_us(SPAN_US + 2 * (100 + 100)));
        let by_kernel = Nanos::from_us(SPAN_US + 2 * 100) + BESIDE_KERNELS;
        assert_eq!(alone(&[tolerant(100), tolerant(0)]), by_kernel, "bulk goes by kernels for all of them");
        let short_only = Nanos::from_us(SPAN_US + 2 * (100 + 90)) + BESIDE_KERNELS;
        assert_eq!(
            alone(&[tolerant(100), tolerant(90)]),
            short_only,
            "short bulk keeps the engine, and long bulk does not"
        );
    }

    #[test]
    fn each_reason_is_told() {
        let told = |streams: &[PlannedStream]| {
            let plan = super::plan(&machine(), &Background::default(), streams);
            plan.shortfalls.iter().map(Shortfall::to_string).collect::<Vec<_>>()
        };
        let to_device = PlannedStream { upload_bytes: 60_000_000, ..stream(1, 1_000) };
        assert_eq!(
            told(&[to_device]),
            ["copies to the device need 120 % of the time of their engine: leave streams out"]
        );
        assert_eq!(
            told(&[stream(11, 900)]),
            ["the parts of all frames one after another need 104 % of the time, so \
            there is no bound for them: leave streams out"]
        );
        let hurried = PlannedStream { deadline: Nanos::from_us(100), ..stream(2, 1_000) };
        assert_eq!(told(&[hurried]), ["a frame of \"camera\" may take 170.0 us, and has 100.0 us: leave streams out"]);
    }
}
