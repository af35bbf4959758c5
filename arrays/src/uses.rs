//! Uses of arrays: which elements, and how.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use bytemuck::Pod;
use graph::{Mode, Priority};

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
    right: PhantomData<R>,
}

/// It reads. Readers have no order among each other, and share transfers.
pub fn read<T: Pod>(array: &Array<T>) -> Use<'_, Reads<T>> {
    Use::new(array, Mode::Read)
}

/// It writes, and leaves other elements as they are: so all that have been written are brought where it runs.
pub fn write<T: Pod>(array: &Array<T>) -> Use<'_, Writes<T>> {
    Use::new(array, Mode::Write)
}

/// It reads and writes.
pub fn read_write<T: Pod>(array: &Array<T>) -> Use<'_, Writes<T>> {
    Use::new(array, Mode::ReadWrite)
}

/// It changes elements in a way that bears other such uses at the same time, for instance by atomic operations of a
/// kernel. Such uses have no order among each other on one device, and none is lost.
pub fn relaxed<T: Pod>(array: &Array<T>) -> Relaxed<'_, T> {
    Relaxed(Use::new(array, Mode::Relaxed))
}

/// A relaxed use: an argument of a kernel. Functions of the host have none, because they get slices.
#[must_use = "a use is an argument of a computation"]
#[derive(Clone, Debug)]
pub struct Relaxed<'a, T: Pod>(pub(super) Use<'a, Writes<T>>);

impl<'a, T: Pod> Relaxed<'a, T> {
    /// The same of these elements only ([`Use::part`]).
    pub fn part(self, elements: Range<usize>) -> Relaxed<'a, T> {
        Relaxed(self.0.part(elements))
    }
}

/// It combines a result with each element, as others do at the same time: `place = operator(place, result)`. The memory
/// that it gets is its own. It starts from the operator's identity or has results of earlier such uses, and is combined
/// with the array before the next use that is no such reduction.
pub fn reduce<T: Pod, O: Operator<T>>(array: &Array<T>, _operator: O) -> Reduce<'_, T> {
    Reduce { uses: Use::new(array, Mode::Reduce), reducer: Reducer::of::<T, O>() }
}

/// The same of bytes that are elements of another type, as programs in other languages have them. Parts of it are of
/// whole elements.
pub fn reduce_as<T: Pod, O: Operator<T>>(bytes: &Array<u8>, _operator: O) -> Reduce<'_, u8> {
    Reduce { uses: Use::new(bytes, Mode::Reduce), reducer: Reducer::of::<T, O>() }
}

/// A reduction: an argument of a kernel or of a function of the host.
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

/// It writes every element, and reads none: nothing is copied for it.
pub fn discard<T: Pod>(array: &Array<T>) -> Use<'_, Writes<T>> {
    Use::new(array, Mode::Discard)
}

impl<'a, R: Right> Use<'a, R> {
    fn new(array: &'a Array<R::Element>, mode: Mode) -> Use<'a, R> {
        Use { array, elements: array.elements(), mode, priority: Priority::LOWEST, right: PhantomData }
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

    /// The priority of the host's access: of [`Use::open`], [`Use::to_device`] and [`Use::to_host`]. Uses of
    /// computations have that of the computation.
    pub fn priority(mut self, priority: Priority) -> Use<'a, R> {
        self.priority = priority;
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
        Claim { _view: view, ..Claim::of(record, bytes, self.mode) }
    }
}
