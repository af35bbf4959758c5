//! The one table of options.

use hal::Nanos;
use semaphores::Kind as Emulation;
use terms::Priorities;

use crate::settings::{Automatic, Options, Transport, UrgentTransport};
use crate::words::{fraction, size, size_text, switch};
use crate::workers::BLOCK_WARPS_MAX;

/// A longer span is taken for a mistake.
const SPAN_MAX_US: u64 = 3_600_000_000;

/// An option.
#[derive(Debug)]
pub struct Tunable {
    /// The name in files and after `--set`. In variables it is `OVERTAKE_` and the name in capitals.
    pub name: &'static str,
    /// Its meaning, without a capital and a full stop.
    pub meaning: &'static str,
    kind: Kind,
}

/// The kind of an option's value, with access to it.
#[derive(Debug)]
enum Kind {
    Switch(fn(&mut Options) -> &mut bool),
    Span(fn(&mut Options) -> &mut Nanos),
    Size(fn(&mut Options) -> &mut u64),
    /// At least one byte, or off.
    SizeOrOff(fn(&mut Options) -> &mut Option<u64>),
    Number(fn(&mut Options) -> &mut u32, u32, u32),
    Fraction(fn(&mut Options) -> &mut f64),
    Priorities,
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
            Kind::Span(_) => Some("us"),
            Kind::Size(_) | Kind::SizeOrOff(_) => Some("bytes"),
            _ => None,
        }
    }

    /// The values that it takes, in words.
    #[must_use]
    pub fn expected(&self) -> String {
        match self.kind {
            Kind::Switch(_) => "on or off".to_owned(),
            Kind::Span(_) => "microseconds, at most an hour".to_owned(),
            Kind::Size(_) => "a size such as 64K".to_owned(),
            Kind::SizeOrOff(_) => "a size such as 1M, or off".to_owned(),
            Kind::Number(_, least, u32::MAX) => format!("a number from {least}"),
            Kind::Number(_, least, most) => format!("a number from {least} to {most}"),
            Kind::Fraction(_) => "a fraction from 0 to 0.99".to_owned(),
            Kind::Priorities => "a number from 1 to 32".to_owned(),
            Kind::Word { words, .. } => words.to_owned(),
        }
    }

    /// Its value, as a user would write it.
    #[must_use]
    pub fn value(&self, options: &Options) -> String {
        let on_or_off = |on| if on { "on" } else { "off" }.to_owned();
        // Access needs a mutable reference, and so a copy of the options.
        let mut copy = options.clone();
        match self.kind {
            Kind::Switch(place) => on_or_off(*place(&mut copy)),
            Kind::Span(place) => (place(&mut copy).0 as f64 / 1e3).to_string(),
            Kind::Size(place) => size_text(*place(&mut copy)),
            Kind::SizeOrOff(place) => place(&mut copy).map_or_else(|| "off".to_owned(), size_text),
            Kind::Number(place, ..) => place(&mut copy).to_string(),
            Kind::Fraction(place) => place(&mut copy).to_string(),
            Kind::Priorities => options.priorities.count().to_string(),
            Kind::Word { get, .. } => get(options).to_owned(),
        }
    }

    /// Sets the option; `None` if it does not take the value.
    pub(crate) fn set(&self, options: &mut Options, value: &str) -> Option<()> {
        match self.kind {
            Kind::Switch(place) => put(place(options), switch(value)),
            Kind::Span(place) => {
                let us = value.parse().ok().filter(|us| *us <= SPAN_MAX_US);
                put(place(options), us.map(Nanos::from_us))
            }
            Kind::Size(place) => put(place(options), size(value)),
            Kind::SizeOrOff(place) if value == "off" => put(place(options), Some(None)),
            Kind::SizeOrOff(place) => put(place(options), size(value).filter(|bytes| *bytes > 0).map(Some)),
            Kind::Number(place, least, most) => {
                put(place(options), value.parse().ok().filter(|number| (least..=most).contains(number)))
            }
            Kind::Fraction(place) => put(place(options), fraction(value)),
            Kind::Priorities => put(&mut options.priorities, value.parse().ok().and_then(Priorities::new)),
            Kind::Word { set, .. } => set(options, value),
        }
    }
}

fn put<T>(slot: &mut T, value: Option<T>) -> Option<()> {
    *slot = value?;
    Some(())
}

const fn option(name: &'static str, kind: Kind, meaning: &'static str) -> Tunable {
    Tunable { name, meaning, kind }
}

const TRANSPORTS: &str = "auto, engine, kernel or native";

/// Every option.
pub const TUNABLES: &[Tunable] = &[
    option("enabled", Kind::Switch(|o| &mut o.enabled), "off turns everything into plain copies"),
    option("priorities", Kind::Priorities, "the number of priorities: 1 is bulk, the highest the most urgent"),
    option(
        "automatic",
        Kind::Word {
            words: "size, demand or off",
            get: |o| o.automatic.name(),
            set: |o, word| put(&mut o.automatic, Automatic::from_name(word)),
        },
        "the rule for copies to which nothing else gives a priority (drop-in and C library)",
    ),
    option(
        "bulk_bytes_min",
        Kind::Size(|o| &mut o.bulk_bytes_min),
        "copies of this size and more are bulk, with automatic=size",
    ),
    option(
        "demand_burst_bytes",
        Kind::Size(|o| &mut o.demand.burst_bytes),
        "a stream that asks for more bytes at once is bulk, with automatic=demand",
    ),
    option(
        "demand_gbps",
        Kind::Number(|o| &mut o.demand.gbps, 1, 1000),
        "a stream that asks for more GB/s for long is bulk, with automatic=demand",
    ),
    option(
        "max_blocking_us",
        Kind::Span(|o| &mut o.blocking_max),
        "the longest time that one chunk may keep the engine busy, and an urgent copy waiting",
    ),
    option(
        "gate_bytes_min",
        Kind::Size(|o| &mut o.gate_bytes_min),
        "smaller copies are never held up: one of them delays an urgent copy by a few microseconds at most",
    ),
    option(
        "transport",
        Kind::Word {
            words: TRANSPORTS,
            get: |o| o.transport.name(),
            set: |o, word| put(&mut o.transport, Transport::from_name(word)),
        },
        "the hardware that moves copies that may have to wait",
    ),
    option(
        "urgent_transport",
        Kind::Word {
            words: "engine or kernel",
            get: |o| o.urgent_transport.name(),
            set: |o, word| put(&mut o.urgent_transport, UrgentTransport::from_name(word)),
        },
        "the hardware that moves urgent copies",
    ),
    option(
        "emulation",
        Kind::Word {
            words: "hold, bracket or atomics",
            get: |o| o.emulation.name(),
            set: |o, word| put(&mut o.emulation, Emulation::from_name(word)),
        },
        "the operations by which copies on the engine count and wait",
    ),
    option("channels", Kind::Switch(|o| &mut o.channels), "whether copies may wait in streams of overtake's own"),
    option(
        "kernel_bytes_min",
        Kind::Size(|o| &mut o.kernel_bytes_min),
        "smaller bulk copies go by engine rather than by kernel",
    ),
    option(
        "kernel_blocks_h2d",
        Kind::Number(|o| &mut o.kernel_h2d.blocks, 1, 64),
        "blocks of a copy kernel to the device",
    ),
    option(
        "kernel_blocks_d2h",
        Kind::Number(|o| &mut o.kernel_d2h.blocks, 1, 64),
        "blocks of a copy kernel to the host",
    ),
    option(
        "kernel_warps_h2d",
        Kind::Number(|o| &mut o.kernel_h2d.warps, 1, BLOCK_WARPS_MAX),
        "warps of such a block to the device: more bandwidth, and longer waits for urgent copies",
    ),
    option(
        "kernel_warps_d2h",
        Kind::Number(|o| &mut o.kernel_d2h.warps, 1, BLOCK_WARPS_MAX),
        "the same of a block to the host",
    ),
    option(
        "peer_transport",
        Kind::Word {
            words: TRANSPORTS,
            get: |o| o.peer.transport.name(),
            set: |o, word| put(&mut o.peer.transport, Transport::from_name(word)),
        },
        "the hardware that moves copies between devices that may have to wait; native leaves all of them to the driver",
    ),
    option(
        "peer_gbps",
        Kind::Number(|o| &mut o.peer.gbps, 1, 10_000),
        "the rate between devices in GB/s, as `overtake bench bandwidth --pairs` measures it: chunks follow from it",
    ),
    option(
        "peer_blocks",
        Kind::Number(|o| &mut o.peer.workers.blocks, 1, 64),
        "blocks of a copy kernel between devices",
    ),
    option(
        "peer_warps",
        Kind::Number(|o| &mut o.peer.workers.warps, 1, BLOCK_WARPS_MAX),
        "warps of such a block between devices",
    ),
    option(
        "on_device_transport",
        Kind::Word {
            words: TRANSPORTS,
            get: |o| o.on_device.transport.name(),
            set: |o, word| put(&mut o.on_device.transport, Transport::from_name(word)),
        },
        "the hardware that moves copies on one device that may have to wait; native leaves all of them to the driver",
    ),
    option(
        "on_device_gbps",
        Kind::Number(|o| &mut o.on_device.gbps, 1, 100_000),
        "the rate of copies on one device in GB/s: chunks follow from it",
    ),
    option(
        "on_device_blocks",
        Kind::Number(|o| &mut o.on_device.workers.blocks, 1, 64),
        "blocks of a copy kernel on one device",
    ),
    option(
        "on_device_warps",
        Kind::Number(|o| &mut o.on_device.workers.warps, 1, BLOCK_WARPS_MAX),
        "warps of such a block on one device",
    ),
    option(
        "kernel_wait_max_us",
        Kind::Span(|o| &mut o.kernel_wait_max),
        "the longest time that the warps of one copy kernel wait, all waits together",
    ),
    option(
        "guard_bytes_min",
        Kind::SizeOrOff(|o| &mut o.guard_bytes_min),
        "bulk of this size and more goes by guarded kernel, which the copy engine replaces where it cannot begin; off \
         leaves copy kernels unguarded",
    ),
    option(
        "guard_after_us",
        Kind::Span(|o| &mut o.guard.patience),
        "the time that a guarded copy kernel waits for a multiprocessor before the engine replaces it",
    ),
    option(
        "guard_streams_max",
        Kind::Number(|o| &mut o.guard.streams_max, 1, 8),
        "the number of streams with guarded copies at once; copies of others go natively",
    ),
    option(
        "calm_after_us",
        Kind::Span(|o| &mut o.calm.after),
        "the time without an urgent copy after which bulk by kernel goes natively instead",
    ),
    option(
        "calm_bytes_max",
        Kind::SizeOrOff(|o| &mut o.calm.bytes_max),
        "the largest bulk copy that goes natively then, and that an urgent one may wait for; off: none does",
    ),
    option("lull", Kind::Switch(|o| &mut o.lull), "whether urgent copies go natively while no bulk is under way"),
    option(
        "load_ahead_kernels_max",
        Kind::Number(|o| &mut o.load_ahead_kernels_max, 0, 65_536),
        "a module with at most this many kernels has them loaded when it arrives (drop-in)",
    ),
    option(
        "load_first_kernels_max",
        Kind::Number(|o| &mut o.load_first_kernels_max, 0, 65_536),
        "the same for a library that arrives before the program's first launch (drop-in)",
    ),
    option(
        "bulk_share",
        Kind::Fraction(|o| &mut o.share.share),
        "the share of time that bulk gets under endless urgent copies",
    ),
    option("bulk_slice_us", Kind::Span(|o| &mut o.share.slice), "the length of the slices of that share"),
    option(
        "staging",
        Kind::Switch(|o| &mut o.staging),
        "whether several threads copy pageable memory through pinned slots, in place of the driver's one thread",
    ),
    option(
        "staging_bytes_min",
        Kind::Size(|o| &mut o.staging_bytes_min),
        "smaller pageable copies go by the driver; 0: below 2 MiB to the device, 1 to the host",
    ),
    option(
        "staging_threads",
        Kind::Number(|o| &mut o.staging_threads, 0, 64),
        "the number of those threads; 0 means half of the cores that the process may use, 8 at most",
    ),
    option(
        "staging_slots",
        Kind::Number(|o| &mut o.staging_slots, 0, 1024),
        "the number of slots of 1 MiB for each direction; 0 means four for each thread and four more",
    ),
    option(
        "rescue_after_us",
        Kind::Span(|o| &mut o.patience.rescue_after),
        "the time without progress after which waiting copies are let go",
    ),
    option(
        "rescues_max",
        Kind::Number(|o| &mut o.patience.rescues_max, 0, u32::MAX),
        "the number of rescues after which overtake stands down to plain copies for a while",
    ),
    option(
        "ticket_every",
        Kind::Number(|o| &mut o.ticket_every, 1, 1000),
        "one in so many urgent copies of a stream is watched to its end; the others are estimated",
    ),
    option(
        "watcher_awake_us",
        Kind::Span(|o| &mut o.watcher_awake),
        "the time after an urgent copy in which the watcher keeps a processor busy",
    ),
    option(
        "watcher_nap_us",
        Kind::Span(|o| &mut o.watcher_nap),
        "the time between its looks otherwise, and so the time that a word may stay up too long",
    ),
    option("trace", Kind::Switch(|o| &mut o.trace), "whether every copy is recorded"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_are_shown_can_be_set() {
        for tunable in TUNABLES {
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
        for tunable in TUNABLES {
            let is_span = tunable.name.ends_with("_us");
            assert_eq!(tunable.unit() == Some("us"), is_span, "{}", tunable.name);
            assert!(tunable.meaning.len() > 20 && !tunable.meaning.ends_with('.'), "{}", tunable.name);
        }
    }

    #[test]
    fn spans_do_not_wrap() {
        let mut options = Options::default();
        let span = TUNABLES.iter().find(|tunable| tunable.name == "bulk_slice_us").expect("it is there");
        assert_eq!(span.set(&mut options, &u64::MAX.to_string()), None);
        assert_eq!(span.set(&mut options, &SPAN_MAX_US.to_string()), Some(()));
    }
}
