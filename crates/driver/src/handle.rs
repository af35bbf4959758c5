//! Handles of the seam as the driver's pointers, and back.

/// A handle or an address as a pointer. The number comes from the driver, or is one of its special handles.
pub fn pointer<T>(number: u64) -> *mut T {
    std::ptr::with_exposed_provenance_mut(number as usize)
}

/// A pointer of the driver as the seam's number.
pub fn number<T>(pointer: *mut T) -> u64 {
    pointer.expose_provenance() as u64
}
