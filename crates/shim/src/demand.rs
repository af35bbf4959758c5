//! The rule of demand: a stream that moves little comes first, and one that keeps the link busy is bulk.
//!
//! It is a token bucket for each stream. Each copy is charged to its stream, and the charge drains at a rate that is a
//! share of the link. As long as the charge stays within one burst, the copies of the stream come first. A stream with
//! a greater charge is *busy*: its copies are bulk until the charge has drained to zero. This distinguishes a stream
//! whose copies come one at a time from one that always has more queued, whatever their sizes. The charge is bounded,
//! so a busy stream that stops comes first again a few milliseconds later.
//!
//! In any span of time, the copies of a stream that come first amount to at most one burst and the bytes that drain in
//! that span. Between two times at which a stream becomes busy, at least one burst has drained, so decisions do not
//! oscillate from copy to copy.

use std::sync::atomic::{AtomicU64, Ordering};

use hal::Nanos;

use crate::tally::Tally;

/// The greatest charge, in bursts. It is the longest that a busy stream is remembered.
const BURSTS_MAX: u64 = 4;

/// One copy is charged for at most this: 4 GiB fill every burst that the charge has room for.
const BYTES_MAX: u64 = (1 << 32) - (1 << 10);

/// A greater rate drains every charge in a microsecond, and so does this one.
const DRAINED_BYTES_PER_US_MAX: u64 = BURSTS_MAX << 32;

/// The demand up to which a stream comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    burst_kib: u64,
    charge_kib_max: u64,
    /// The KiB that drain in 2^39 us: then the upper half of one product has those of a span.
    drained_kib: u64,
}

impl Rule {
    /// The rule of these options.
    #[must_use]
    pub fn new(options: copies::options::DemandOptions) -> Rule {
        let burst_kib = options.burst_bytes.min(BYTES_MAX).div_ceil(1 << 10);
        let drained_bytes_per_us = (u64::from(options.gbps) * 1_000).min(DRAINED_BYTES_PER_US_MAX);
        let drained_kib = drained_bytes_per_us << (64 - TIME_SHIFT - 10);
        Rule { burst_kib, charge_kib_max: BURSTS_MAX * burst_kib, drained_kib }
    }

    /// The KiB that drain in a span.
    fn drained_kib(self, span: Span) -> u64 {
        ((u128::from(self.drained_kib) * u128::from(span.0)) >> 64) as u64
    }
}

/// The rank of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rank {
    /// Its stream moves little.
    First,
    /// Its stream is busy.
    Bulk,
}

/// The charge of one stream.
#[derive(Debug, Default)]
pub struct Meter {
    state: AtomicU64,
}

/// The parts of the one word, from its low end: the charge in KiB, whether the stream is busy, and the time of the last
/// copy in us.
#[derive(Clone, Copy, Debug, Default)]
struct Charge(u64);

/// Four bursts of 4 GiB.
const KIB_BITS: u32 = 24;
const KIB_MASK: u64 = (1 << KIB_BITS) - 1;
const BUSY: u64 = 1 << KIB_BITS;
/// The bits above have room for six days, half of them ahead of each time: a stream that sleeps for longer than that
/// may count as one that has slept for less.
const TIME_SHIFT: u32 = KIB_BITS + 1;
const TIME_MASK: u64 = u64::MAX << TIME_SHIFT;

/// A time in the place that it has in a charge.
#[derive(Clone, Copy)]
struct Time(u64);

impl Time {
    #[inline]
    fn at(now: Nanos) -> Time {
        Time((now.0 / 1_000) << TIME_SHIFT)
    }
}

/// A span of time in the place of a time: at most three days.
#[derive(Clone, Copy)]
struct Span(u64);

impl Charge {
    fn is_busy(self) -> bool {
        self.0 & BUSY != 0
    }

    /// The rank of a copy that has just been charged.
    fn rank(self) -> Rank {
        if self.is_busy() { Rank::Bulk } else { Rank::First }
    }

    /// The time since the last copy. A thread may have read its time before another one charged the stream at a later
    /// time: then none.
    fn until(self, now: Time) -> Span {
        Span(now.0.wrapping_sub(self.0 & TIME_MASK).cast_signed().max(0).cast_unsigned())
    }

    /// The charge after a copy.
    #[inline]
    fn with(self, rule: Rule, now: Time, kib: u64) -> Charge {
        let span = self.until(now);
        let left_kib = (self.0 & KIB_MASK).saturating_sub(rule.drained_kib(span));
        let charged_kib = left_kib + kib;
        let is_busy = (self.is_busy() && left_kib > 0) || charged_kib > rule.burst_kib;
        let time = (self.0 & TIME_MASK).wrapping_add(span.0);
        Charge(time | u64::from(is_busy) << KIB_BITS | charged_kib.min(rule.charge_kib_max))
    }
}

impl Meter {
    /// Charges the stream for a copy, and ranks the copy. It makes no system call, waits for nothing, and may be called
    /// by several threads at once.
    #[inline(always)] // each copy pays for it
    pub fn charge(&self, rule: Rule, now: Nanos, bytes: u64) -> Rank {
        let (now, kib) = (Time::at(now), bytes.min(BYTES_MAX).div_ceil(1 << 10));
        let mut word = self.state.load(Ordering::Relaxed);
        loop {
            let after = Charge(word).with(rule, now, kib);
            // The word orders nothing else.
            match self.state.compare_exchange_weak(word, after.0, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return after.rank(),
                Err(other) => word = other,
            }
        }
    }

    /// The rank that a copy of no bytes would have now. It charges nothing.
    #[must_use]
    pub fn rank(&self, rule: Rule, now: Nanos) -> Rank {
        Charge(self.state.load(Ordering::Relaxed)).with(rule, Time::at(now), 0).rank()
    }

    /// Forgets the stream's past: its handle now means another stream.
    pub fn renew(&self) {
        self.state.store(0, Ordering::Relaxed);
    }
}

/// The copies that the rule has ranked, and the waits that lifted some of them.
#[derive(Debug, Default)]
pub(crate) struct Ranked {
    first: Tally,
    bulk: Tally,
    pub(crate) waits: AtomicU64,
}

impl Ranked {
    /// The copies of a rank.
    pub(crate) fn of(&self, rank: Rank) -> &Tally {
        match rank {
            Rank::First => &self.first,
            Rank::Bulk => &self.bulk,
        }
    }
}

#[cfg(test)]
mod tests {
    use copies::options::DemandOptions;
    use proptest::prelude::*;

    use super::*;

    const MIB: u64 = 1 << 20;
    /// A burst of 8 MiB, and 5 GB/s.
    const BURST_BYTES: u64 = 8 * MIB;
    const BYTES_PER_US: u64 = 5_000;

    fn rule() -> Rule {
        Rule::new(DemandOptions { burst_bytes: BURST_BYTES, gbps: 5 })
    }

    /// The ranks of copies, each with the time since the one before it in microseconds, and its bytes.
    fn ranks(copies: &[(u64, u64)]) -> Vec<Rank> {
        let (meter, mut now_us) = (Meter::default(), 0);
        let rank = |&(later_us, bytes): &(u64, u64)| {
            now_us += later_us;
            meter.charge(rule(), Nanos::from_us(now_us), bytes)
        };
        copies.iter().map(rank).collect()
    }

    fn bulk(ranks: &[Rank]) -> usize {
        ranks.iter().filter(|rank| **rank == Rank::Bulk).count()
    }

    #[test]
    fn frames_come_first_however_large_they_are_beside_a_loader_s_copies() {
        let frames = ranks(&[(16_667, 3_110_400); 600]);
        assert_eq!(bulk(&frames), 0, "3 MB frames, 60 in a second");
        let loader = ranks(&[(10, 512 << 10); 600]);
        let first = loader.iter().position(|rank| *rank == Rank::Bulk);
        assert_eq!(first, Some(17), "512 KiB every 10 us fill the burst of 8 MiB, less the drained");
        assert_eq!(bulk(&loader), 600 - 17, "a busy stream stays busy");
    }

    #[test]
    fn one_copy_above_a_burst_is_bulk() {
        assert_eq!(ranks(&[(0, BURST_BYTES), (0, 1)]), [Rank::First, Rank::Bulk]);
        assert_eq!(ranks(&[(0, 256 * MIB)]), [Rank::Bulk]);
        assert_eq!(ranks(&[(0, u64::MAX)]), [Rank::Bulk]);
    }

    #[test]
    fn a_busy_stream_comes_first_again_when_its_charge_has_drained() {
        let drained_us = (4 * BURST_BYTES).div_ceil(BYTES_PER_US);
        assert_eq!(ranks(&[(0, 1 << 40), (drained_us - 1, 1)]), [Rank::Bulk; 2]);
        assert_eq!(ranks(&[(0, 1 << 40), (drained_us, 1)]), [Rank::Bulk, Rank::First]);
    }

    #[test]
    fn a_late_thread_does_not_turn_the_time_back() {
        let meter = Meter::default();
        let charge = |us, bytes| meter.charge(rule(), Nanos::from_us(us), bytes);
        assert_eq!(charge(10_000, BURST_BYTES), Rank::First);
        assert_eq!(charge(9_000, 1 << 10), Rank::Bulk, "nothing has drained since a later time");
        assert_eq!(charge(10_700, 1 << 10), Rank::Bulk, "700 us drain 3 MiB, and 1700 us would drain all");
    }

    #[test]
    fn another_stream_of_the_same_handle_has_no_past() {
        let meter = Meter::default();
        assert_eq!(meter.charge(rule(), Nanos(0), 1 << 40), Rank::Bulk);
        meter.renew();
        assert_eq!(meter.charge(rule(), Nanos(0), 1 << 10), Rank::First);
    }

    /// No copy is lost from the charge when several threads charge at once.
    #[test]
    fn threads_share_one_charge() {
        let meter = Meter::default();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..512).for_each(|_| assert_eq!(meter.charge(rule(), Nanos(0), 4 << 10), Rank::First)));
            }
        });
        assert_eq!(meter.charge(rule(), Nanos(0), 1), Rank::Bulk, "4 x 512 x 4 KiB are exactly one burst");
    }

    /// The rule in numbers that have room for everything, each part by itself.
    struct Plain {
        options: DemandOptions,
        kib: u128,
        is_busy: bool,
        at_us: u64,
    }

    impl Plain {
        fn charge(&mut self, now_us: u64, bytes: u64) -> Rank {
            let kib = |bytes: u64| u128::from(bytes.div_ceil(1 << 10).min((1 << 22) - 1));
            let (burst_kib, elapsed_us) = (kib(self.options.burst_bytes), now_us.saturating_sub(self.at_us));
            let drained_kib = u128::from(self.options.gbps) * 1_000 * u128::from(elapsed_us) / 1_024;
            let left_kib = self.kib.saturating_sub(drained_kib);
            let charged_kib = left_kib + kib(bytes);
            self.is_busy = (self.is_busy && left_kib > 0) || charged_kib > burst_kib;
            (self.kib, self.at_us) = (charged_kib.min(4 * burst_kib), self.at_us.max(now_us));
            if self.is_busy { Rank::Bulk } else { Rank::First }
        }
    }

    /// Copies of threads that may be late, with the time from one to the next, and their bytes.
    fn asked() -> impl Strategy<Value = Vec<(i64, u64)>> {
        let later_us = prop_oneof![Just(0), -300..300_i64, 0..20_000_i64, Just(1 << 37)];
        let bytes = prop_oneof![0..8_192_u64, 0..64 * MIB, any::<u64>()];
        proptest::collection::vec((later_us, bytes), 1..100)
    }

    fn options() -> impl Strategy<Value = DemandOptions> {
        let burst_bytes = prop_oneof![0..4_096_u64, 0..64 * MIB, any::<u64>()];
        // The last rate is just above a multiple of 2^35 bytes in a microsecond: the lower bits alone are a low rate.
        let gbps = prop_oneof![0..8_u32, 0..1_000_u32, any::<u32>(), Just(34_359_739)];
        (burst_bytes, gbps).prop_map(|(burst_bytes, gbps)| DemandOptions { burst_bytes, gbps })
    }

    fn traffic() -> impl Strategy<Value = Vec<(u64, u64)>> {
        let later_us = prop_oneof![Just(0), 0..20_u64, 0..2_000_u64, Just(20_000)];
        let kib = prop_oneof![1..64_u64, 1..2_048_u64, 1..300_000_u64];
        proptest::collection::vec((later_us, kib.prop_map(|kib| kib << 10)), 1..300)
    }

    /// The times of copies, and their bytes if they come first.
    fn first(copies: &[(u64, u64)]) -> Vec<(u64, u64)> {
        let mut now_us = 0;
        let at = copies.iter().zip(ranks(copies)).map(|(&(later_us, bytes), rank)| {
            now_us += later_us;
            (now_us, if rank == Rank::First { bytes } else { 0 })
        });
        at.collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// One word and one product decide as the parts do, with the greatest options and after the longest sleeps.
        #[test]
        fn the_word_keeps_the_rule(options in options(), copies in asked()) {
            let (meter, mut plain) = (Meter::default(), Plain { options, kib: 0, is_busy: false, at_us: 0 });
            let mut now_us = 0_u64;
            for (later_us, bytes) in copies {
                now_us = now_us.saturating_add_signed(later_us);
                let rank = meter.charge(Rule::new(options), Nanos::from_us(now_us), bytes);
                prop_assert_eq!(rank, plain.charge(now_us, bytes));
                prop_assert_eq!(u128::from(meter.state.load(Ordering::Relaxed) & KIB_MASK), plain.kib);
            }
        }

        /// No starvation: in no span do more bytes of a stream come first than a burst and the drained.
        #[test]
        fn bulk_keeps_the_rest_of_the_link(copies in traffic()) {
            let first = first(&copies);
            for (begin, &(since_us, _)) in first.iter().enumerate() {
                let mut bytes = 0;
                for &(now_us, more) in &first[begin..] {
                    bytes += more;
                    prop_assert!(bytes <= BURST_BYTES + BYTES_PER_US * (now_us - since_us));
                }
            }
        }

        /// No oscillation: each time that the stream becomes busy, a burst has drained since the time before.
        #[test]
        fn the_rank_changes_at_most_once_a_burst(copies in traffic()) {
            let ranks = ranks(&copies);
            let span_us: u64 = copies.iter().map(|&(later_us, _)| later_us).sum();
            let changes = ranks.windows(2).filter(|pair| pair == &[Rank::First, Rank::Bulk]).count() as u64;
            prop_assert!(changes <= 1 + BYTES_PER_US * span_us / BURST_BYTES);
        }

        /// Order of ranks: a stream that asks for less than another, copy by copy, never ranks below it.
        #[test]
        fn less_demand_never_ranks_lower(copies in traffic(), parts in proptest::collection::vec(0..=8_u64, 300)) {
            let less: Vec<(u64, u64)> =
                copies.iter().zip(parts).map(|(&(later_us, bytes), part)| (later_us, bytes / 8 * part)).collect();
            for (less, more) in ranks(&less).into_iter().zip(ranks(&copies)) {
                prop_assert!(less == Rank::First || more == Rank::Bulk);
            }
        }

        /// A look finds a stream busy only where its next copy is bulk, and a quiet stream stays quiet without copies.
        /// A look changes no rank.
        #[test]
        fn a_look_at_the_rank_agrees_with_the_next_copy(
            copies in traffic(),
            looks_us in proptest::collection::vec(0..20_000_u64, 300),
        ) {
            let (looked, left_alone, mut now_us) = (Meter::default(), Meter::default(), 0);
            for (&(later_us, bytes), look_us) in copies.iter().zip(looks_us) {
                let early = looked.rank(rule(), Nanos::from_us(now_us + look_us % (later_us + 1)));
                now_us += later_us;
                let now = Nanos::from_us(now_us);
                let look = looked.rank(rule(), now);
                prop_assert!(early == Rank::Bulk || look == Rank::First);
                let [rank, same] = [&looked, &left_alone].map(|meter| meter.charge(rule(), now, bytes));
                prop_assert_eq!(rank, same);
                prop_assert!(look == Rank::First || rank == Rank::Bulk);
            }
        }

        /// A stream within its burst and its rate always comes first.
        #[test]
        fn a_modest_stream_is_never_bulk(pace in proptest::collection::vec((1..1_600_u64, 0..=8_u64), 1..200)) {
            // Each copy is at most a burst, and at most the drained of the time before it.
            let bytes = |later_us: u64, part: u64| (later_us * BYTES_PER_US * part / 8) >> 10 << 10;
            let copies: Vec<(u64, u64)> =
                pace.iter().map(|&(later_us, part)| (later_us, bytes(later_us, part))).collect();
            prop_assert_eq!(bulk(&ranks(&copies)), 0);
        }
    }
}
