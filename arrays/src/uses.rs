//! Uses of arrays: which elements, and how.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use bytemuck::Pod;
use graph::{Mode, Priority};
#[cfg(doc)]
use overtake_tasks::task::Error;

use crate::array::Array;
use crate::claim::Claim;
use crate::operator::{Operator, Reducer};
use crate::right::{Reads, Right, Writes};

/// A use of an array, or of a part of it.
#[must_use = "a use is an argument of a computation, or is opened"]
#[derive(Clone, Debug)]
pub struct Use<'a, R: Right> {
    pub(super) array: &'a Array<R::Element>,
    elements: Range<usize>,
    mode: Mode,
    pub(super) priority: Priority,
    within: Option<Duration>,
    right: PhantomData<R>,
}

/// Reads the array. Readers are not ordered with each other, and share transfers.
pub fn read<T: Pod>(array: &Array<T>) -> Use<'_, Reads<T>> {
    Use::new(array, Mode::Read)
}

/// Writes some elements and leaves others unchanged, so all elements written so far are copied to where it runs.
pub fn write<T: Pod>(array: &Array<T>) -> Use<'_, Writes<T>> {
    Use::new(array, Mode::Write)
}

/// Reads and writes the array.
pub fn read_write<T: Pod>(array: &Array<T>) -> Use<'_, Writes<T>> {
    Use::new(array, Mode::ReadWrite)
}

/// Changes elements in a way that allows other such uses at the same time, for example with atomic operations in a
/// kernel. Such uses are not ordered with each other on one device, and none is lost.
pub fn relaxed<T: Pod>(array: &Array<T>) -> Relaxed<'_, T> {
    Relaxed(Use::new(array, Mode::Relaxed))
}

/// A relaxed use: an argument of a kernel. Host functions have none, because they get slices.
#[must_use = "a use is an argument of a computation"]
#[derive(Clone, Debug)]
pub struct Relaxed<'a, T: Pod>(pub(super) Use<'a, Writes<T>>);

impl<'a, T: Pod> Relaxed<'a, T> {
    /// The same of these elements only ([`Use::part`]).
    pub fn part(self, elements: Range<usize>) -> Relaxed<'a, T> {
        Relaxed(self.0.part(elements))
    }
}

/// Combines a result with each element, while others do the same: `place = operator(place, result)`. It gets separate
/// memory, which starts at the operator's identity or holds results of earlier such uses, and is combined with the
/// array before the next use that is not the same reduction.
pub fn reduce<T: Pod, O: Operator<T>>(array: &Array<T>, _operator: O) -> Reduce<'_, T> {
    Reduce { uses: Use::new(array, Mode::Reduce), reducer: Reducer::of::<T, O>() }
}

/// The same for bytes that are elements of another type, as programs in other languages have them. Its parts consist of
/// whole elements.
pub fn reduce_as<T: Pod, O: Operator<T>>(bytes: &Array<u8>, _operator: O) -> Reduce<'_, u8> {
    Reduce { uses: Use::new(bytes, Mode::Reduce), reducer: Reducer::of::<T, O>() }
}

/// A reduction: an argument of a kernel or of a host function.
#[must_use = "a use is an argument of a computation"]
#[derive(Clone, Debug)]
pub struct Reduce<'a, T: Pod> {
    pub(super) uses: Use<'a, Writes<T>>,
    reducer: Reducer,
}

impl<T: Pod> Reduce<'_, T> {
    /// The same of these elements only ([`Use::part`]).
    pub fn part(self, elements: Range<usize>) -> Self {
        Reduce { uses: self.uses.part(elements), ..self }
    }

    pub(super) fn claim(&self) -> Claim {
        Claim { reducer: Some(self.reducer), ..self.uses.claim() }
    }
}

/// Writes every element and reads none, so nothing is copied for it.
pub fn discard<T: Pod>(array: &Array<T>) -> Use<'_, Writes<T>> {
    Use::new(array, Mode::Discard)
}

impl<'a, R: Right> Use<'a, R> {
    fn new(array: &'a Array<R::Element>, mode: Mode) -> Use<'a, R> {
        Use { array, elements: array.elements(), mode, priority: Priority::LOWEST, within: None, right: PhantomData }
    }

    /// The same of these elements only, counted from the first of the array.
    ///
    /// # Panics
    /// If the range is empty, or ends after the last element.
    pub fn part(mut self, elements: Range<usize>) -> Use<'a, R> {
        let length = self.array.len();
        let is_part = elements.start < elements.end && elements.end <= length;
        assert!(is_part || elements == (0..length), "{elements:?} is no part of {length} elements");
        let first = self.array.elements().start;
        self.elements = first + elements.start..first + elements.end;
        self
    }

    /// The priority of an access by the host: of [`Use::open`], [`Use::to_device`] and [`Use::to_host`]. Uses in
    /// computations have the computation's priority.
    pub fn priority(mut self, priority: Priority) -> Use<'a, R> {
        self.priority = priority;
        self
    }

    /// The longest wait of an access, in the host's time: of [`Use::open`], [`Use::freeze`] and [`Use::lend`] for the
    /// elements, and of the last two and [`Use::to_device`] for room on a full device. They fail with
    /// [`Error::TimedOut`] then, and the array is as it was. Later uses still come after all that the access came
    /// after; computations that were submitted meanwhile, and need what a [`discard`] was going to write, or elements
    /// that were never written, were not run. By default an access waits for its elements as long as it takes, and for
    /// room for 60 s. Computations have a timeout of their own ([`crate::Computation::submit_within`]).
    pub fn within(mut self, span: Duration) -> Use<'a, R> {
        self.within = Some(span);
        self
    }

    pub(super) fn count(&self) -> usize {
        self.elements.len()
    }

    /// The shape of its elements as an array of their own.
    pub(super) fn shape(&self) -> Vec<usize> {
        let is_whole = self.elements == self.array.elements();
        if is_whole { self.array.shape().to_vec() } else { vec![self.count()] }
    }

    pub(super) fn claim(&self) -> Claim {
        let size = size_of::<R::Element>() as u64;
        let is_token = self.array.is_token();
        let bytes = if is_token { 0..1 } else { self.elements.start as u64 * size..self.elements.end as u64 * size };
        let (record, view) = (Arc::clone(&self.array.record), Some(self.array.as_view()));
        let until = self.within.map(|span| record.store.tasks.within().deadline(span));
        Claim { until, _view: view, ..Claim::of(record, bytes, self.mode) }
    }
}
