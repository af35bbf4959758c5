//! The breaker beside a model that has every failure, and forgives them one by one.

use hal::Nanos;
use overtake_channels::breaker::{Breaker, Limits};
use proptest::prelude::*;

const SOURCES: usize = 2;

/// What may happen, so many milliseconds after what came before.
#[derive(Clone, Copy, Debug)]
enum Event {
    Fails(usize),
    Looked,
}

/// The same as the breaker, in words: it ticks for each forgiveness, and keeps the pauses that it has made.
struct Model {
    limits: Limits,
    failures: [u32; SOURCES],
    /// The time of the next tick of each source.
    tick_at: [u64; SOURCES],
    until: Option<u64>,
    closed_at: u64,
    pauses: Vec<u64>,
}

impl Model {
    fn new(limits: Limits) -> Model {
        let tick_at = [limits.forgive_every.0; SOURCES];
        Model { limits, failures: [0; SOURCES], tick_at, until: None, closed_at: 0, pauses: Vec::new() }
    }

    fn pass(&mut self, now: u64) {
        for source in 0..SOURCES {
            while self.tick_at[source] <= now {
                self.tick_at[source] += self.limits.forgive_every.0;
                self.failures[source] = self.failures[source].saturating_sub(1);
            }
        }
    }

    fn fail(&mut self, source: usize, now: u64) -> Option<u64> {
        self.pass(now);
        self.failures[source] = (self.failures[source] + 1).min(self.limits.failures_max);
        if self.until.is_some() || self.failures[source] < self.limits.failures_max {
            return None;
        }
        let first = 10_000_000_000;
        let pause = match self.pauses.last() {
            Some(last) if (now - self.closed_at) / 10 <= *last => (2 * last).min(3_600_000_000_000),
            _ => first,
        };
        self.pauses.push(pause);
        self.until = Some(now + pause);
        Some(pause)
    }

    fn look(&mut self, now: u64) -> bool {
        let is_over = self.until.is_some_and(|until| until <= now);
        if is_over {
            (self.until, self.closed_at, self.failures) = (None, now, [0; SOURCES]);
            self.tick_at = [now + self.limits.forgive_every.0; SOURCES];
        }
        is_over
    }
}

fn events() -> impl Strategy<Value = Vec<(u64, Event)>> {
    let event = prop_oneof![3 => (0..SOURCES).prop_map(Event::Fails), 1 => Just(Event::Looked)];
    let span = prop_oneof![8 => 0..3_000_u64, 1 => 9_000..30_000_u64, 1 => 100_000..500_000_u64];
    prop::collection::vec((span, event), 1..200)
}

proptest! {
    #[test]
    fn it_opens_and_closes_as_the_model(events in events(), failures_max in 1..6_u32, forgive_ms in 50..2_000_u64) {
        let limits = Limits { failures_max, forgive_every: Nanos::from_ms(forgive_ms) };
        let (mut breaker, mut model, mut now) = (Breaker::<SOURCES>::new(limits, Nanos::ZERO), Model::new(limits), 0);
        for (span_ms, event) in events {
            now += span_ms * 1_000_000;
            match event {
                Event::Fails(source) => {
                    let pause = breaker.fail(source, Nanos(now));
                    prop_assert_eq!(pause.map(|pause| pause.0), model.fail(source, now));
                }
                Event::Looked => prop_assert_eq!(breaker.close_if_over(Nanos(now)), model.look(now)),
            }
            model.pass(now);
            prop_assert_eq!(breaker.open_until().map(|until| until.0), model.until);
            prop_assert_eq!([0, 1].map(|source| breaker.unforgiven(source, Nanos(now))), model.failures);
        }
    }

    /// Whatever has gone wrong, every pause ends, and then a single failure is borne.
    #[test]
    fn what_was_left_comes_back(events in events(), failures_max in 2..6_u32) {
        let limits = Limits { failures_max, forgive_every: Nanos::from_ms(1_000) };
        let (mut breaker, mut now) = (Breaker::<SOURCES>::new(limits, Nanos::ZERO), Nanos::ZERO);
        for (span_ms, event) in events {
            now += Nanos::from_ms(span_ms);
            if let Event::Fails(source) = event {
                breaker.fail(source, now);
            }
        }
        if let Some(until) = breaker.open_until() {
            prop_assert!(until <= now + Nanos::from_ms(3_600_000));
            prop_assert!(breaker.close_if_over(until.max(now)));
            prop_assert_eq!((breaker.open_until(), breaker.fail(0, until.max(now))), (None, None));
        }
    }
}
