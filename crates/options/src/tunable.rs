//! The one table of options. `unlisted.rs` has the values that only tests set.

use hal::Nanos;
use priority::Priorities;

use crate::settings::{Automatic, DemandOptions, Options};
use crate::words::{fraction, size, size_text, switch};

/// A longer span is taken for a mistake.
const SPAN_MAX_US: u64 = 3_600_000_000;

/// An option.
#[derive(Debug)]
pub struct Tunable {
    /// The name in files and after `--set`. In variables it is `OVERTAKE_` and the name in capitals.
    pub name: &'static str,
    /// Its meaning, without a capital and a full stop.
    pub meaning: &'static str,
    kind: ValueKind,
}

/// The kind of an option's value, with access to it.
#[derive(Debug)]
pub(crate) enum ValueKind {
    Switch(fn(&mut Options) -> &mut bool),
    Span(fn(&mut Options) -> &mut Nanos),
    Size(fn(&mut Options) -> &mut u64),
    /// At least one byte, or off.
    SizeOrOff(fn(&mut Options) -> &mut Option<u64>),
    Number(fn(&mut Options) -> &mut u32, u32, u32),
    /// From 1 on, or off.
    NumberOrOff(fn(&mut Options) -> &mut Option<u32>, u32),
    Fraction(fn(&mut Options) -> &mut f64),
    Priorities,
    Demand,
    Word {
        words: &'static str,
        get: fn(&Options) -> &'static str,
        set: fn(&mut Options, &str) -> Option<()>,
    },
}

impl Tunable {
    /// The unit of its value, if it has one.
    #[must_use]
    pub fn unit(&self) -> Option<&'static str> {
        match self.kind {
            ValueKind::Span(_) => Some("us"),
            ValueKind::Size(_) | ValueKind::SizeOrOff(_) => Some("bytes"),
            _ => None,
        }
    }

    /// The values that it takes, in words.
    #[must_use]
    pub fn expected(&self) -> String {
        match self.kind {
            ValueKind::Switch(_) => "on or off".to_owned(),
            ValueKind::Span(_) => "microseconds, at most an hour".to_owned(),
            ValueKind::Size(_) => "a size such as 64K".to_owned(),
            ValueKind::SizeOrOff(_) => "a size such as 1M, or off".to_owned(),
            ValueKind::Number(_, least, u32::MAX) => format!("a number from {least}"),
            ValueKind::Number(_, least, most) => format!("a number from {least} to {most}"),
            ValueKind::NumberOrOff(_, most) => format!("off, or a number from 1 to {most}"),
            ValueKind::Fraction(_) => "a fraction from 0 to 0.99".to_owned(),
            ValueKind::Priorities => "a number from 1 to 32".to_owned(),
            ValueKind::Demand => "a size at once and GB/s for long, such as 16M@6".to_owned(),
            ValueKind::Word { words, .. } => words.to_owned(),
        }
    }

    /// Its value, as a user would write it.
    #[must_use]
    pub fn value(&self, options: &Options) -> String {
        let on_or_off = |on| if on { "on" } else { "off" }.to_owned();
        // Access needs a mutable reference, and so a copy of the options.
        let mut copy = options.clone();
        match self.kind {
            ValueKind::Switch(place) => on_or_off(*place(&mut copy)),
            ValueKind::Span(place) => (place(&mut copy).0 as f64 / 1e3).to_string(),
            ValueKind::Size(place) => size_text(*place(&mut copy)),
            ValueKind::SizeOrOff(place) => place(&mut copy).map_or_else(|| "off".to_owned(), size_text),
            ValueKind::Number(place, ..) => place(&mut copy).to_string(),
            ValueKind::NumberOrOff(place, _) => {
                place(&mut copy).map_or_else(|| "off".to_owned(), |number| number.to_string())
            }
            ValueKind::Fraction(place) => place(&mut copy).to_string(),
            ValueKind::Priorities => options.priorities.count().to_string(),
            ValueKind::Demand => options.demand.to_string(),
            ValueKind::Word { get, .. } => get(options).to_owned(),
        }
    }

    /// Sets the option; `None` if it does not take the value.
    pub(crate) fn set(&self, options: &mut Options, value: &str) -> Option<()> {
        match self.kind {
            ValueKind::Switch(place) => put(place(options), switch(value)),
            ValueKind::Span(place) => {
                let us = value.parse().ok().filter(|us| *us <= SPAN_MAX_US);
                put(place(options), us.map(Nanos::from_us))
            }
            ValueKind::Size(place) => put(place(options), size(value)),
            ValueKind::SizeOrOff(place) if value == "off" => put(place(options), Some(None)),
            ValueKind::SizeOrOff(place) => put(place(options), size(value).filter(|bytes| *bytes > 0).map(Some)),
            ValueKind::Number(place, least, most) => {
                put(place(options), value.parse().ok().filter(|number| (least..=most).contains(number)))
            }
            ValueKind::NumberOrOff(place, _) if value == "off" => put(place(options), Some(None)),
            ValueKind::NumberOrOff(place, most) => {
                put(place(options), value.parse().ok().filter(|number| (1..=most).contains(number)).map(Some))
            }
            ValueKind::Fraction(place) => put(place(options), fraction(value)),
            ValueKind::Priorities => put(&mut options.priorities, value.parse().ok().and_then(Priorities::new)),
            ValueKind::Demand => put(&mut options.demand, DemandOptions::from_text(value)),
            ValueKind::Word { set, .. } => set(options, value),
        }
    }
}

pub(crate) fn put<T>(slot: &mut T, value: Option<T>) -> Option<()> {
    *slot = value?;
    Some(())
}

pub(crate) const fn option(name: &'static str, kind: ValueKind, meaning: &'static str) -> Tunable {
    Tunable { name, meaning, kind }
}

/// Every option.
pub const TUNABLES: &[Tunable] = &[
    option("enabled", ValueKind::Switch(|o| &mut o.enabled), "off turns everything into plain copies"),
    option("priorities", ValueKind::Priorities, "the number of priorities: 1 is bulk, the highest the most urgent"),
    option(
        "automatic",
        ValueKind::Word {
            words: "size, demand or off",
            get: |o| o.automatic.name(),
            set: |o, word| put(&mut o.automatic, Automatic::from_name(word)),
        },
        "the rule for copies to which nothing else gives a priority (drop-in and C library)",
    ),
    option(
        "bulk_bytes_min",
        ValueKind::Size(|o| &mut o.bulk_bytes_min),
        "copies of this size and more are bulk, with automatic=size",
    ),
    option(
        "demand",
        ValueKind::Demand,
        "a stream that asks for more bytes at once, or for more GB/s for long, is bulk, with automatic=demand",
    ),
    option(
        "wait_budget_us",
        ValueKind::Span(|o| &mut o.wait_budget),
        "the time that an urgent copy may wait for bulk; below 60 bulk gives way at once; from 60 on it keeps its full \
         rate, and urgent copies go by kernel beside it",
    ),
    option(
        "link_gbps",
        ValueKind::NumberOrOff(|o| &mut o.link_gbps, 10_000),
        "the rate between host and device (`overtake info --calibrate`); off: that of the link",
    ),
    option(
        "peer_gbps",
        ValueKind::NumberOrOff(|o| &mut o.peer_gbps, 10_000),
        "the rate between devices, as `overtake bench bandwidth --pairs` measures it, if copies there are to have \
         priorities; off leaves them to the driver",
    ),
    option(
        "guard_after_us",
        ValueKind::Span(|o| &mut o.guard.patience),
        "the time that a guarded copy kernel waits for a multiprocessor before the engine replaces it",
    ),
    option(
        "guard_streams_max",
        ValueKind::Number(|o| &mut o.guard.streams_max, 1, 8),
        "the number of streams with guarded copies at once; copies of others go natively",
    ),
    option(
        "rescue_after_us",
        ValueKind::Span(|o| &mut o.rescue_after),
        "the time without progress after which copies that wait for an urgent one are let go",
    ),
    option(
        "load_ahead_kernels_max",
        ValueKind::Number(|o| &mut o.load_ahead_kernels_max, 0, 65_536),
        "a module with at most this many kernels has them loaded when it arrives (drop-in)",
    ),
    option(
        "staging",
        ValueKind::Switch(|o| &mut o.staging),
        "whether several threads copy pageable memory through pinned slots, in place of the driver's one thread",
    ),
    option(
        "staging_threads",
        ValueKind::Number(|o| &mut o.staging_threads, 0, 64),
        "the number of those threads; 0 means half of the cores that the process may use, 8 at most",
    ),
    option("trace", ValueKind::Switch(|o| &mut o.trace), "whether every copy is recorded"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unlisted::UNLISTED;

    fn all() -> impl Iterator<Item = &'static Tunable> {
        TUNABLES.iter().chain(UNLISTED)
    }

    #[test]
    fn values_that_are_shown_can_be_set() {
        for tunable in all() {
            let (options, mut other) = (Options::default(), Options::default());
            let shown = tunable.value(&options);
            assert_eq!(tunable.set(&mut other, &shown), Some(()), "{} = {shown}", tunable.name);
            assert_eq!(options, other, "{}", tunable.name);
            assert_eq!(tunable.set(&mut other, "nonsense"), None, "{}", tunable.name);
            assert_eq!(options, other, "{}", tunable.name);
        }
    }

    #[test]
    fn units_are_in_the_names_and_meanings_are_sentences_without_an_end() {
        for tunable in all() {
            let is_span = tunable.name.ends_with("_us");
            assert_eq!(tunable.unit() == Some("us"), is_span, "{}", tunable.name);
            assert!(tunable.meaning.len() > 20 && !tunable.meaning.ends_with('.'), "{}", tunable.name);
        }
    }

    #[test]
    fn spans_do_not_wrap() {
        let mut options = Options::default();
        let span = TUNABLES.iter().find(|tunable| tunable.name == "wait_budget_us").expect("it is there");
        assert_eq!(span.set(&mut options, &u64::MAX.to_string()), None);
        assert_eq!(span.set(&mut options, &SPAN_MAX_US.to_string()), Some(()));
    }
}
