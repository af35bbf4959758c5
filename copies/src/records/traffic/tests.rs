use proptest::prelude::*;

use super::*;
use crate::decide::Others;

const ONE: Stream = Stream(0x5500);
const OTHER: Stream = Stream(0x5540);

fn at(priority: u8) -> Priority {
    Priority::new(priority).unwrap()
}

fn bit(priority: u8) -> u64 {
    1 << (priority - 1)
}

/// Of a stream, which states no wait.
fn open(priority: u8) -> Reservation {
    Reservation { priority: at(priority), wait: Nanos::ZERO }
}

fn expected(priority: u8, wait: Nanos) -> Reservation {
    Reservation { priority: at(priority), wait }
}

fn us(us: u64) -> Nanos {
    Nanos::from_us(us)
}

/// The company of a copy, which is its own priority twice if it meets no other.
fn bounds(traffic: &Traffic, priority: Priority, own: u32) -> Company {
    let met = traffic.met(priority, own, ONE);
    assert!(met.is_none_or(|(low, high)| low < high && low <= priority && priority <= high), "{met:?}");
    met.unwrap_or((priority, priority))
}

/// A stream that has announced these priorities.
fn stream(traffic: &Traffic, priorities: &[u8]) -> u32 {
    let announced = AtomicU64::new(0);
    priorities.iter().for_each(|priority| traffic.announce(open(*priority), &announced, bit(*priority)));
    announced.load(Ordering::SeqCst) as u32
}

fn close(traffic: &Traffic, priority: u8) {
    traffic.release(open(priority));
}

#[test]
fn bounds_follow_open_streams() {
    let traffic = Traffic::new(false);
    assert_eq!(bounds(&traffic, at(3), 0), (at(3), at(3)), "no other stream copies");
    let streams = [&[2][..], &[5], &[5]].map(|priorities| stream(&traffic, priorities));
    assert_eq!(streams, [0b10, 0b1_0000, 0b1_0000]);
    assert_eq!(bounds(&traffic, at(3), 0), (at(2), at(5)));
    assert_eq!(bounds(&traffic, at(6), 0), (at(2), at(6)));
    close(&traffic, 5);
    assert_eq!(bounds(&traffic, at(1), 0), (at(1), at(5)));
    close(&traffic, 5);
    assert_eq!(bounds(&traffic, at(2), 0), (at(2), at(2)));
}

#[test]
fn a_stream_is_no_company_to_itself() {
    let traffic = Traffic::new(false);
    let both = stream(&traffic, &[1, 32]);
    assert_eq!(bounds(&traffic, at(1), both), (at(1), at(1)), "its urgent copies wait behind its own bulk");
    assert_eq!(bounds(&traffic, at(32), both), (at(32), at(32)));
    let bulk = stream(&traffic, &[1]);
    assert_eq!(bounds(&traffic, at(1), bulk), (at(1), at(32)), "its bulk yields to the other stream");
    assert_eq!(bounds(&traffic, at(1), both), (at(1), at(1)));
    assert_eq!(bounds(&traffic, at(32), both), (at(1), at(32)), "the other stream's bulk is held off");
}

#[test]
fn an_expectation_is_company_to_every_stream() {
    let traffic = Traffic::new(false);
    let bulk = stream(&traffic, &[1]);
    traffic.reserve(expected(5, Nanos::ZERO));
    traffic.reserve(expected(5, us(100)));
    assert_eq!(bounds(&traffic, at(1), bulk), (at(1), at(5)));
    let urgent = stream(&traffic, &[5]);
    traffic.release(expected(5, us(100)));
    assert_eq!(bounds(&traffic, at(1), urgent), (at(1), at(5)), "one more is expected, of another stream");
    traffic.release(expected(5, Nanos::ZERO));
    assert_eq!(bounds(&traffic, at(1), urgent), (at(1), at(1)), "none is, and the stream is its own company");
    assert_eq!(bounds(&traffic, at(1), bulk), (at(1), at(5)), "an open stream announces as ever");
}

#[test]
fn a_priority_is_announced_once() {
    let (traffic, announced) = (Traffic::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        (0..4).for_each(|_| drop(scope.spawn(|| traffic.announce(open(2), &announced, bit(2)))));
    });
    assert_eq!(bounds(&traffic, at(1), 0b10), (at(1), at(1)), "it counts as one stream");
    close(&traffic, 2);
    assert_eq!(bounds(&traffic, at(1), 0), (at(1), at(1)), "and closes as one");
}

#[test]
fn bounds_are_right_however_threads_open_and_close() {
    let traffic = Traffic::new(false);
    for _ in 0..if cfg!(miri) { 3 } else { 200 } {
        std::thread::scope(|scope| {
            for priority in 1..=6 {
                let traffic = &traffic;
                scope.spawn(move || {
                    stream(traffic, &[priority]);
                    if priority != 2 && priority != 4 {
                        close(traffic, priority);
                    }
                });
            }
        });
        assert_eq!(bounds(&traffic, at(3), 0), (at(2), at(4)));
        close(&traffic, 2);
        close(&traffic, 4);
    }
}

#[test]
fn the_least_patient_decides() {
    let (traffic, short, long) = (Traffic::new(false), us(100), us(300));
    let wait = |priority| traffic.room(at(priority), ONE).stated;
    let none = Nanos::ZERO;
    assert_eq!((wait(1), traffic.longest_stated()), (none, none), "none are to come");
    traffic.reserve(expected(5, long));
    traffic.reserve(expected(6, short));
    assert_eq!((wait(1), traffic.longest_stated()), (short, long));
    assert_eq!(wait(5), short);
    assert_eq!(wait(6), none, "none are above it");
    traffic.state(expected(6, short), expected(6, Nanos::ZERO));
    assert_eq!(wait(1), none, "one tolerates none any more");
    assert_eq!(wait(6), none);
    traffic.release(expected(6, Nanos::ZERO));
    assert_eq!(wait(1), long);
    let open = stream(&traffic, &[4]);
    assert_eq!((open, wait(1)), (0b1000, none), "a stream has opened, which tolerates none");
    assert_eq!(wait(4), long, "and it is not above its own priority");
}

#[test]
fn equal_waits_are_counted_apart() {
    let (traffic, wait) = (Traffic::new(false), us(150));
    (0..2).for_each(|_| traffic.reserve(expected(6, wait)));
    traffic.release(expected(6, wait));
    assert_eq!(traffic.room(at(1), ONE), Room { stated: wait, ..Room::default() });
    traffic.release(expected(6, wait));
    assert_eq!((traffic.room(at(1), ONE), traffic.longest_stated()), (Room::default(), Nanos::ZERO));
}

#[test]
fn quiet_streams_are_counted_from_the_least_priority_that_tolerates_on() {
    let traffic = Traffic::new(false);
    [3, 6, 6].into_iter().for_each(|priority| traffic.open_quiet(at(priority)));
    let streams = |priority| {
        traffic.reserve(expected(priority, us(150)));
        let room = traffic.room(at(1), ONE);
        traffic.release(expected(priority, us(150)));
        room.urgent_streams
    };
    assert_eq!([2, 3, 4, 6].map(streams), [3, 3, 2, 2]);
    traffic.close_quiet(at(6));
    assert_eq!([3, 6].map(streams), [2, 1]);
    assert_eq!(bounds(&traffic, at(1), 0), (at(1), at(1)), "they are no company");
}

/// The bulk beside a stream, which copies to come above it let in for a while.
fn beside(traffic: &Traffic, stream: Stream) -> Others {
    traffic.room(at(1), stream).others
}

/// The traffic of an engine whose urgent copies tolerate a wait.
fn patient() -> Traffic {
    let traffic = Traffic::new(false);
    traffic.reserve(expected(6, us(150)));
    traffic
}

#[test]
fn a_stream_is_counted_once_while_copies_of_it_are_in_flight() {
    let traffic = patient();
    let (first, room) = traffic.begin(at(1), ONE, Stay::Whole(us(80)));
    assert_eq!(room, Room { stated: us(150), ..Room::default() }, "its own copies are none of others");
    let (second, _) = traffic.begin(at(1), ONE, Stay::Whole(us(20)));
    let whole = Others { streams: 1, longest: us(80), whole_streams: 1, longest_whole: us(80) };
    assert_eq!(beside(&traffic, OTHER), whole);
    traffic.end(first);
    assert_eq!(beside(&traffic, OTHER), whole, "which of them is left is not asked");
    traffic.end(second);
    assert_eq!(beside(&traffic, OTHER), Others::default());
}

#[test]
fn chunks_and_whole_copies_are_told_apart() {
    let traffic = patient();
    let (chunks, _) = traffic.begin(at(1), ONE, Stay::Part(us(75)));
    let (whole, room) = traffic.begin(at(1), OTHER, Stay::Whole(us(20)));
    assert_eq!(room.others, Others { streams: 1, longest: us(75), ..Others::default() });
    let (behind, room) = traffic.begin(at(1), OTHER, Stay::Part(us(50)));
    assert_eq!(room.others.streams, 1);
    let of_other = Others { streams: 1, longest: us(50), whole_streams: 1, longest_whole: us(20) };
    assert_eq!(beside(&traffic, ONE), of_other);
    traffic.end(whole);
    assert_eq!(beside(&traffic, ONE), Others { whole_streams: 0, longest_whole: Nanos::ZERO, ..of_other });
    [chunks, behind].into_iter().for_each(|copy| traffic.end(copy));
    assert_eq!([beside(&traffic, ONE), beside(&traffic, OTHER)], [Others::default(); 2]);
}

/// Whether an urgent copy of a stream goes in a lull, where less urgent ones are to come.
fn passes(traffic: &Traffic, stream: Stream) -> bool {
    let met = traffic.met(at(6), 0, stream);
    assert!(met.is_none_or(|met| met == (at(1), at(6))), "{met:?}");
    met.is_none()
}

/// The traffic of an engine with lulls, where bulk is to come.
fn lulled() -> Traffic {
    let traffic = Traffic::new(true);
    stream(&traffic, &[1]);
    traffic
}

#[test]
fn a_lull_ends_with_bulk_and_begins_a_while_after_all_of_it_has_ended() {
    let traffic = lulled();
    assert!(passes(&traffic, ONE), "no bulk has come yet");
    let mut seen = BulkSeen::default();
    let mut look = |has_bulk, time_us| {
        seen = traffic.keep_lull(seen, has_bulk, us(time_us));
        (passes(&traffic, ONE), seen.lull_at())
    };
    assert_eq!(look(false, 0), (true, Nanos::MAX));
    traffic.end_lull();
    assert!(!passes(&traffic, ONE));
    assert_eq!(look(true, 10), (false, us(1_010)));
    assert_eq!(look(true, 5_000), (false, us(6_000)), "it is in flight");
    assert_eq!(look(false, 5_999), (false, us(6_000)));
    traffic.end_lull();
    assert_eq!(look(false, 6_000), (false, us(7_000)), "more bulk has come");
    assert_eq!(look(false, 7_000), (true, Nanos::MAX));
    assert_eq!(look(true, 7_001), (false, us(8_001)), "the lull began right before that copy was handed over");
    traffic.outlast_lull();
    assert_eq!(look(false, 8_001), (true, Nanos::MAX), "a copy that has ended the lull does not end it again");
    traffic.outlast_lull();
    assert!(!passes(&traffic, ONE), "the submission took longer than the lull");
}

#[test]
fn only_the_most_urgent_copy_passes_and_only_where_there_are_lulls() {
    let traffic = lulled();
    stream(&traffic, &[3]);
    assert_eq!(traffic.met(at(3), 0b100, ONE), None, "it is the most urgent one");
    assert_eq!(traffic.met(at(2), 0, ONE), Some((at(1), at(3))));
    assert_eq!(traffic.met(at(1), 0, ONE), Some((at(1), at(3))));
    let without = Traffic::new(false);
    stream(&without, &[1]);
    assert!(!passes(&without, ONE));
    let seen = without.keep_lull(BulkSeen::default(), true, us(1));
    assert_eq!((seen.lull_at(), passes(&without, ONE)), (Nanos::MAX, false));
}

#[test]
fn a_calm_ends_with_the_urgent_copies_of_other_streams() {
    let traffic = lulled();
    let calm = |stream, ms| traffic.is_calm(stream, Nanos::from_ms(10), Nanos::from_ms(ms));
    traffic.is_urgent(Nanos::from_ms(5));
    assert_eq!([14, 15].map(|ms| calm(ONE, ms)), [false, true]);
    assert!(passes(&traffic, OTHER) && traffic.has_passed());
    assert_eq!([ONE, OTHER].map(|stream| calm(stream, 20)), [false, true], "before the watcher has looked");
    traffic.note_passed(Nanos::from_ms(20));
    assert!(!traffic.has_passed());
    assert_eq!([29, 30].map(|ms| calm(ONE, ms)), [false, true]);
    assert!(calm(OTHER, 20));
    traffic.end_lull();
    assert!(!passes(&traffic, OTHER) && !traffic.has_passed(), "it raises a word instead");
}

/// A change of the reservations. Streams and waits by their number.
#[derive(Clone, Copy, Debug)]
enum Change {
    Announce(usize, u8),
    Close(usize),
    Reserve(u8, u64),
    Release(usize),
    Tolerate(usize, u64),
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let (stream, priority, wait) = (0..3_usize, 1..=6_u8, 0..3_u64);
    let change = prop_oneof![
        (stream.clone(), priority.clone()).prop_map(|(stream, priority)| Change::Announce(stream, priority)),
        stream.prop_map(Change::Close),
        (priority, wait.clone()).prop_map(|(priority, wait)| Change::Reserve(priority, wait)),
        any::<prop::sample::Index>().prop_map(|index| Change::Release(index.index(64))),
        (any::<prop::sample::Index>(), wait).prop_map(|(index, wait)| Change::Tolerate(index.index(64), wait)),
    ];
    prop::collection::vec(change, 1..40)
}

/// The traffic, and beside it each reservation by itself: its stream, its priority, and the wait that is tolerated.
struct Twin {
    traffic: Traffic,
    streams: [AtomicU64; 3],
    each: Vec<(Option<usize>, u8, Nanos)>,
}

impl Twin {
    fn make(&mut self, change: Change) {
        let free: Vec<usize> = (0..self.each.len()).filter(|place| self.each[*place].0.is_none()).collect();
        match change {
            Change::Announce(stream, priority) => {
                self.traffic.announce(open(priority), &self.streams[stream], bit(priority));
                if !self.each.iter().any(|(of, at, _)| (*of, *at) == (Some(stream), priority)) {
                    self.each.push((Some(stream), priority, Nanos::ZERO));
                }
            }
            Change::Close(stream) => {
                let of = |one: &(Option<usize>, u8, Nanos)| one.0 == Some(stream);
                self.each.iter().filter(|one| of(one)).for_each(|(_, priority, _)| close(&self.traffic, *priority));
                self.each.retain(|one| !of(one));
                self.streams[stream].store(0, Ordering::SeqCst);
            }
            Change::Reserve(priority, wait) => {
                self.traffic.reserve(expected(priority, us(wait)));
                self.each.push((None, priority, us(wait)));
            }
            Change::Release(number) if !free.is_empty() => {
                let (_, priority, wait) = self.each.remove(free[number % free.len()]);
                self.traffic.release(expected(priority, wait));
            }
            Change::Tolerate(number, wait) if !free.is_empty() => {
                let (_, priority, before) = &mut self.each[free[number % free.len()]];
                self.traffic.state(expected(*priority, *before), expected(*priority, us(wait)));
                *before = us(wait);
            }
            Change::Release(_) | Change::Tolerate(..) => {}
        }
    }

    /// The bounds of a copy of a stream, and the wait that all above it tolerate, by their meaning.
    fn meaning(&self, stream: usize, priority: u8) -> (Company, Nanos) {
        let others = || self.each.iter().filter(|(of, _, _)| *of != Some(stream)).map(|(_, at, _)| *at);
        let (low, high) = others().fold((priority, priority), |(low, high), at| (low.min(at), high.max(at)));
        let above = self.each.iter().filter(|(_, at, _)| *at > priority).map(|(_, _, wait)| *wait).min();
        ((at(low), at(high)), above.unwrap_or_default())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 2 } else { 512 }))]

    /// After each change the published word and the counts say what a list of all reservations says.
    #[test]
    fn the_word_and_the_counts_tell_of_each_reservation(changes in changes()) {
        let (traffic, streams) = (Traffic::new(false), [(); 3].map(|()| AtomicU64::new(0)));
        let mut twin = Twin { traffic, streams, each: Vec::new() };
        for change in changes {
            twin.make(change);
            for (stream, priority) in (0..3).flat_map(|stream| (1..=6).map(move |priority| (stream, priority))) {
                let own = twin.streams[stream].load(Ordering::SeqCst) as u32;
                let wait = twin.traffic.room(at(priority), ONE).stated;
                let found = (bounds(&twin.traffic, at(priority), own), wait);
                prop_assert_eq!(found, twin.meaning(stream, priority), "{:?} of stream {}", change, stream);
            }
            let longest = twin.each.iter().map(|(_, _, wait)| *wait).max().unwrap_or_default();
            prop_assert_eq!(twin.traffic.longest_stated(), longest);
        }
    }
}
