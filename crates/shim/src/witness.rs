//! The thread and the library of a call. They are looked up only for rules that name them.
#![allow(unsafe_code)]

use std::ffi::CStr;

/// The calling thread's name in the system.
pub(crate) fn thread_name() -> String {
    let mut name = [0_u8; 16];
    // SAFETY: the buffer has the 16 bytes that PR_GET_NAME writes, NUL included.
    unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
    String::from_utf8_lossy(name.split(|byte| *byte == 0).next().unwrap_or_default()).into_owned()
}

/// The file name of the library around an address; empty if there is none.
pub(crate) fn library_of(address: usize) -> String {
    // SAFETY: the structure is plain data, for which zeroes are valid.
    let mut found: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: dladdr takes any address and writes to a live local.
    let known = unsafe { libc::dladdr(std::ptr::without_provenance(address), &mut found) } != 0;
    if !known || found.dli_fname.is_null() {
        return String::new();
    }
    // SAFETY: a NUL-terminated path, which the loader keeps while the library is open; its code is running.
    let path = unsafe { CStr::from_ptr(found.dli_fname) }.to_string_lossy().into_owned();
    path.rsplit('/').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callers_are_known_by_name() {
        let thread = std::thread::Builder::new().name("loader-7".to_owned());
        assert_eq!(thread.spawn(thread_name).unwrap().join().unwrap(), "loader-7");
        assert!(library_of(callers_are_known_by_name as fn() as usize).contains("shim"));
        assert_eq!(library_of(0), "");
    }
}
