//! Arrays.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use bytemuck::Pod;
use hal::Code;
use overtake_tasks::task::Error;

use crate::memory::ALIGN_BYTES;
use crate::record::{Adopted, Record};
use crate::store::Store;

/// Numbers in one or more dimensions, the last one contiguous, in memory wherever they are used.
///
/// Dropping it does not wait: its memory is freed when the last task that uses it has ended.
pub struct Array<T: Pod> {
    pub(super) record: Arc<Record>,
    /// The first element, of those of the record.
    first: usize,
    shape: Vec<usize>,
    /// Shared by all views of the record.
    views: Arc<()>,
    element: PhantomData<fn(T) -> T>,
}

/// The arrays lent to a section, in the order of its uses.
pub struct LentArrays(Vec<Arc<Record>>);

impl LentArrays {
    pub(super) fn of(lent: &[Arc<Record>]) -> LentArrays {
        LentArrays(lent.to_vec())
    }

    pub(super) fn next_array<T: Pod>(&mut self, shape: Vec<usize>) -> Array<T> {
        Array::of(self.0.remove(0), shape)
    }
}

impl<T: Pod> Array<T> {
    pub(super) fn new(store: &Arc<Store>, shape: &[usize], memory: Option<Adopted>) -> Result<Array<T>, Error> {
        let record = Record::new(store, bytes_of::<T>(shape)?, memory)?;
        Ok(Array::of(record, shape.to_vec()))
    }

    /// As long as it is there the array has another view ([`Array::is_sole`]).
    pub(super) fn as_view(&self) -> Arc<()> {
        Arc::clone(&self.views)
    }

    /// All of this record.
    pub(super) fn of(record: Arc<Record>, shape: Vec<usize>) -> Array<T> {
        Array { record, first: 0, shape, views: Arc::default(), element: PhantomData }
    }

    /// These elements as a separate array of this shape. Uses of both are uses of the same bytes: they are ordered with
    /// each other, and share memory and transfers.
    pub fn view(&self, elements: Range<usize>, shape: &[usize]) -> Result<Array<T>, Error> {
        let (bytes, count) = (bytes_of::<T>(shape)?, self.len());
        let is_part = elements.start < elements.end && elements.end <= count;
        if !is_part || bytes != (elements.len() * size_of::<T>()) as u64 {
            let text = format!("{elements:?} of {count} elements are no array of shape {shape:?}");
            return Err(Code::INVALID_VALUE.at("overtake array view").because(text).into());
        }
        let (record, views) = (Arc::clone(&self.record), Arc::clone(&self.views));
        Ok(Array { record, first: self.first + elements.start, shape: shape.to_vec(), views, element: PhantomData })
    }

    /// Its elements, of those of the record.
    pub(super) fn elements(&self) -> Range<usize> {
        self.first..self.first + self.len()
    }

    /// Whether it is the only view of its memory and covers all of it, so that it can be released.
    #[must_use]
    pub fn is_sole(&self) -> bool {
        Arc::strong_count(&self.views) == 1 && (self.len() * size_of::<T>()) as u64 == self.record.bytes
    }

    /// The length of each dimension.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether it has no elements: it is a token.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.is_token()
    }

    /// Whether it is a token ([`crate::Arrays::token`]).
    #[must_use]
    pub fn is_token(&self) -> bool {
        self.record.is_token
    }

    /// The elements of these rows, in the first dimension: a part for [`crate::Use::part`].
    ///
    /// # Panics
    /// If the array does not have these rows.
    #[must_use]
    pub fn rows(&self, rows: Range<usize>) -> Range<usize> {
        let (count, row) = (self.shape[0], self.shape[1..].iter().product::<usize>());
        assert!(rows.start <= rows.end && rows.end <= count, "{rows:?} are no rows of {count}");
        rows.start * row..rows.end * row
    }
}

/// The bytes of an array of this shape.
fn bytes_of<T>(shape: &[usize]) -> hal::Result<u64> {
    let refused = |detail: String| Code::INVALID_VALUE.at("overtake array").because(detail);
    if align_of::<T>() as u64 > ALIGN_BYTES {
        return Err(refused(format!("its elements are aligned to {} bytes, and arrays to 256", align_of::<T>())));
    }
    let elements = shape.iter().try_fold(1_usize, |product, length| product.checked_mul(*length));
    match elements.and_then(|elements| elements.checked_mul(size_of::<T>())) {
        Some(0) => Err(refused(format!("an array has at least one byte, and no dimension of {shape:?} is 0"))),
        Some(bytes) if !shape.is_empty() && bytes <= isize::MAX as usize => Ok(bytes as u64),
        Some(_) if shape.is_empty() => Err(refused("an array has at least one dimension".to_owned())),
        _ => Err(refused(format!("so many elements have no address each: {shape:?}"))),
    }
}

impl<T: Pod> fmt::Debug for Array<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Array").field("shape", &self.shape).finish_non_exhaustive()
    }
}
