//! The marks of a lane: events recorded in its stream, each after a point of its timeline.

use hal::{Event, Nanos};

mod joins;

pub(crate) use joins::{Join, Joins, add_join};

/// So many marks of a lane may be pending. A further one takes the place of the newest. While no thread waits, the
/// device is asked about them so seldom that eight chains that join each other need more than eight.
pub(crate) const MARKS_MAX: usize = 32;

/// An event, recorded when all up to the point had been submitted, and nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pub value: u64,
    pub event: Event,
    /// The time when the thread on watch saw it first, if it has.
    pub seen: Option<Nanos>,
}

impl Mark {
    /// One that has just been recorded.
    #[inline]
    pub fn new(value: u64, event: Event) -> Mark {
        Mark { value, event, seen: None }
    }
}

/// The mark of each lane that is asked about first. The other end is asked about second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum First {
    /// If the device has not come to it, there is nothing more to ask.
    Oldest,
    /// If the device has come to it, there is nothing more to ask.
    Newest,
}

/// The last mark of each lane that the device has come to, of lanes where it has come to one of these, which are by
/// lane, the oldest first.
pub(crate) fn furthest(
    marks: &[(u8, Mark)],
    first: First,
    is_reached: impl Fn(Event) -> hal::Result<bool>,
) -> hal::Result<Vec<(u8, Mark)>> {
    let mut reached = Vec::new();
    for of_lane in marks.chunk_by(|(one, _), (other, _)| one == other) {
        // It has come to those before `there`, and not to those from `beyond` on, as far as that is known.
        let (mut there, mut beyond, last) = (0, of_lane.len(), of_lane.len() - 1);
        let mut next = [0, last];
        if first == First::Newest {
            next.reverse();
        }
        let mut next = next.into_iter();
        while there < beyond {
            let at = next.next().unwrap_or((there + beyond) / 2).clamp(there, beyond - 1);
            if is_reached(of_lane[at].1.event)? {
                there = at + 1;
            } else {
                beyond = at;
            }
        }
        if let Some(at) = there.checked_sub(1) {
            reached.push(of_lane[at]);
        }
    }
    Ok(reached)
}

/// A lane's timeline, as far as it has been submitted and marked.
#[derive(Debug)]
pub(crate) struct Marks {
    /// The last point that has been submitted.
    pub submitted: u64,
    /// The last point that is to be marked: a lane or a thread waits for it.
    pub wanted: u64,
    /// The last point whose end is to be seen soon: a thread or a function of the host waits for it.
    pub awaited: u64,
    /// The last work that has been submitted is a kernel's.
    ends_with_kernel: bool,
    /// Whether work that is submitted now can begin at once, if that is known.
    pub can_begin: Option<bool>,
    /// The last point that a mark stands for.
    covered: u64,
    /// The point of the last mark that the device has come to.
    complete: u64,
    /// So many launches in the lane have its last point marked before them: other lanes have joined points behind
    /// which there was more, and waited for that too.
    early: u8,
    /// That number before the last join.
    early_before: u8,
    /// The oldest first. They are few, so it costs little to move the others when some leave.
    pending: Vec<Mark>,
    spare: Vec<Event>,
}

impl Default for Marks {
    fn default() -> Marks {
        let (pending, spare, can_begin) = (Vec::new(), Vec::new(), Some(true));
        let (ends_with_kernel, [early, early_before]) = (false, [0; 2]);
        let [submitted, wanted, awaited, covered, complete] = [0; 5];
        Marks {
            submitted,
            wanted,
            awaited,
            ends_with_kernel,
            can_begin,
            covered,
            complete,
            early,
            early_before,
            pending,
            spare,
        }
    }
}

impl Marks {
    /// The lane has work up to this point.
    #[inline]
    pub fn submit(&mut self, value: u64, is_kernel: bool) {
        self.submitted = value;
        self.ends_with_kernel = is_kernel;
        self.can_begin = self.can_begin_behind_work();
    }

    /// An event for the next mark. If all are pending it is that of the newest mark, whose waiters wait for the new one
    /// then.
    #[inline]
    pub fn take_event(&mut self) -> Option<Event> {
        let spare = self.spare.pop();
        if spare.is_some() { spare } else { self.take_newest_event() }
    }

    #[inline(never)]
    fn take_newest_event(&mut self) -> Option<Event> {
        let newest = self.pending.pop();
        self.find_can_begin();
        newest.map(|mark| mark.event)
    }

    /// An event that no mark is recorded with: one of those that are made with the lane, or of a mark that failed.
    pub fn give_back(&mut self, event: Event) {
        self.spare.push(event);
    }

    /// A mark that has been recorded.
    #[inline]
    pub fn push(&mut self, mark: Mark) {
        self.covered = mark.value;
        self.pending.push(mark);
        self.can_begin = self.can_begin_behind_work();
    }

    /// The thread on watch sees the marks at this time. The clock is not read where they are recorded: with that a task
    /// behind joins took a twentieth more instructions.
    pub fn see(&mut self, now: Nanos) {
        // Those before one that has been seen have been seen too.
        self.pending.iter_mut().rev().take_while(|mark| mark.seen.is_none()).for_each(|mark| mark.seen = Some(now));
    }

    /// The marks that the device may not have come to, the oldest first.
    pub fn pending(&self) -> impl Iterator<Item = Mark> + '_ {
        self.pending.iter().copied()
    }

    /// The device has come to this mark, and to all before it, if it is still one that the caller saw. Returns the
    /// point that it had come to before.
    pub fn reached(&mut self, mark: Mark) -> Option<u64> {
        let is_this = |other: &Mark| other.event == mark.event && other.value == mark.value;
        let last = self.pending.iter().position(is_this)?;
        self.spare.extend(self.pending.drain(..=last).map(|mark| mark.event));
        self.find_can_begin();
        Some(std::mem::replace(&mut self.complete, mark.value))
    }

    /// Whether a mark is to be recorded because a lane or a thread waits.
    pub fn is_wanting(&self) -> bool {
        self.wanted > self.covered && self.submitted > self.covered
    }

    /// Whether the end of a point is to be seen soon.
    pub fn is_awaited(&self) -> bool {
        self.awaited > self.complete
    }

    /// Whether points have been submitted that no mark stands for.
    pub fn is_uncovered(&self) -> bool {
        self.submitted > self.covered
    }

    /// Whether the device has points before it that matter.
    pub fn is_pending(&self) -> bool {
        self.is_uncovered() || !self.pending.is_empty()
    }

    /// The lane has one point more, without work of its own.
    pub fn advance(&mut self, value: u64) {
        self.submit(value, self.ends_with_kernel);
    }

    /// Work that is submitted now can begin at once if all before it is complete, and not if the last of it is a
    /// kernel, which has hardly ended in the meantime.
    fn find_can_begin(&mut self) {
        self.can_begin = if self.is_pending() { self.can_begin_behind_work() } else { Some(true) };
    }

    /// The same while there is work before it.
    #[inline]
    fn can_begin_behind_work(&self) -> Option<bool> {
        if self.ends_with_kernel { Some(false) } else { None }
    }

    /// Forgets the pending marks: the device has failed.
    pub fn clear(&mut self) {
        self.covered = self.submitted;
        self.spare.extend(self.pending.drain(..).map(|mark| mark.event));
        self.find_can_begin();
    }

    /// All events, for their destruction.
    pub fn into_events(mut self) -> Vec<Event> {
        self.clear();
        self.spare
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(value: u64, event: u64) -> Mark {
        Mark::new(value, Event(event))
    }

    #[test]
    fn a_point_is_behind_the_first_mark_that_stands_for_it() {
        let mut marks = Marks::default();
        marks.submit(5, true);
        marks.wanted = 4;
        assert!(marks.is_wanting() && marks.is_uncovered());
        marks.push(mark(3, 1));
        assert!(marks.is_wanting(), "4 is behind no mark");
        marks.push(mark(5, 2));
        assert!(!marks.is_wanting() && !marks.is_uncovered());
        assert_eq!(
            [1, 3, 4, 6].map(|value| marks.behind(value).map(|mark| mark.value)),
            [Some(3), Some(3), Some(5), None]
        );
    }

    #[test]
    fn work_behind_a_kernel_cannot_begin_and_behind_a_copy_it_may() {
        let mut marks = Marks::default();
        assert_eq!(marks.can_begin, Some(true), "there is no work before it");
        marks.submit(1, false);
        assert_eq!(marks.can_begin, None, "the copy may have ended");
        marks.submit(2, true);
        assert_eq!(marks.can_begin, Some(false));
        marks.advance(3);
        assert_eq!(marks.can_begin, Some(false), "the point has no work of its own");
        marks.push(mark(3, 1));
        assert_eq!(marks.can_begin, Some(false));
        marks.reached(mark(3, 1));
        assert_eq!(marks.can_begin, Some(true), "all before it is complete");
        marks.submit(4, false);
        assert_eq!(marks.can_begin, None);
    }

    #[test]
    fn only_the_mark_that_was_seen_counts_as_reached() {
        let mut marks = Marks::default();
        marks.give_back(Event(7));
        let event = marks.take_event().unwrap();
        marks.push(Mark::new(1, event));
        let seen = marks.pending().next().unwrap();
        // All events are pending, so the newest is recorded again, for a later point.
        assert_eq!(marks.take_event(), Some(event));
        marks.push(Mark::new(2, event));
        assert_eq!(marks.reached(seen), None, "the answer was about the earlier recording");
        let again = marks.pending().next().unwrap();
        assert_eq!(marks.reached(again), Some(0));
        assert_eq!(marks.pending().next(), None);
        assert_eq!(marks.take_event(), Some(event));
    }

    #[test]
    fn a_mark_is_as_old_as_the_first_look_at_it() {
        let mut marks = Marks::default();
        let seen = |marks: &Marks| marks.pending().map(|mark| mark.seen).collect::<Vec<_>>();
        (1..=2).for_each(|value| marks.push(mark(value, value)));
        marks.see(Nanos(5));
        marks.push(mark(3, 3));
        assert_eq!(seen(&marks), [Some(Nanos(5)), Some(Nanos(5)), None]);
        marks.see(Nanos(7));
        assert_eq!(seen(&marks), [Some(Nanos(5)), Some(Nanos(5)), Some(Nanos(7))]);
        // Recorded again, it is another mark.
        let event = marks.take_event().unwrap();
        marks.push(Mark::new(4, event));
        marks.see(Nanos(9));
        assert_eq!(seen(&marks), [Some(Nanos(5)), Some(Nanos(5)), Some(Nanos(9))]);
    }

    #[test]
    fn a_mark_that_is_reached_ends_those_before_it() {
        let mut marks = Marks::default();
        (1..=3).for_each(|value| marks.push(mark(value, value)));
        assert_eq!(marks.reached(mark(2, 2)), Some(0));
        assert_eq!(marks.pending().map(|mark| mark.value).collect::<Vec<_>>(), [3]);
        assert_eq!(marks.reached(mark(1, 1)), None, "it has been reached with the second");
        assert_eq!(marks.reached(mark(3, 3)), Some(2));
        assert_eq!([(); 3].map(|()| marks.take_event().is_some()), [true; 3], "their events can be used again");
    }

    #[test]
    fn the_last_mark_that_is_reached_is_found() {
        let counts = (1..=8).flat_map(|count| (0..=count).map(move |come_to| (count, come_to)));
        for ((count, come_to), first) in counts.flat_map(|it| [(it, First::Oldest), (it, First::Newest)]) {
            let lanes: Vec<(u8, Mark)> =
                [2, 5].into_iter().flat_map(|lane| (1..=count).map(move |value| (lane, mark(value, value)))).collect();
            let asked = std::cell::Cell::new(0);
            let found = furthest(&lanes, first, |event| {
                asked.set(asked.get() + 1);
                Ok(event.0 <= come_to)
            });
            let values: Vec<(u8, u64)> = found.unwrap().into_iter().map(|(lane, mark)| (lane, mark.value)).collect();
            let expected = if come_to == 0 { Vec::new() } else { vec![(2, come_to), (5, come_to)] };
            assert_eq!(values, expected, "{come_to} of {count}");
            let ends = if first == First::Oldest { [0, count] } else { [count, 0] };
            let most = ends.iter().position(|end| *end == come_to).map_or(5, |at| at + 1);
            assert!(asked.get() <= 2 * most, "{come_to} of {count}: {} questions, {first:?}", asked.get());
        }
    }
}
