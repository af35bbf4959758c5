//! Whether the host lets a watching thread run when it wants to. Pure.
//!
//! On an overloaded host, a thread that wants to look every few microseconds runs every few milliseconds. Missing
//! progress then says nothing about the device: the thread that submits the work may be delayed as well, and so may the
//! threads of the software GPU.

use hal::Nanos;

/// A look may be this late. On an idle host, waking up costs less.
const LATE: Nanos = Nanos::from_us(200);

/// A host counts as starved for this long after a thread ran too late. The span is longer than the host runs one
/// thread while others wait.
const REMEMBERED: Nanos = Nanos::from_ms(100);

/// The looks of one thread.
#[derive(Clone, Copy, Debug, Default)]
pub struct Attention {
    starved_at: Option<Nanos>,
}

impl Attention {
    /// The thread looks at `now`; it wanted to look at `wanted`.
    pub fn look(&mut self, now: Nanos, wanted: Nanos) {
        if now.since(wanted) > LATE {
            self.starved_at = Some(now);
        }
    }

    /// Whether the host has recently kept the thread waiting.
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
        assert!(!attention.is_starved(Nanos::from_us(2_100)), "it ran when it wanted, or little later");
        attention.look(Nanos::from_us(4_000), Nanos::from_us(3_799));
        assert!(attention.is_starved(Nanos::from_us(4_000)) && attention.is_starved(Nanos::from_us(103_999)));
        assert!(!attention.is_starved(Nanos::from_us(104_000)));
    }
}
