//! Rights: whether a use of an array only reads, as a type for the compiler.
#![allow(unsafe_code)] // views are made of addresses

use std::marker::PhantomData;

use bytemuck::Pod;

/// Elements in memory of the host.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    pub(super) start: u64,
    pub(super) elements: usize,
}

/// A use that only reads: its view is a slice.
#[derive(Clone, Copy, Debug)]
pub struct Reads<T>(PhantomData<fn() -> T>);

/// A use that writes: its view is a mutable slice.
#[derive(Clone, Copy, Debug)]
pub struct Writes<T>(PhantomData<fn() -> T>);

/// The right of a use: [`Reads`] or [`Writes`].
pub trait Right: sealed::Sealed + 'static {
    /// The elements of the array.
    type Element: Pod;
    /// The elements as a function of the host sees them.
    type View<'v>;

    /// # Safety
    /// The elements are there and initialised for `'v`. Meanwhile no other part writes them, and if the view is mutable
    /// none reads them.
    #[doc(hidden)]
    unsafe fn view<'v>(place: Place) -> Self::View<'v>;
}

mod sealed {
    pub trait Sealed {}
    impl<T> Sealed for super::Reads<T> {}
    impl<T> Sealed for super::Writes<T> {}
}

impl<T: Pod> Right for Reads<T> {
    type Element = T;
    type View<'v> = &'v [T];

    unsafe fn view<'v>(place: Place) -> &'v [T] {
        // SAFETY: the caller vouches for it; arrays are aligned.
        unsafe { std::slice::from_raw_parts(place.start as *const T, place.elements) }
    }
}

impl<T: Pod> Right for Writes<T> {
    type Element = T;
    type View<'v> = &'v mut [T];

    unsafe fn view<'v>(place: Place) -> &'v mut [T] {
        // SAFETY: the caller vouches for it; arrays are aligned.
        unsafe { std::slice::from_raw_parts_mut(place.start as *mut T, place.elements) }
    }
}
