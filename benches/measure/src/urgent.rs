//! The urgent loop: one small copy at a time, or one burst, timed as an application sees it.

use hal::{Code, Nanos, Result};

use super::flow::Flow;

/// The pace of urgent copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UrgentPlan {
    /// The length of the loop.
    pub span: Nanos,
    /// The number of samples to take even if that takes longer.
    pub least_samples: usize,
    /// Copies in a sample, back to back.
    pub burst: u32,
    /// The shortest pause between two samples.
    pub gap: Nanos,
    /// The variation of the pause, so that copies do not fall into step with the bulk.
    pub jitter: Nanos,
}

/// An urgent copy that takes longer than this is starved: bulk pauses until it is complete.
pub const STARVED: Nanos = Nanos::from_ms(250);
/// An urgent copy that then takes longer than this has failed.
const PATIENCE: Nanos = Nanos::from_ms(5_000);

/// Latencies in nanoseconds: the whole, and the part that the caller spent in the driver.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UrgentSamples {
    /// From the call to the completion word seen in host memory.
    pub latency_ns: Vec<u64>,
    /// From the call to the return of the last driver call.
    pub enqueue_ns: Vec<u64>,
    /// Those that were complete only because bulk was stopped for them.
    pub starved: u64,
}

/// Other conditions that end or prolong a loop.
#[derive(Clone, Copy)]
pub struct Watch<'a> {
    /// Returns whether going on makes no sense.
    pub should_stop: &'a dyn Fn() -> bool,
    /// Returns whether other threads have finished too.
    pub is_enough: &'a dyn Fn() -> bool,
    /// Has bulk pause, or go on.
    pub pause: &'a dyn Fn(bool),
}

impl Watch<'_> {
    /// No other condition.
    pub const NONE: Watch<'static> = Watch { should_stop: &|| false, is_enough: &|| true, pause: &|_| {} };
}

/// Takes samples until the plan is fulfilled and `is_enough` agrees, or until `should_stop`.
pub fn measure_urgent(flow: &dyn Flow, plan: UrgentPlan, watch: Watch<'_>) -> Result<UrgentSamples> {
    let host = flow.ground().driver().host();
    let end = host.now() + plan.span;
    let mut samples = UrgentSamples::default();
    let mut sequence = flow.done();
    let goes_on = |taken: usize| host.now() < end || taken < plan.least_samples || !(watch.is_enough)();
    while goes_on(samples.latency_ns.len()) && !(watch.should_stop)() {
        sequence = sequence.wrapping_add(1);
        let start = host.now();
        for _ in 0..plan.burst {
            flow.copy()?;
        }
        flow.count(sequence)?;
        let enqueued = host.now();
        let waited = flow.ground().rig().wait_for(STARVED, &mut || flow.done() == sequence);
        let is_done = waited || {
            samples.starved += 1;
            (watch.pause)(true);
            let is_done = flow.ground().rig().wait_for(PATIENCE, &mut || flow.done() == sequence);
            (watch.pause)(false);
            is_done
        };
        if !is_done {
            let text = format!("an urgent copy of {} bytes did not complete within {PATIENCE}", flow.cargo().bytes);
            return Err(Code::LAUNCH_TIMEOUT.at("cuStreamWriteValue32").because(text));
        }
        samples.latency_ns.push(host.now().since(start).0);
        samples.enqueue_ns.push(enqueued.since(start).0);
        host.sleep(plan.gap + Nanos(scatter(u64::from(sequence)) % plan.jitter.0.max(1)));
    }
    Ok(samples)
}

/// A hash of a number (the finaliser of SplitMix64): the same pauses in every run.
#[must_use]
pub fn scatter(number: u64) -> u64 {
    let mut value = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_are_spread() {
        let mut tenths = [0_u32; 10];
        (0..10_000).for_each(|sequence| tenths[(scatter(sequence) % 700 / 70) as usize] += 1);
        assert!(tenths.iter().all(|count| (800..1_200).contains(count)), "{tenths:?}");
    }
}
