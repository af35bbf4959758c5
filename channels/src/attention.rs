//! Whether a thread that looks now and then gets to look when it wants to. Pure.
//!
//! On a host with more to do than it has processors for, a thread that wants to look every few microseconds gets to do
//! so every few milliseconds. What it does not see happen on such a host says nothing about the device: the thread that
//! was to ask the device for it may be kept waiting as well, and on the software GPU the device itself.

use hal::Nanos;

/// How much later than it wanted a thread may look: waking up costs less on a host that has nothing else to do.
const LATE: Nanos = Nanos::from_us(200);

/// For so long a host is taken to be starved after a thread came too late: longer than it runs one thread while others
/// wait.
const REMEMBERED: Nanos = Nanos::from_ms(100);

/// A thread's looks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Attention {
    starved_at: Option<Nanos>,
}

impl Attention {
    /// The thread looks, and had wanted to do so at the time `wanted`.
    pub fn look(&mut self, now: Nanos, wanted: Nanos) {
        if now.since(wanted) > LATE {
            self.starved_at = Some(now);
        }
    }

    /// Whether the host has kept the thread waiting lately.
    #[must_use]
    pub fn is_starved(&self, now: Nanos) -> bool {
        self.starved_at.is_some_and(|starved_at| now.since(starved_at) < REMEMBERED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_starved_for_a_while_after_it_kept_a_thread_waiting() {
        let mut attention = Attention::default();
        (1..=10).for_each(|look| attention.look(Nanos::from_us(210 * look), Nanos::from_us(210 * look - 200)));
        assert!(!attention.is_starved(Nanos::from_us(2_100)), "it came when it wanted, or little later");
        attention.look(Nanos::from_us(4_000), Nanos::from_us(3_799));
        assert!(attention.is_starved(Nanos::from_us(4_000)) && attention.is_starved(Nanos::from_us(103_999)));
        assert!(!attention.is_starved(Nanos::from_us(104_000)));
    }
}
