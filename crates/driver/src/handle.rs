//! Handles of the seam as the driver's pointers, and back.

/// A handle or an address as a pointer. The driver made the number, or it is one of the driver's special ones.
pub fn pointer<T>(number: u64) -> *mut T {
    std::ptr::with_exposed_provenance_mut(number as usize)
}

/// A pointer of the driver's as the number that the seam carries.
pub fn number<T>(pointer: *mut T) -> u64 {
    pointer.expose_provenance() as u64
}
