//! Values for half-open intervals: one value while all bytes agree, and one for each part where they differ.

use std::ops::Range;

/// A part, from the end of the one before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span<T> {
    /// The first byte behind it.
    pub end: u64,
    /// Its value.
    pub value: T,
}

/// A value for each byte of an object.
#[derive(Clone, Debug)]
pub struct Spans<T> {
    bytes: u64,
    /// The value of all bytes while there are no parts.
    whole: T,
    /// In their order, to the end; none, or at least two.
    parts: Vec<Span<T>>,
    /// So many parts are worth a look at which are alike.
    many: usize,
}

const MANY: usize = 16;

impl<T: Clone> Spans<T> {
    /// One value for all bytes.
    #[must_use]
    pub fn new(bytes: u64, value: T) -> Spans<T> {
        Spans { bytes, whole: value, parts: Vec::new(), many: MANY }
    }

    /// The one value of all bytes, if they agree.
    #[inline]
    pub fn whole_mut(&mut self) -> Option<&mut T> {
        self.parts.is_empty().then_some(&mut self.whole)
    }

    /// Each value of these bytes, with the bytes of the range that have it.
    pub fn each(&self, range: &Range<u64>, mut each: impl FnMut(Range<u64>, &T)) {
        let mut start = 0;
        let whole = [(self.bytes, &self.whole)];
        let whole = whole.into_iter().filter(|_| self.parts.is_empty());
        for (end, value) in whole.chain(self.parts.iter().map(|part| (part.end, &part.value))) {
            let (from, to) = (start.max(range.start), end.min(range.end));
            if from < to {
                each(from..to, value);
            }
            start = end;
        }
    }

    /// The parts of these bytes, cut at both ends of the range, as one slice.
    fn cut(&mut self, range: &Range<u64>) -> Range<usize> {
        if self.parts.is_empty() {
            self.parts.push(Span { end: self.bytes, value: self.whole.clone() });
        }
        let first = self.cut_at(range.start);
        first..self.cut_at(range.end)
    }

    /// The number of the part that begins there.
    fn cut_at(&mut self, at: u64) -> usize {
        let part = self.parts.partition_point(|part| part.end <= at);
        let start = part.checked_sub(1).map_or(0, |before| self.parts[before].end);
        if part == self.parts.len() || start == at {
            return part;
        }
        let value = self.parts[part].value.clone();
        self.parts.insert(part, Span { end: at, value });
        part + 1
    }

    /// Changes the value of each part of these bytes.
    pub fn change(&mut self, range: &Range<u64>, mut change: impl FnMut(&mut T)) {
        if range.is_empty() {
            return;
        }
        if self.parts.is_empty() && *range == (0..self.bytes) {
            return change(&mut self.whole);
        }
        let parts = self.cut(range);
        self.parts[parts].iter_mut().for_each(|part| change(&mut part.value));
        self.settle();
    }

    /// Makes one part of these bytes, with the value of the last.
    pub fn unite(&mut self, range: &Range<u64>) {
        if !range.is_empty() && !self.parts.is_empty() {
            let parts = self.cut(range);
            self.parts.drain(parts.start..parts.end - 1);
            self.settle();
        }
    }

    /// Puts neighbours together that are alike, if there are many parts: then twice as many are many.
    pub fn tidy(&mut self, mut trim: impl FnMut(&mut T), mut is_alike: impl FnMut(&T, &T) -> bool) {
        if self.parts.len() < self.many {
            return;
        }
        self.parts.iter_mut().for_each(|part| trim(&mut part.value));
        self.parts.dedup_by(|later, earlier| {
            let is_one = is_alike(&earlier.value, &later.value);
            earlier.end = if is_one { later.end } else { earlier.end };
            is_one
        });
        self.many = MANY.max(2 * self.parts.len());
        self.settle();
    }

    /// One part is no part.
    fn settle(&mut self) {
        if self.parts.len() == 1 {
            self.whole = self.parts.remove(0).value;
        }
    }

    /// How many parts have a value of their own.
    #[must_use]
    pub fn count(&self) -> usize {
        self.parts.len().max(1)
    }
}
