//! The time before a call that copies. An exact reading of the clock costs several times as much as a rough one, and
//! few calls need it.

use hal::{Host, Nanos, ROUGH_MAX};

/// The time before a call.
pub(super) struct Began {
    rough: Nanos,
    /// The exact one: of timed calls, of bulk, and of urgent copies while bulk may be in flight.
    pub(super) exact: Option<Nanos>,
    /// The number of calls that this one's time stands for; 0: it is not timed.
    pub(super) weight: u64,
}

impl Began {
    pub(super) fn new(host: &dyn Host, weight: u64) -> Began {
        Began { rough: host.now_roughly(), exact: (weight > 0).then(|| host.now()), weight }
    }

    pub(super) fn at(&self) -> Nanos {
        self.exact.unwrap_or(self.rough)
    }

    pub(super) fn exactly(&mut self, host: &dyn Host) -> Nanos {
        *self.exact.get_or_insert_with(|| host.now())
    }

    /// The time after the call, and how long it has taken at least.
    pub(super) fn ended(&self, host: &dyn Host) -> (Nanos, Nanos) {
        let now = if self.weight > 0 { host.now() } else { host.now_roughly() };
        let took = if self.weight > 0 { now.since(self.at()) } else { now.since(self.rough + ROUGH_MAX) };
        (now, took)
    }
}

#[cfg(test)]
mod tests {
    use softgpu::SoftGpu;

    use super::*;

    #[test]
    fn a_call_that_is_not_timed_tells_long_stalls_alone() {
        let gpu = SoftGpu::builder().build();
        let host = hal::Driver::host(&gpu);
        for (weight, slept, took) in [
            (1, Nanos::from_us(7), Nanos::from_us(7)),
            (16, Nanos::from_ms(3), Nanos::from_ms(3)),
            (0, Nanos::from_ms(3), Nanos::ZERO),
            (0, ROUGH_MAX + Nanos::from_ms(3), Nanos::from_ms(3)),
        ] {
            let began = Began::new(host, weight);
            host.sleep(slept);
            let (now, least) = began.ended(host);
            // Calls and pauses take a while in the model too.
            let late = Nanos::from_us(100);
            assert!(now <= host.now() && took <= least && least <= took + late, "{weight}, {slept:?}: {least:?}");
            assert_eq!(began.exact.is_some(), weight > 0);
        }
    }

    #[test]
    fn an_exact_time_is_read_once() {
        let gpu = SoftGpu::builder().build();
        let host = hal::Driver::host(&gpu);
        let mut began = Began::new(host, 0);
        let first = began.exactly(host);
        host.sleep(Nanos::from_us(5));
        assert_eq!((began.exactly(host), began.at()), (first, first));
    }
}
