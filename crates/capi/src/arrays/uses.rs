//! The arguments of a computation: uses of arrays, and values.
#![allow(unsafe_code)] // C's pointers

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use bytemuck::Pod;
use overtake::data::{
    Array, Bytes, KernelArgument, Max, Min, Operator, Reduce, Sum, discard, read, read_write, reduce_as, relaxed, write,
};

use crate::arrays::array::{self, overtake_array};
use crate::failure::{Failure, Outcome};
use crate::sized;
use crate::tasks::dispatcher::Home;

/// The computation reads the elements.
pub const OVERTAKE_USE_READ: c_int = 1;
/// It writes elements, and leaves others as they are: those that have been written are copied there.
pub const OVERTAKE_USE_WRITE: c_int = 2;
/// It reads and writes the elements.
pub const OVERTAKE_USE_READ_WRITE: c_int = 3;
/// It writes every element, and reads none: nothing is copied.
pub const OVERTAKE_USE_DISCARD: c_int = 4;
/// A kernel changes elements as others do at the same time, by atomic operations.
pub const OVERTAKE_USE_RELAXED: c_int = 5;

/// It adds to each element, as others do at the same time. It gets memory of its own, which starts from 0 or has
/// results of earlier ones, and is combined with the array before the next use that is no such reduction. The argument
/// has an element_type.
pub const OVERTAKE_USE_SUM: c_int = 6;
/// The same with the least value of both.
pub const OVERTAKE_USE_MIN: c_int = 7;
/// The same with the greatest value of both.
pub const OVERTAKE_USE_MAX: c_int = 8;

/// Elements of a reduction.
pub const OVERTAKE_TYPE_INT8: u32 = 1;
/// Elements of a reduction.
pub const OVERTAKE_TYPE_INT16: u32 = 2;
/// Elements of a reduction.
pub const OVERTAKE_TYPE_INT32: u32 = 3;
/// Elements of a reduction.
pub const OVERTAKE_TYPE_INT64: u32 = 4;
/// Elements of a reduction.
pub const OVERTAKE_TYPE_UINT8: u32 = 5;
/// Elements of a reduction.
pub const OVERTAKE_TYPE_UINT16: u32 = 6;
/// Elements of a reduction.
pub const OVERTAKE_TYPE_UINT32: u32 = 7;
/// Elements of a reduction.
pub const OVERTAKE_TYPE_UINT64: u32 = 8;
/// Elements of a reduction.
pub const OVERTAKE_TYPE_FLOAT32: u32 = 9;
/// Elements of a reduction.
pub const OVERTAKE_TYPE_FLOAT64: u32 = 10;

/// The bytes of an element of these types.
const TYPE_BYTES: [usize; 10] = [1, 2, 4, 8, 1, 2, 4, 8, 4, 8];

/// An argument of a computation: a use of an array, or a value of a kernel's.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Argument {
    /// The array, or null for a value.
    pub array: *mut overtake_array,
    /// One of OVERTAKE_USE_...; 0 for a value.
    pub mode: c_int,
    /// One of OVERTAKE_TYPE_... for a reduction; else 0.
    pub element_type: u32,
    /// The first element that is used.
    pub first: usize,
    /// The number of elements; 0 is all from the first on.
    pub count: usize,
    /// The value of a kernel's parameter, which is read by the call; null for a use.
    pub value: *const c_void,
    /// Its bytes; 0 for a use.
    pub value_bytes: usize,
}

/// An argument whose array is kept.
pub struct Kept {
    argument: Argument,
    array: Option<(Arc<Array<u8>>, std::ops::Range<usize>)>,
}

impl Kept {
    /// The arguments of an array of C, which are of this dispatcher.
    ///
    /// # Safety
    /// The array has as many arguments as it says.
    pub unsafe fn all(call: &str, list: (*const Argument, usize), home: Home) -> Outcome<Vec<Kept>> {
        // SAFETY: the caller's promise.
        let arguments = unsafe { sized::list(call, "arguments", list.0, list.1) }?;
        let keep = |(at, argument): (usize, &Argument)| Kept::new(call, at + 1, *argument, home);
        arguments.iter().enumerate().map(keep).collect()
    }

    fn new(call: &str, number: usize, argument: Argument, home: Home) -> Outcome<Kept> {
        let wrong = |text: &str| Failure::argument(&format!("{call}: argument {number}: {text}"));
        let is_reduction = (OVERTAKE_USE_SUM..=OVERTAKE_USE_MAX).contains(&argument.mode);
        if !is_reduction && argument.element_type != 0 {
            return Err(wrong("element_type is 0 for a use that is no reduction"));
        }
        if argument.array.is_null() {
            let has_bytes = (1..=isize::MAX as usize).contains(&argument.value_bytes);
            let is_value = !argument.value.is_null() && has_bytes && argument.mode == 0;
            let kept = Kept { argument, array: None };
            return is_value
                .then_some(kept)
                .ok_or_else(|| wrong("it has an array with a mode, or a value with its bytes"));
        }
        let made = array::find(call, argument.array)?;
        let has_value = !argument.value.is_null() || argument.value_bytes != 0;
        if has_value || !(OVERTAKE_USE_READ..=OVERTAKE_USE_MAX).contains(&argument.mode) {
            return Err(wrong("that of an array has a mode of OVERTAKE_USE_..., and no value"));
        }
        if made.home != home {
            return Err(wrong("its array belongs to another dispatcher"));
        }
        let type_bytes = (argument.element_type as usize).checked_sub(1).and_then(|at| TYPE_BYTES.get(at));
        if is_reduction && type_bytes != Some(&made.element_bytes) {
            return Err(wrong("a reduction has an element_type of OVERTAKE_TYPE_..., of as many bytes as an element"));
        }
        let bytes = made.bytes(call, argument.first, argument.count)?;
        Ok(Kept { argument, array: Some((made.array, bytes)) })
    }

    /// Whether it is a use.
    pub fn is_use(&self) -> bool {
        self.array.is_some()
    }

    /// Whether it is a use that only a kernel can make.
    pub fn is_relaxed(&self) -> bool {
        self.argument.mode == OVERTAKE_USE_RELAXED
    }

    /// The argument as the library takes it.
    pub fn argument(&self) -> Box<dyn KernelArgument + '_> {
        let Some((array, bytes)) = &self.array else {
            let Argument { value, value_bytes, .. } = self.argument;
            // SAFETY: not null, and the caller of the computation vouches for so many bytes.
            return Box::new(Bytes(unsafe { std::slice::from_raw_parts(value.cast::<u8>(), value_bytes) }));
        };
        let bytes = bytes.clone();
        match self.argument.mode {
            OVERTAKE_USE_READ => Box::new(read(array).part(bytes)),
            OVERTAKE_USE_WRITE => Box::new(write(array).part(bytes)),
            OVERTAKE_USE_DISCARD => Box::new(discard(array).part(bytes)),
            OVERTAKE_USE_RELAXED => Box::new(relaxed(array).part(bytes)),
            OVERTAKE_USE_SUM | OVERTAKE_USE_MIN | OVERTAKE_USE_MAX => Box::new(self.reduction(array).part(bytes)),
            _ => Box::new(read_write(array).part(bytes)),
        }
    }

    fn reduction<'a>(&self, array: &'a Array<u8>) -> Reduce<'a, u8> {
        match self.argument.element_type {
            OVERTAKE_TYPE_INT8 => self.operator::<i8>(array),
            OVERTAKE_TYPE_INT16 => self.operator::<i16>(array),
            OVERTAKE_TYPE_INT32 => self.operator::<i32>(array),
            OVERTAKE_TYPE_INT64 => self.operator::<i64>(array),
            OVERTAKE_TYPE_UINT8 => self.operator::<u8>(array),
            OVERTAKE_TYPE_UINT16 => self.operator::<u16>(array),
            OVERTAKE_TYPE_UINT32 => self.operator::<u32>(array),
            OVERTAKE_TYPE_UINT64 => self.operator::<u64>(array),
            OVERTAKE_TYPE_FLOAT32 => self.operator::<f32>(array),
            _ => self.operator::<f64>(array),
        }
    }

    fn operator<'a, T: Pod>(&self, array: &'a Array<u8>) -> Reduce<'a, u8>
    where
        Sum: Operator<T>,
        Min: Operator<T>,
        Max: Operator<T>,
    {
        match self.argument.mode {
            OVERTAKE_USE_SUM => reduce_as::<T, Sum>(array, Sum),
            OVERTAKE_USE_MIN => reduce_as::<T, Min>(array, Min),
            _ => reduce_as::<T, Max>(array, Max),
        }
    }
}
