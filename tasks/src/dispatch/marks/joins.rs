//! Joins: the events of other lanes that a lane waits for before a launch.

use graph::Point;
use hal::Event;

use super::{Mark, Marks};

/// So many marks are made early in a lane behind a join that came late, and behind one that needed such a mark.
const EARLY: u8 = 16;

/// An event that a lane waits for before a launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Join {
    /// Of the other lane.
    pub lane: u8,
    pub event: Event,
    /// The point of the other lane that is to be marked by it first.
    pub record: Option<u64>,
}

/// The joins of a launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Joins<'j> {
    /// The last point of the lane itself is to be marked. It is the first, so the mark waits for no other lane.
    pub own: Option<Mark>,
    pub others: &'j [Join],
}

impl Joins<'_> {
    pub const NONE: Joins<'static> = Joins { own: None, others: &[] };

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.own.is_none() && self.others.is_empty()
    }
}

/// The launch that these are the joins of has to wait for a point too, which is behind those of its lane that it waits
/// for already. Returns whether it waits for none.
#[inline(always)] // as `Marks::join`
pub(crate) fn add_join(joins: &mut Vec<Join>, marks: &mut [Marks], point: Point) -> bool {
    let marks = &mut marks[usize::from(point.lane)];
    let known = joins.iter_mut().find(|join| join.lane == point.lane);
    let is_first = known.is_none();
    match known {
        None => joins.push(marks.join(point)),
        Some(known) => {
            marks.take_back(known);
            *known = marks.join(point);
        }
    }
    is_first
}

impl Marks {
    /// The event for which another lane waits in place of a point: that of the first mark that stands for it, or of one
    /// that is to be recorded. There is one: a lane has events, and they are pending or spare.
    #[inline(always)] // a call would be a third of it
    pub fn join(&mut self, point: Point) -> Join {
        let Point { lane, value } = point;
        self.early_before = self.early;
        if let Some(&Mark { value, event, .. }) = self.behind(value) {
            if self.early_before > 0 && value < self.submitted {
                self.early = EARLY;
            }
            return Join { lane, event, record: None };
        }
        if value < self.submitted {
            self.early = EARLY;
        }
        let event = self.take_event().expect("a lane has events, and they are pending or spare");
        Join { lane, event, record: Some(self.submitted) }
    }

    /// The join, which is the last with this lane, is not made: one with a later point takes its place.
    #[cold]
    fn take_back(&mut self, join: &Join) {
        self.early = self.early_before;
        if join.record.is_some() {
            self.give_back(join.event);
        }
    }

    /// Whether points are to be marked early.
    #[inline]
    pub fn is_joined_late(&self) -> bool {
        self.early > 0
    }

    /// The mark of the last point before the next launch, if points are marked early or this one `is_wanted`.
    #[inline]
    pub fn mark_own(&mut self, is_wanted: bool) -> Option<Mark> {
        if !self.is_uncovered() || !(self.early > 0 || is_wanted) {
            return None;
        }
        self.early = self.early.saturating_sub(1);
        let event = self.take_event()?;
        Some(Mark::new(self.submitted, event))
    }

    /// The first mark that stands for this point. It is one of the newest, if there is one.
    #[inline(always)] // as `join`
    pub fn behind(&self, value: u64) -> Option<&Mark> {
        if value > self.covered {
            return None;
        }
        // Where each of the last points has a mark, it is this one.
        let newest = self.pending.last()?;
        let place = self.pending.len().wrapping_sub(1 + newest.value.wrapping_sub(value) as usize);
        match self.pending.get(place) {
            Some(mark) if mark.value == value => Some(mark),
            _ => self.behind_other(value),
        }
    }

    #[inline(never)]
    fn behind_other(&self, value: u64) -> Option<&Mark> {
        let mut place = self.pending.len();
        while place > 0 && self.pending[place - 1].value >= value {
            place -= 1;
        }
        self.pending.get(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two nodes before a launch may be of one lane. Only the later one is waited for, so the other one is no reason to
    /// mark the lane early.
    #[test]
    fn a_later_point_takes_the_place_of_an_earlier_one() {
        let lane = |marked: &[u64], early| {
            let mut marks = Marks::default();
            marks.give_back(Event(9));
            marks.submit(5, true);
            marked.iter().for_each(|value| marks.push(Mark::new(*value, Event(*value))));
            marks.early = early;
            marks
        };
        let mut records = Vec::new();
        for (marked, early) in [(&[][..], 0), (&[], 3), (&[2], 0), (&[2], 3), (&[2, 4], 0), (&[2, 4], 3), (&[5], 3)] {
            for last in [4, 5] {
                let point = |value| Point { lane: 1, value };
                let mut both = [(); 2].map(|()| ([Marks::default(), lane(marked, early)], Vec::new()));
                let [(of_one, one), (of_two, two)] = &mut both;
                assert!(add_join(one, of_one, point(last)));
                assert!(add_join(two, of_two, point(2)));
                assert!(!add_join(two, of_two, point(last)), "it waits for an earlier point of that lane");
                let told = |joins: &[Join], marks: &[Marks]| {
                    let joins: Vec<_> = joins.iter().map(|join| (join.lane, join.event, join.record)).collect();
                    (joins, marks[1].early, marks[1].spare.clone())
                };
                assert_eq!(told(two, of_two), told(one, of_one), "{marked:?}, {early}, {last}");
                records.extend(two.iter().map(|join| join.record.is_some()));
            }
        }
        assert_eq!(records.iter().filter(|is_record| **is_record).count(), 10);
    }
}
