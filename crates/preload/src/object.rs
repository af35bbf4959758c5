//! The shared objects of this process, found without allocating: their addresses and names, which one is this library,
//! and which one is a driver.
#![allow(unsafe_code)] // the loader hands out C structures

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ops::Range;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::pages::Pages;

/// The part of a driver's file name that all versions share.
const DRIVER_FILE: &[u8] = b"libcuda.so";

/// Calls `look` with the value of an environment variable. Rust's own function would allocate.
pub fn environment<T>(name: &CStr, look: impl FnOnce(Option<&[u8]>) -> T) -> T {
    // SAFETY: `name` is NUL-terminated. The value stays in place unless another thread changes the environment
    // meanwhile, which no program may do while others read it.
    let value = unsafe {
        let value = libc::getenv(name.as_ptr());
        (!value.is_null()).then(|| CStr::from_ptr(value).to_bytes())
    };
    look(value)
}

/// The part of a path after the last slash.
pub fn file_name(path: &[u8]) -> &[u8] {
    path.rsplit(|&byte| byte == b'/').next().unwrap_or(path)
}

/// One loaded object. The name stays valid as long as the object is loaded.
#[derive(Clone, Debug)]
pub struct Object<'a> {
    /// The path that the loader knows it by; empty for the program itself.
    pub name: &'a CStr,
    pub range: Range<usize>,
}

impl Object<'_> {
    /// Whether its file name is a driver's. This library has such a name too when it stands in for a driver.
    pub fn is_called_driver(&self) -> bool {
        file_name(self.name.to_bytes()).starts_with(DRIVER_FILE)
    }
}

/// Calls `look` with every loaded object until it answers.
pub fn each<T>(look: impl FnMut(&Object) -> Option<T>) -> Option<T> {
    struct Search<F, T> {
        look: F,
        found: Option<T>,
    }

    unsafe extern "C" fn visit<F: FnMut(&Object) -> Option<T>, T>(
        info: *mut libc::dl_phdr_info,
        _: usize,
        search: *mut c_void,
    ) -> c_int {
        // SAFETY: `search` is the local of `each` below, which waits for the iteration and lends it to no other code;
        // the loader passes a structure that is valid for the call.
        let (search, info) = unsafe { (&mut *search.cast::<Search<F, T>>(), &*info) };
        // SAFETY: as above.
        search.found = unsafe { object(info) }.and_then(|object| (search.look)(&object));
        c_int::from(search.found.is_some())
    }

    let mut search = Search { look, found: None };
    let pointer: *mut Search<_, T> = &mut search;
    // SAFETY: the callback has the prototype that the loader wants, and takes back the pointer it is given here.
    unsafe { libc::dl_iterate_phdr(Some(visit_of(&search.look)), pointer.cast()) };

    /// Names the callback for a closure, whose type has no name.
    fn visit_of<F: FnMut(&Object) -> Option<T>, T>(
        _: &F,
    ) -> unsafe extern "C" fn(*mut libc::dl_phdr_info, usize, *mut c_void) -> c_int {
        visit::<F, T>
    }
    search.found
}

/// # Safety
/// The loader has passed `info` to a callback of `dl_iterate_phdr`.
unsafe fn object(info: &libc::dl_phdr_info) -> Option<Object<'_>> {
    if info.dlpi_phdr.is_null() {
        return None;
    }
    // SAFETY: the loader says how many headers there are, and they lie in the object, which stays loaded meanwhile.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    let loaded = || headers.iter().filter(|header| header.p_type == libc::PT_LOAD);
    let start = loaded().map(|header| header.p_vaddr).min()?;
    let end = loaded().map(|header| header.p_vaddr + header.p_memsz).max()?;
    let name = match info.dlpi_name.is_null() {
        true => c"",
        // SAFETY: not null, and the loader's names are NUL-terminated and live as long as the object.
        false => unsafe { CStr::from_ptr(info.dlpi_name) },
    };
    let at = |address: u64| (info.dlpi_addr.wrapping_add(address)) as usize;
    Some(Object { name, range: at(start)..at(end) })
}

/// The answer of `look` about the object that this address lies in.
pub fn containing<T>(address: *const c_void, look: impl Fn(&Object) -> T) -> Option<T> {
    each(|object| object.range.contains(&address.addr()).then(|| look(object)))
}

/// Whether an address lies in the program itself, whose name is empty.
pub fn is_program(address: *const c_void) -> bool {
    containing(address, |object| object.name.is_empty()).unwrap_or(false)
}

/// An address inside this library.
fn here() -> *const c_void {
    here as fn() -> *const c_void as *const c_void
}

/// Whether an address lies in this library.
pub fn is_ours(address: *const c_void) -> bool {
    static OWN: Pages = Pages::unknown();
    if OWN.get().is_none() {
        containing(here(), |object| OWN.settle(&object.range));
    }
    OWN.get().is_some_and(|own| own.contains(&address.addr()))
}

/// The path of this library. It stays valid, because the library is never unloaded.
pub fn own_path() -> *const c_char {
    containing(here(), |object| object.name.as_ptr()).unwrap_or(c"".as_ptr())
}

/// The path of this library; `/proc/self/exe` where this code is linked into a program.
pub fn own_path_bytes() -> &'static [u8] {
    // SAFETY: [`own_path`] is NUL-terminated and valid for ever.
    match unsafe { CStr::from_ptr(own_path()) }.to_bytes() {
        [] => b"/proc/self/exe",
        path => path,
    }
}

pub fn driver_is_loaded() -> bool {
    each(|object| object.is_called_driver().then_some(())).is_some()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deployment {
    /// `LD_PRELOAD` (or `/etc/ld.so.preload`).
    Preload = 1,
    /// Under the name of the driver's library.
    Shadow,
    /// An audit module has redirected requests for the driver to this file.
    Audit,
}

impl Deployment {
    /// The word in reports.
    pub fn name(self) -> &'static CStr {
        match self {
            Deployment::Preload => c"preload",
            Deployment::Shadow => c"shadow",
            Deployment::Audit => c"audit",
        }
    }
}

/// The answer of the first call stays. Neither allocates nor locks after that.
pub fn deployment() -> Deployment {
    static DECIDED: AtomicU8 = AtomicU8::new(0);
    match DECIDED.load(Ordering::Relaxed) {
        1 => Deployment::Preload,
        2 => Deployment::Shadow,
        3 => Deployment::Audit,
        _ => {
            let decided = decide();
            DECIDED.store(decided as u8, Ordering::Relaxed);
            decided
        }
    }
}

fn decide() -> Deployment {
    let called_driver = containing(here(), |object| object.is_called_driver()).unwrap_or(false);
    let own = file_name(own_path_bytes());
    let names_us = |list: Option<&[u8]>| list.is_some_and(|list| lists(list, own));
    match called_driver {
        true => Deployment::Shadow,
        false if environment(c"LD_PRELOAD", names_us) => Deployment::Preload,
        false if environment(c"LD_AUDIT", names_us) => Deployment::Audit,
        false => Deployment::Preload,
    }
}

/// Whether a list of paths, between colons or spaces, holds a file of this name.
fn lists(list: &[u8], file: &[u8]) -> bool {
    list.split(|byte| matches!(byte, b':' | b' ')).any(|path| file_name(path) == file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_objects_of_this_process_are_found() {
        assert!(is_ours(here()));
        assert!(!is_ours(libc::getenv as *const c_void));
        let libc = containing(libc::getenv as *const c_void, |object| file_name(object.name.to_bytes()).to_vec());
        assert!(libc.is_some_and(|name| name.starts_with(b"libc.so")));
        assert_eq!(containing(std::ptr::null(), |_| ()), None);
    }

    #[test]
    fn drivers_are_known_by_their_file_names() {
        let called = |name| Object { name, range: 0..1 }.is_called_driver();
        assert!(called(c"/usr/lib/libcuda.so.1") && called(c"libcuda.so.580.65.06"));
        assert!(!called(c"/usr/lib/libcudart.so.13") && !called(c"") && !called(c"/libcuda.so.1/other.so"));
    }

    #[test]
    fn lists_of_libraries_are_told_apart_by_file() {
        assert!(lists(b"/a/x.so:/b/y.so z.so", b"y.so") && lists(b"z.so", b"z.so"));
        assert!(!lists(b"/a/x.so.1", b"x.so") && !lists(b"", b"x.so"));
    }
}
