//! Structures of C that begin with their size, so that programs and libraries of different versions agree on them.
#![allow(unsafe_code)] // the caller's structures, of the size that they say

use std::mem::{MaybeUninit, size_of};
use std::ptr::NonNull;

use crate::failure::{Failure, Outcome};

/// The size that a structure says, if it has all fields of the first version.
///
/// # Safety
/// `pointer` is null or points at a structure that begins with its size, a `uint32_t`.
unsafe fn size<T>(call: &str, name: &str, pointer: *const T, bytes_min: usize) -> Outcome<usize> {
    let Some(pointer) = NonNull::new(pointer.cast_mut()) else {
        return Err(Failure::argument(&format!("{call}: {name} is null")));
    };
    // SAFETY: not null, and every version of the structure begins with its size.
    let bytes = unsafe { pointer.cast::<u32>().read() } as usize;
    match bytes < bytes_min {
        true => {
            let text = format!("{call}: set struct_size of {name} to the size of its structure before the call");
            Err(Failure::argument(&text))
        }
        false => Ok(bytes),
    }
}

/// An error if a structure cannot be written.
///
/// # Safety
/// As for [`read`].
pub unsafe fn check<T>(call: &str, name: &str, pointer: *const T, bytes_min: usize) -> Outcome {
    // SAFETY: passed on to the caller.
    unsafe { size(call, name, pointer, bytes_min) }.map(drop)
}

/// Reads a structure. Fields that the caller does not know are 0. Fields that the library does not know must be.
///
/// # Safety
/// `pointer` is null or points at a structure of the size that its first field, a `uint32_t`, says. Bytes of 0 are a
/// value of `T`.
pub unsafe fn read<T: Copy>(call: &str, name: &str, pointer: *const T, bytes_min: usize) -> Outcome<T> {
    // SAFETY: passed on to the caller.
    let bytes = unsafe { size(call, name, pointer, bytes_min) }?;
    let known = bytes.min(size_of::<T>());
    let mut value = MaybeUninit::<T>::zeroed();
    // SAFETY: the caller's structure has `bytes` bytes; `known` of them are copied to a value that has as many, and the
    // others are looked at. Bytes of 0 are a value, and so are those of the caller's structure.
    let (value, rest) = unsafe {
        value.as_mut_ptr().cast::<u8>().copy_from_nonoverlapping(pointer.cast(), known);
        (value.assume_init(), std::slice::from_raw_parts(pointer.cast::<u8>().add(known), bytes - known))
    };
    match rest.iter().all(|byte| *byte == 0) {
        true => Ok(value),
        false => {
            let text = format!("{call}: {name} has fields that this library does not know: install a newer one");
            Err(Failure::argument(&text))
        }
    }
}

/// Writes `fresh` into a structure. Fields that the library does not know become 0.
///
/// # Safety
/// As for [`read`], and the structure may be written.
pub unsafe fn write<T: Copy>(call: &str, name: &str, output: *mut T, bytes_min: usize, fresh: &T) -> Outcome {
    // SAFETY: passed on to the caller.
    let room = unsafe { size(call, name, output, bytes_min) }?;
    let known = room.min(size_of::<T>());
    // SAFETY: the caller's structure has `room` bytes, of which `known` are written from a structure that has as many,
    // and the rest, where there is any, is cleared.
    unsafe {
        output.cast::<u8>().copy_from_nonoverlapping(std::ptr::from_ref(fresh).cast(), known);
        output.cast::<u8>().add(known).write_bytes(0, room - known);
    }
    Ok(())
}

/// The elements of an array of the caller's. No array has more bytes than an address space.
///
/// # Safety
/// `start` is null or points at `count` elements, which outlive the result.
pub unsafe fn slice<'a, T>(call: &str, name: &str, start: *const T, count: usize) -> Outcome<&'a [T]> {
    let wrong = |why: &str| Failure::argument(&format!("{call}: {name} is an array of {count} elements, {why}"));
    match count.checked_mul(size_of::<T>()) {
        Some(0) => Ok(&[]),
        Some(_) if start.is_null() => Err(wrong("not null")),
        // SAFETY: not null, the caller's promise for so many, and no more than a slice may have.
        Some(bytes) if isize::try_from(bytes).is_ok() => Ok(unsafe { std::slice::from_raw_parts(start, count) }),
        _ => Err(wrong("more than there is memory for")),
    }
}

/// The elements of an array of a structure, whose field behind it has their number. Where the program has set one of
/// the two alone, it has forgotten the other, and what it asked for would be lost.
///
/// # Safety
/// As for [`slice()`].
pub unsafe fn list<'a, T>(call: &str, name: &str, start: *const T, count: usize) -> Outcome<&'a [T]> {
    match (start.is_null(), count) {
        (false, 0) => Err(Failure::argument(&format!(
            "{call}: {name} is set, but {name}_count is 0: set {name}_count to the number of its elements, or {name} \
             to null"
        ))),
        (true, 1..) => Err(Failure::argument(&format!(
            "{call}: {name} is null, but {name}_count is {count}: set {name} to an array of so many elements, or \
             {name}_count to 0"
        ))),
        // SAFETY: passed on to the caller.
        _ => unsafe { slice(call, name, start, count) },
    }
}

/// The size of a structure, as its first field has it.
pub fn bytes_of<T>() -> u32 {
    u32::try_from(size_of::<T>()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq)]
    #[repr(C)]
    struct First {
        struct_size: u32,
        one: u32,
    }

    #[derive(Clone, Copy, Debug, PartialEq)]
    #[repr(C)]
    struct Second {
        first: First,
        two: u64,
    }

    /// Reads a structure as its first version has it.
    fn first_of(structure: &Second) -> Outcome<First> {
        // SAFETY: the tests' structures have the size that they say, or are refused for it.
        unsafe { read("call", "it", std::ptr::from_ref(structure).cast::<First>(), 8) }
    }

    #[test]
    fn structures_of_other_versions_are_read_as_far_as_both_sides_know_them() {
        let old = Second { first: First { struct_size: 8, one: 1 }, two: 99 };
        // SAFETY: the structure says less than its size.
        let read_old = unsafe { read("call", "it", &raw const old, 8) }.unwrap();
        assert_eq!(read_old, Second { two: 0, ..old }, "the caller does not know the second field");
        let mut new = Second { first: First { struct_size: 16, one: 2 }, two: 0 };
        assert_eq!(first_of(&new), Ok(new.first));
        new.two = 1;
        let refused = first_of(&new).unwrap_err();
        assert!(refused.text.to_str().unwrap().contains("install a newer one"), "{refused:?}");
        new.first.struct_size = 7;
        assert!(first_of(&new).is_err());
        // SAFETY: a null pointer is refused.
        assert!(unsafe { read("call", "it", std::ptr::null::<First>(), 8) }.is_err());
    }

    #[test]
    fn arrays_are_no_longer_than_memory() {
        let numbers = [1_u64, 2];
        let said = |failure: Failure| failure.text.to_str().unwrap().to_owned();
        // SAFETY: the array has as many elements as it says, or is refused without a look at it.
        unsafe {
            assert_eq!(slice("call", "after", numbers.as_ptr(), 2), Ok(&numbers[..]));
            assert_eq!(slice("call", "after", std::ptr::null::<u64>(), 0), Ok(&[][..]));
            let refused = slice("call", "after", std::ptr::null::<u64>(), 1).unwrap_err();
            assert_eq!(said(refused), "call: after is an array of 1 elements, not null");
            for count in [usize::MAX, usize::MAX / 8, isize::MAX as usize / 8 + 1] {
                let refused = slice("call", "after", numbers.as_ptr(), count).unwrap_err();
                assert!(said(refused).ends_with("more than there is memory for"), "{count}");
            }
        }
    }

    #[test]
    fn an_array_of_a_structure_and_its_number_are_both_set_or_neither() {
        let numbers = [1_u64, 2];
        let said = |failure: Failure| failure.text.to_str().unwrap().to_owned();
        // SAFETY: the array has as many elements as it says, or is refused without a look at it.
        unsafe {
            assert_eq!(list("call", "after", numbers.as_ptr(), 2), Ok(&numbers[..]));
            assert_eq!(list("call", "after", std::ptr::null::<u64>(), 0), Ok(&[][..]));
            let refused = said(list("call", "after", numbers.as_ptr(), 0).unwrap_err());
            let cure = "set after_count to the number of its elements, or after to null";
            assert_eq!(refused, format!("call: after is set, but after_count is 0: {cure}"));
            let refused = said(list("call", "after", std::ptr::null::<u64>(), 3).unwrap_err());
            let cure = "set after to an array of so many elements, or after_count to 0";
            assert_eq!(refused, format!("call: after is null, but after_count is 3: {cure}"));
        }
    }

    #[test]
    fn only_the_callers_bytes_are_written() {
        let mut old = Second { first: First { struct_size: 8, one: 1 }, two: 99 };
        let fresh = Second { first: First { struct_size: 16, one: 5 }, two: 6 };
        // SAFETY: the structure says less than its size.
        unsafe { write("call", "it", &raw mut old, 8, &fresh) }.unwrap();
        assert_eq!(old, Second { first: fresh.first, two: 99 });
        let mut new = Second { first: First { struct_size: 16, one: 1 }, two: 99 };
        // SAFETY: the structure has the size that it says.
        unsafe { write("call", "it", (&raw mut new).cast::<First>(), 8, &First { struct_size: 8, one: 3 }) }.unwrap();
        assert_eq!(new, Second { first: First { struct_size: 8, one: 3 }, two: 0 });
    }
}
