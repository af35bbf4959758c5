//! A thread that has slept runs slowly at first: its core has left its clock and its caches to others.

use crate::model::Ns;
use crate::parameters::HostParameters;

/// The slowness of a thread, and its duration.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cold {
    /// The extra cost of each nanosecond of a call.
    slowdown: f64,
    /// So much of its calls, in warm time, until it is warm.
    left_ns: Ns,
}

impl Cold {
    /// After a long sleep. `chance` is even in 0 to 1. Most sleeps leave a core nearly warm and a few leave it very
    /// cold: the square of an exponential draw.
    pub(super) fn after_sleep(host: &HostParameters, chance: f64) -> Cold {
        let slowdown = host.cold_slowdown * (1.0 - chance).max(f64::MIN_POSITIVE).ln().powi(2);
        Cold { slowdown: slowdown.min(host.cold_slowdown_max), left_ns: host.cold_span_ns }
    }

    /// The additional cost of a call of `span`. Its entry misses the caches too, independent of the call.
    pub(super) fn extra_ns(&mut self, host: &HostParameters, span: Ns) -> Ns {
        if self.left_ns == 0 {
            return 0;
        }
        let slow = (span + host.cold_entry_ns).min(self.left_ns);
        self.left_ns -= slow;
        (slow as f64 * self.slowdown).round() as Ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_warms_up_as_it_calls() {
        let host = HostParameters { cold_slowdown: 2.0, cold_entry_ns: 0, cold_span_ns: 3_000, ..Default::default() };
        let mut cold = Cold::after_sleep(&host, 1.0 - (-1.0_f64).exp());
        let extras = [2_000, 2_000, 2_000].map(|span| cold.extra_ns(&host, span));
        assert_eq!(extras, [4_000, 2_000, 0]);
        assert_eq!(Cold::default().extra_ns(&host, 2_000), 0, "a thread that has not slept is warm");
    }

    #[test]
    fn the_coldest_is_bounded() {
        let host = HostParameters { cold_slowdown_max: 5.0, cold_entry_ns: 0, ..Default::default() };
        assert_eq!(Cold::after_sleep(&host, 1.0).extra_ns(&host, 1_000), 5_000);
    }
}
