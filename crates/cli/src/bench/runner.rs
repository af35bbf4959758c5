//! Scenarios, interleaved in rounds.

use std::sync::Arc;

use hal::{Code, Nanos, Result};

use super::urgent::UrgentSamples;
use super::{Feeder, Method, Throughput, UrgentPlan, measure_urgent};

/// What runs in a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// Urgent copies on an idle device.
    Urgent,
    /// Bulk requests alone.
    Bulk,
    /// Urgent copies beside bulk requests.
    Both,
}

/// A method under a load.
#[derive(Clone)]
pub struct Scenario {
    /// What a reader calls it.
    pub name: String,
    /// What runs.
    pub load: Load,
    /// By which method.
    pub method: Arc<dyn Method>,
    /// Its share of a round's time, relative to the other scenarios.
    pub weight: u32,
}

/// How long and how often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// For all scenarios together.
    pub span: Nanos,
    /// Every scenario runs once in each round.
    pub rounds: u32,
    /// The shortest pause between two urgent copies.
    pub gap: Nanos,
    /// By how much that pause varies.
    pub jitter: Nanos,
}

/// What a scenario has measured in all rounds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// Latencies of urgent copies; empty under [`Load::Bulk`].
    pub urgent: UrgentSamples,
    /// Bulk bytes and time; zero under [`Load::Urgent`].
    pub bulk: Throughput,
}

/// A slice of a round takes at least this many samples, or a slow scenario might have none.
const LEAST_SAMPLES: usize = 5;
/// Between two scenarios everything must drain within this.
const DRAIN: Nanos = Nanos::from_ms(10_000);

/// Runs all scenarios. `progress` hears of each slice before it begins: its round and its scenario.
pub fn run(scenarios: &[Scenario], pace: Pace, progress: &mut dyn FnMut(u32, &Scenario)) -> Result<Vec<Measured>> {
    let weights: u64 = scenarios.iter().map(|scenario| u64::from(scenario.weight)).sum();
    let mut measured = vec![Measured::default(); scenarios.len()];
    for round in 0..pace.rounds {
        for (scenario, total) in scenarios.iter().zip(&mut measured) {
            progress(round, scenario);
            let parts = weights.max(1) * u64::from(pace.rounds.max(1));
            let plan = UrgentPlan {
                span: Nanos(pace.span.0 / parts * u64::from(scenario.weight)),
                least_samples: LEAST_SAMPLES,
                gap: pace.gap,
                jitter: pace.jitter,
            };
            let slice = slice(scenario, plan)?;
            total.urgent.latency_ns.extend(slice.urgent.latency_ns);
            total.urgent.enqueue_ns.extend(slice.urgent.enqueue_ns);
            total.bulk = total.bulk.and(slice.bulk);
        }
    }
    Ok(measured)
}

fn slice(scenario: &Scenario, plan: UrgentPlan) -> Result<Measured> {
    let method = &scenario.method;
    method.reset();
    let measured = match scenario.load {
        Load::Urgent => Measured { urgent: measure_urgent(&**method, plan, &|| false)?, ..Measured::default() },
        Load::Bulk => {
            let feeder = Feeder::start(method)?;
            method.rig().driver().host().sleep(plan.span);
            Measured { bulk: feeder.stop()?, ..Measured::default() }
        }
        Load::Both => {
            let feeder = Feeder::start(method)?;
            let urgent = measure_urgent(&**method, plan, &|| feeder.has_failed());
            // The feeder's error first: an urgent copy that fails beside it most likely fails for the same reason.
            let bulk = feeder.stop()?;
            Measured { urgent: urgent?, bulk }
        }
    };
    if method.rig().look(&method.streams(), DRAIN)?.into_iter().all(|done| done) {
        return Ok(measured);
    }
    Err(Code::LAUNCH_TIMEOUT.at("cuStreamQuery").because(format!("{} did not drain within {DRAIN}", scenario.name)))
}
