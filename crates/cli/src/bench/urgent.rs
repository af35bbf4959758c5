//! The urgent loop: one small copy at a time, timed as the application sees it.

use hal::{Code, Nanos, Result};

use super::Method;

/// How to pace urgent copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UrgentPlan {
    /// For how long.
    pub span: Nanos,
    /// Samples to take even if that takes longer.
    pub least_samples: usize,
    /// The shortest pause between two copies.
    pub gap: Nanos,
    /// The pause varies by up to this, so that copies do not fall into step with the bulk.
    pub jitter: Nanos,
}

/// An urgent copy that takes longer than this will not come.
const PATIENCE: Nanos = Nanos::from_ms(5_000);

/// Latencies in nanoseconds: the whole, and the part that the caller spent in the driver.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UrgentSamples {
    /// From the call to the completion word seen in host memory.
    pub latency_ns: Vec<u64>,
    /// From the call to the return of the last driver call.
    pub enqueue_ns: Vec<u64>,
}

/// Takes samples until the plan is fulfilled, or until `should_stop`.
pub fn measure_urgent(method: &dyn Method, plan: UrgentPlan, should_stop: &dyn Fn() -> bool) -> Result<UrgentSamples> {
    let host = method.rig().driver().host();
    let end = host.now() + plan.span;
    let mut samples = UrgentSamples::default();
    let mut sequence = method.urgent_done();
    while (host.now() < end || samples.latency_ns.len() < plan.least_samples) && !should_stop() {
        sequence = sequence.wrapping_add(1);
        let start = host.now();
        method.submit_urgent(sequence)?;
        let enqueued = host.now();
        if !method.rig().wait_for(PATIENCE, &mut || method.urgent_done() == sequence) {
            let text = format!("an urgent copy of {} bytes did not complete within {PATIENCE}", method.urgent_bytes());
            return Err(Code::LAUNCH_TIMEOUT.at("cuStreamWriteValue32").because(text));
        }
        samples.latency_ns.push(host.now().since(start).0);
        samples.enqueue_ns.push(enqueued.since(start).0);
        host.sleep(plan.gap + Nanos(jitter(sequence) % plan.jitter.0.max(1)));
    }
    Ok(samples)
}

/// A hash of the sequence number (the finaliser of SplitMix64): the same pauses in every run.
fn jitter(sequence: u32) -> u64 {
    let mut value = u64::from(sequence).wrapping_mul(0x9e37_79b9_7f4a_7c15);
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
        (0..10_000).for_each(|sequence| tenths[(jitter(sequence) % 700 / 70) as usize] += 1);
        assert!(tenths.iter().all(|count| (800..1_200).contains(count)), "{tenths:?}");
    }
}
