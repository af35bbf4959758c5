//! The arguments of a computation: uses of arrays, and values.
#![allow(unsafe_code)] // C's pointers

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use overtake::data::{Array, Bytes, KernelArgument, discard, read, read_write, relaxed, write};

use crate::arrays::array::{self, overtake_array};
use crate::failure::{Failure, Outcome};
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

/// An argument of a computation: a use of an array, or a value of a kernel's.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Argument {
    /// The array, or null for a value.
    pub array: *mut overtake_array,
    /// One of OVERTAKE_USE_...; 0 for a value.
    pub mode: c_int,
    /// 0.
    pub reserved: u32,
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
        let arguments = match list {
            (_, 0) => &[][..],
            (start, _) if start.is_null() => {
                let text = format!("{call}: arguments is an array of arguments_count arguments, not null");
                return Err(Failure::argument(&text));
            }
            // SAFETY: not null; the caller's promise.
            (start, count) => unsafe { std::slice::from_raw_parts(start, count) },
        };
        let keep = |(at, argument): (usize, &Argument)| Kept::new(call, at + 1, *argument, home);
        arguments.iter().enumerate().map(keep).collect()
    }

    fn new(call: &str, number: usize, argument: Argument, home: Home) -> Outcome<Kept> {
        let wrong = |text: &str| Failure::argument(&format!("{call}: argument {number}: {text}"));
        if argument.reserved != 0 {
            return Err(wrong("reserved is 0"));
        }
        if argument.array.is_null() {
            let is_value = !argument.value.is_null() && argument.value_bytes > 0 && argument.mode == 0;
            let kept = Kept { argument, array: None };
            return is_value
                .then_some(kept)
                .ok_or_else(|| wrong("it has an array with a mode, or a value with its bytes"));
        }
        let made = array::find(call, argument.array)?;
        if !argument.value.is_null() || !(OVERTAKE_USE_READ..=OVERTAKE_USE_RELAXED).contains(&argument.mode) {
            return Err(wrong("that of an array has a mode of OVERTAKE_USE_..., and no value"));
        }
        if made.home != home {
            return Err(wrong("its array belongs to another dispatcher"));
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
            _ => Box::new(read_write(array).part(bytes)),
        }
    }
}
