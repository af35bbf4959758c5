//! Bulk beside copies that tolerate a wait.

use hal::Nanos;

use super::*;

/// All copies to come above the copy tolerate a wait that is long enough for chunks, and not for all of the copy.
pub(super) fn in_chunks() -> Budget {
    Budget { stated: Nanos::from_us(150), cost: Nanos::from_us(151), queues: 16, ..Budget::default() }
}

/// They tolerate the wait for all of it.
pub(super) fn whole() -> Budget {
    Budget { cost: Nanos::from_us(150), ..in_chunks() }
}

pub(super) fn turns() -> impl Strategy<Value = Budget> {
    prop::sample::select(vec![Budget::default(), in_chunks(), whole()])
}

fn chunked(_: &mut Options, k: &mut Known<'_>) {
    k.budget = Some(in_chunks());
}

fn tolerated(_: &mut Options, k: &mut Known<'_>) {
    k.budget = Some(whole());
}

const KERNEL: Plan = Plan::Kernel { raises: false };
const CHUNKS: Plan = Plan::Engine { raises: false };
const WHOLE: Decision = Spend(Spent::Stated);
const REFUSED: Plan = Plan::Native(Reason::WithinBudget);

#[test]
fn bulk_that_would_go_by_kernel_goes_in_chunks() {
    assert_eq!(plan(chunked, 64 * MIB, 1), CHUNKS);
    assert_eq!(plan(chunked, 64 * MIB, 3), Plan::Engine { raises: true }, "others yield to it");
    assert_eq!(plan(|_, k| k.budget = Some(Budget::default()), 64 * MIB, 1), KERNEL);
    assert_eq!(
        plan(|o, k| (chunked(o, k), o.profile.channels = false).1, 64 * MIB, 1),
        KERNEL,
        "there are no channels"
    );
    let by_kernel = |o: &mut Options, k: &mut Known<'_>| (chunked(o, k), o.profile.transport = Transport::Kernel).1;
    assert_eq!(plan(by_kernel, 64 * MIB, 1), KERNEL, "the user asked for that");
    assert_eq!(plan(|o, k| (chunked(o, k), k.is_served = true).1, 16 << 10, 1), KERNEL, "a batch of the service");
    let occupied = |o: &mut Options, k: &mut Known<'_>| {
        chunked(o, k);
        k.setback = Some((CHUNKS, Setback::Occupied));
    };
    assert_eq!(plan(occupied, 64 * MIB, 1), KERNEL, "another stream has the channel");
    let short = |blocking_us| {
        move |o: &mut Options, k: &mut Known<'_>| (chunked(o, k), o.profile.chunk_max = Nanos::from_us(blocking_us)).1
    };
    assert_eq!([74, 75].map(|us| plan(short(us), 64 * MIB, 1)), [CHUNKS, KERNEL], "chunks would be no longer");
}

#[test]
fn bulk_that_all_tolerate_in_its_turn_goes_as_it_is() {
    assert_eq!(decided(tolerated, 4 * MIB, 1), WHOLE);
    assert_eq!(
        decided(|o, k| (tolerated(o, k), k.is_within = None).1, 4 * MIB, 1),
        WHOLE,
        "the driver judges its range"
    );
    assert_eq!(decided(|o, k| (tolerated(o, k), k.is_kernel_there = false).1, 4 * MIB, 1), WHOLE);
    assert_eq!(decided(tolerated, 128 << 10, 1), WHOLE, "too small for a kernel");
    assert_eq!(plan(tolerated, 32 << 10, 1), Plan::Native(Reason::WithinBudget));
    assert_eq!(plan(tolerated, 4 * MIB, 3), Plan::Engine { raises: true }, "in its turn it would pass no other");
    assert_eq!(decided(|o, k| (tolerated(o, k), o.profile.channels = false).1, 4 * MIB, 1), WHOLE, "it needs none");
    for transport in [Transport::Kernel, Transport::Engine] {
        let asked = plan(|o, k| (tolerated(o, k), o.profile.transport = transport).1, 4 * MIB, 1);
        assert_eq!(asked, if transport == Transport::Kernel { KERNEL } else { CHUNKS }, "the user asked for that");
    }
    assert_eq!(plan(|o, k| (tolerated(o, k), k.is_served = true).1, 16 << 10, 1), KERNEL, "a batch of the service");
    let emulated = |o: &mut Options| o.profile = Profile::emulating(EmulationKind::Bracket);
    let bracketed = plan(|o, k| (tolerated(o, k), emulated(o)).1, 4 * MIB, 1);
    assert_eq!(bracketed, CHUNKS, "urgent copies go through channels");
    let rows = Shape { rows: 2, ..linear(MIB).shape };
    let (options, request) = (Options::default(), Request { shape: rows, ..linear(0) });
    assert_eq!(plan_of(&Known { budget: Some(whole()), ..known(&options, &request) }), CHUNKS, "rows take longer");
    let batch = [linear(MIB), linear(MIB)];
    let (cargo, is_together) = (Cargo::Batch(&batch), Some(true));
    let known = Known { cargo, is_together, budget: Some(whole()), ..known(&options, &batch[0]) };
    assert_eq!(plan_of(&known), CHUNKS, "no word stands between the copies of a batch");
}

#[test]
fn a_turn_that_another_thread_has_taken_leads_to_the_other_ways() {
    let refused = |budget: Budget| {
        move |_: &mut Options, k: &mut Known<'_>| {
            (k.budget, k.setback) = (Some(budget), Some((REFUSED, Setback::Occupied)));
        }
    };
    assert_eq!(plan(refused(whole()), 4 * MIB, 1), CHUNKS);
    let short = Budget { stated: Nanos::from_us(50), cost: Nanos::from_us(50), ..whole() };
    assert_eq!(plan(refused(short), MIB, 1), KERNEL, "chunks would be no longer than they are without a tolerance");
    let after = |setback| plan(move |_, k| k.setback = Some((REFUSED, setback)), 4 * MIB, 1);
    assert_eq!(after(Setback::RingFull), Plan::Native(Reason::Occupied));
    let known = known(&OPTIONS, &REQUEST);
    let tracked = [Some(Spent::Stated), Some(Spent::Idle), None].map(|spent| is_tracked(&known, REFUSED, spent));
    assert_eq!(tracked, [true, false, false]);
}

static OPTIONS: LazyLock<Options> = LazyLock::new(Options::default);
static REQUEST: LazyLock<Request> = LazyLock::new(|| linear(4 * MIB));

/// The copies and the streams before an urgent one: of one stream its copy, and of several each one's, and one.
#[test]
fn the_wait_is_that_of_a_turn_of_each_stream() {
    let us = |whole: u64, others: Others| {
        let fits = |tolerated: u64| Budget { cost: Nanos(whole), stated: Nanos(tolerated), others, ..whole_of(16) };
        (1..2_000).find(|tolerated| fits(*tolerated).admits_whole()).unwrap()
    };
    let others = |streams, longest| Others { streams, longest: Nanos(longest), ..Others::default() };
    assert_eq!(us(100, Others::default()), 100);
    assert_eq!([1, 2, 3].map(|streams| us(100, others(streams, 100))), [300, 400, 500]);
    assert_eq!([50, 150].map(|longest| us(100, others(1, longest))), [300, 450], "the longest counts");
    assert!(!Budget::default().admits_whole() && !Budget { cost: Nanos(1), ..Budget::default() }.admits_whole());
    assert!(!Budget { cost: Nanos::MAX, stated: Nanos::MAX - Nanos(1), ..whole_of(16) }.admits_whole());
}

fn whole_of(queues: u64) -> Budget {
    Budget { queues, ..whole() }
}

/// A copy that shares a queue with bulk stands behind all of it.
#[test]
fn each_stream_has_a_queue_and_one_is_left() {
    let least = |budget: Budget| (1..20).find(|queues| Budget { queues: *queues, ..budget }.admits_whole()).unwrap();
    let small = Budget { cost: Nanos(1), ..whole() };
    assert_eq!(least(small), 2, "its own, and one");
    assert_eq!(least(Budget { urgent_streams: 8, ..small }), 10);
    assert_eq!(least(Budget { channels: 3, ..small }), 5);
    assert_eq!(least(Budget { others: Others { streams: 2, ..Others::default() }, ..small }), 4);
}

#[test]
fn chunks_take_their_share_beside_whole_copies() {
    let none = Nanos::ZERO;
    let chunk = |budget: Budget| budget.chunk(Nanos::from_us(45)).0;
    assert_eq!(
        [0, 1, 2, 3].map(|channels| chunk(Budget { channels, ..in_chunks() })),
        [75_000, 75_000, 50_000, 37_500]
    );
    let beside = |whole_streams, longest_whole| {
        let others = Others { streams: whole_streams, whole_streams, longest_whole, longest: longest_whole };
        Budget { others, channels: 1, ..in_chunks() }
    };
    assert_eq!(chunk(beside(1, Nanos(1))), 50_000);
    let admits = |whole_streams, longest| beside(whole_streams, Nanos(longest)).admits_chunks(none);
    assert_eq!([50_000, 50_001].map(|longest| admits(1, longest)), [true, false]);
    assert!(!admits(2, 50_000) && !Budget::default().has_room_for_chunks(none));
    assert_eq!(chunk(Budget::default()), 45_000, "nothing is stated");
    assert_eq!(chunk(Budget { stated: Nanos(2), ..Budget::default() }), 1, "however short the wait is");
    let beside = |o: &mut Options, k: &mut Known<'_>| {
        (o.profile.chunk_max, k.budget) = (Nanos::from_us(1), Some(beside(1, Nanos(50_001))));
    };
    assert_eq!(plan(beside, 64 * MIB, 1), KERNEL, "until the whole copies have ended");
}

/// At the least rate of an engine beside the other direction, and with the gap between copies.
#[test]
fn the_time_of_a_copy_is_that_of_a_busy_link() {
    assert_eq!(super::super::cost(42_000, &Options::default()), Nanos(1_000) + channels::chunk::ENGINE_GAP);
    let fits = |bytes| Budget { cost: super::super::cost(bytes, &Options::default()), ..whole() }.admits_whole();
    assert!(fits(4 * MIB) && fits(5 * MIB) && !fits(6 * MIB), "an urgent copy may wait for 150 us");
}

#[test]
fn urgent_copies_go_their_way() {
    assert_eq!(plan(tolerated, 64 * MIB, 6), Plan::Urgent);
    assert_eq!(plan(|o, k| (tolerated(o, k), k.is_captured = Some(true)).1, MIB, 1), Plan::Native(Reason::Capturing));
}

#[test]
fn the_engine_is_asked_only_about_copies_that_may_keep_it() {
    let profile = Profile { transport: Transport::Kernel, ..Profile::LIBRARY };
    let (options, off) = (Options::default(), Options { profile, ..Options::default() });
    let unknown = |options, request| Known { budget: None, ..known(options, request) };
    let (large, small) = (linear(MIB), linear(128 << 10));
    assert_eq!(decide(&unknown(&options, &large)), Ask(Question::Budget));
    assert_eq!(decide(&unknown(&options, &small)), Ask(Question::Budget));
    assert_eq!(decide(&unknown(&off, &large)), Go(KERNEL));
    assert_eq!(decide(&Known { priority: at(6), ..unknown(&options, &large) }), Go(Plan::Urgent));
    assert_eq!(decide(&Known { priority: at(3), ..unknown(&options, &small) }), Go(Plan::Engine { raises: true }));
}

/// Beside bulk of other streams, and while the gaps between them take no tenth.
#[test]
fn the_first_chunks_are_half_as_long() {
    let first = |streams, chunk_ns| {
        let others = Others { streams, ..Others::default() };
        Budget { others, ..in_chunks() }.first_chunk(Nanos(chunk_ns)).0
    };
    assert_eq!([0, 1, 2].map(|streams| first(streams, 80_000)), [80_000, 40_000, 40_000]);
    assert_eq!([51_998, 52_000].map(|chunk| first(1, chunk)), [51_998, 26_000]);
}
