//! Scenarios, interleaved in rounds.

use std::sync::Arc;

use hal::{Code, Nanos, Result};

use super::bulk::{Feeder, Throughput};
use super::method::{Flows, Method, Opened, Tally};
use super::urgent::{UrgentPlan, UrgentSamples, Watch, measure_urgent};

/// The work of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// Urgent copies on an idle device.
    Urgent,
    /// Bulk requests alone.
    Bulk,
    /// Urgent copies beside bulk requests.
    Both,
    /// Urgent copies in an endless sequence, beside bulk requests.
    Endless,
}

/// A method under a load.
#[derive(Clone)]
pub struct Scenario {
    /// The name for readers.
    pub name: String,
    pub load: Load,
    pub method: Arc<dyn Method>,
    /// Its share of a round's time, relative to the other scenarios.
    pub weight: u32,
}

/// The times of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// The time for all scenarios together.
    pub span: Nanos,
    /// The number of rounds; every scenario runs once in each.
    pub rounds: u32,
    /// Urgent copies in a sample.
    pub burst: u32,
    /// The shortest pause between two samples.
    pub gap: Nanos,
    /// The variation of that pause.
    pub jitter: Nanos,
}

impl Pace {
    /// One urgent copy at a time, 1.0 to 1.7 ms apart, in three rounds.
    #[must_use]
    pub fn of(seconds: f64) -> Pace {
        let (gap, jitter) = (Nanos::from_us(1_000), Nanos::from_us(700));
        Pace { span: Nanos((seconds * 1e9) as u64), rounds: 3, burst: 1, gap, jitter }
    }
}

/// The measurements of a scenario in all rounds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// Latencies of urgent copies; empty if none ran one at a time.
    pub urgent: UrgentSamples,
    /// Bulk bytes and time; zero if no bulk ran.
    pub bulk: Throughput,
    /// Urgent bytes and time; zero if urgent copies ran one at a time.
    pub endless: Throughput,
    /// The statistics of overtake.
    pub tally: Tally,
    /// The reason why it could not be measured here.
    pub unavailable: Option<String>,
}

/// A slice of a round takes at least this many samples; otherwise a slow scenario might have none.
const LEAST_SAMPLES: usize = 5;
/// A slice lasts until this many bulk requests have completed; otherwise a short one might have no bandwidth.
const LEAST_REQUESTS: u32 = 4;
/// A slice waits no longer than this for these requests.
const PATIENCE: Nanos = Nanos::from_ms(10_000);
/// Everything must drain within this time between two scenarios.
const DRAIN: Nanos = Nanos::from_ms(10_000);

/// Runs all scenarios. Calls `progress` before each slice, with its scenario.
pub fn run(scenarios: &[Scenario], pace: Pace, progress: &mut dyn FnMut(&Scenario)) -> Result<Vec<Measured>> {
    let weights: u64 = scenarios.iter().map(|scenario| u64::from(scenario.weight)).sum();
    let mut measured = vec![Measured::default(); scenarios.len()];
    for _ in 0..pace.rounds {
        for (scenario, total) in scenarios.iter().zip(&mut measured).filter(|(_, total)| total.unavailable.is_none()) {
            progress(scenario);
            let parts = weights.max(1) * u64::from(pace.rounds.max(1));
            let plan = UrgentPlan {
                span: Nanos(pace.span.0 / parts * u64::from(scenario.weight)),
                least_samples: LEAST_SAMPLES,
                burst: pace.burst,
                gap: pace.gap,
                jitter: pace.jitter,
            };
            *total = std::mem::take(total).and(slice(scenario, plan)?);
        }
    }
    Ok(measured)
}

impl Measured {
    /// Both measurements together.
    #[must_use]
    pub fn and(mut self, other: Measured) -> Measured {
        self.urgent.latency_ns.extend(other.urgent.latency_ns);
        self.urgent.enqueue_ns.extend(other.urgent.enqueue_ns);
        self.urgent.starved += other.urgent.starved;
        Measured {
            urgent: self.urgent,
            bulk: self.bulk.and(other.bulk),
            endless: self.endless.and(other.endless),
            tally: self.tally.and(other.tally),
            unavailable: self.unavailable.or(other.unavailable),
        }
    }
}

fn slice(scenario: &Scenario, plan: UrgentPlan) -> Result<Measured> {
    let flows = match scenario.method.open()? {
        Opened::Flows(flows) => flows,
        Opened::Unavailable(reason) => {
            scenario.method.close(0);
            return Ok(Measured { unavailable: Some(reason), ..Measured::default() });
        }
    };
    let [urgent, bulk] = [&flows.urgent, &flows.bulk].map(|flow| {
        flow.reset();
        flow.stream()
    });
    let measured = under_load(scenario.load, &flows, plan)?;
    let is_drained = flows.bulk.ground().rig().look(&[urgent, bulk], DRAIN)?.into_iter().all(|done| done);
    if !is_drained {
        let text = format!("{} did not drain within {DRAIN}", scenario.name);
        return Err(Code::LAUNCH_TIMEOUT.at("cuStreamQuery").because(text));
    }
    drop(flows);
    let copies = measured.urgent.latency_ns.len() as u64 * u64::from(plan.burst);
    let tally = scenario.method.close(copies);
    Ok(Measured { tally, ..measured })
}

fn under_load(load: Load, flows: &Flows, plan: UrgentPlan) -> Result<Measured> {
    let host = flows.bulk.ground().driver().host();
    Ok(match load {
        Load::Urgent => Measured { urgent: measure_urgent(&*flows.urgent, plan, Watch::NONE)?, ..Measured::default() },
        Load::Bulk => {
            let feeder = Feeder::start(&flows.bulk)?;
            host.sleep(plan.span);
            let _is_enough = flows.bulk.ground().rig().wait_for(PATIENCE, &mut || feeder.completed() >= LEAST_REQUESTS);
            Measured { bulk: feeder.stop()?, ..Measured::default() }
        }
        Load::Both => {
            let feeder = Feeder::start(&flows.bulk)?;
            let watch = Watch {
                should_stop: &|| feeder.has_failed(),
                is_enough: &|| feeder.completed() >= LEAST_REQUESTS,
                pause: &|is_paused| feeder.pause(is_paused),
            };
            let urgent = measure_urgent(&*flows.urgent, plan, watch);
            // The feeder's error comes first: an urgent copy that fails beside it most likely fails for the same
            // reason.
            let bulk = feeder.stop()?;
            Measured { urgent: urgent?, bulk, ..Measured::default() }
        }
        Load::Endless => {
            let feeder = Feeder::start(&flows.bulk)?;
            let urgent = Feeder::start(&flows.urgent)?;
            host.sleep(plan.span);
            let _is_enough = flows.bulk.ground().rig().wait_for(PATIENCE, &mut || feeder.completed() >= LEAST_REQUESTS);
            // The bulk stops first: after the urgent copies it would have the engine to itself.
            let bulk = feeder.stop();
            let endless = urgent.stop()?;
            Measured { bulk: bulk?, endless, ..Measured::default() }
        }
    })
}
