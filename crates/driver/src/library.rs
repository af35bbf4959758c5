//! The driver's library. It is never closed again, because the driver has threads of its own that run in it.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, OsStr, OsString, c_char, c_void};
use std::os::unix::ffi::OsStrExt;
use std::ptr::NonNull;

use hal::{Code, Result};

/// The variable that names another library.
pub const LIBRARY_VARIABLE: &str = "OVERTAKE_LIBCUDA";

/// The library that every NVIDIA driver installs.
const LIBRARY_NAME: &str = "libcuda.so.1";

/// The remedy for a missing library.
const CURE: &str = "install the NVIDIA driver (525 or newer; it brings libcuda.so.1), start a container with its GPUs \
                    (docker run --gpus all), or set OVERTAKE_LIBCUDA to the path of a libcuda.so.1, such as the \
                    software GPU's in lib/overtake/soft";

/// The function that looks symbols up: `dlsym`, or the real one where the process has another in its place.
pub type Lookup = unsafe extern "C" fn(handle: *mut c_void, name: *const c_char) -> *mut c_void;

/// An open library.
#[derive(Debug)]
pub struct Library {
    handle: NonNull<c_void>,
    name: OsString,
    lookup: Lookup,
}

// SAFETY: the handle is only ever passed to dlsym, which takes any handle from any thread, and it is never closed.
unsafe impl Send for Library {}
// SAFETY: as above: dlsym on one handle from several threads is allowed.
unsafe impl Sync for Library {}

impl Library {
    /// Opens the library that the environment names, or the installed one.
    pub fn open_default() -> Result<Library> {
        match os::variable::path(LIBRARY_VARIABLE) {
            Some(name) => Library::open(&name),
            None => Library::open(OsStr::new(LIBRARY_NAME)),
        }
    }

    /// Opens the library of this name or path.
    pub fn open(name: &OsStr) -> Result<Library> {
        let refused = |why: &str| {
            // The loader's message begins with the name of the library that it did not find, most often this one.
            let name = name.display().to_string();
            let why = if why.starts_with(&name) { why.to_owned() } else { format!("{name}: {why}") };
            Code::SHARED_OBJECT_INIT_FAILED.at("dlopen").because(format!("{why}; {CURE}"))
        };
        let Ok(path) = CString::new(name.as_bytes()) else {
            return Err(refused("the name holds a NUL byte"));
        };
        // SAFETY: `path` is a NUL-terminated string that outlives the call. The library's initialisers run, as a caller
        // that names a CUDA driver wants.
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        match NonNull::new(handle) {
            Some(handle) => Ok(Library { handle, name: name.to_owned(), lookup: libc::dlsym }),
            None => Err(refused(&last_error())),
        }
    }

    /// A library that other code has opened, with that code's lookup function.
    ///
    /// # Safety
    /// `handle` is a handle of dlopen's that is never closed, and `lookup` takes it as `dlsym` does.
    #[must_use]
    pub unsafe fn with_lookup(handle: NonNull<c_void>, name: &OsStr, lookup: Lookup) -> Library {
        Library { handle, name: name.to_owned(), lookup }
    }

    /// The address of an exported symbol.
    #[must_use]
    pub fn symbol(&self, name: &CStr) -> Option<NonNull<c_void>> {
        // SAFETY: the handle came from dlopen and was never closed; `name` is NUL-terminated and outlives the call;
        // `lookup` is dlsym, or behaves like it by its caller's promise.
        NonNull::new(unsafe { (self.lookup)(self.handle.as_ptr(), name.as_ptr()) })
    }

    /// The name by which it was opened.
    #[must_use]
    pub fn name(&self) -> &OsStr {
        &self.name
    }
}

/// The loader's message about its last failure on this thread.
fn last_error() -> String {
    // SAFETY: dlerror returns null or a NUL-terminated string that stays valid until the thread's next dl call; it is
    // copied before that.
    let message = unsafe {
        let text = libc::dlerror();
        (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
    };
    message.unwrap_or_else(|| "the loader gave no reason".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absent_library_is_an_error_that_names_the_cure() {
        let error = Library::open(OsStr::new("/nonexistent/libcuda.so.1")).unwrap_err();
        assert_eq!((error.code(), error.call()), (Code::SHARED_OBJECT_INIT_FAILED, "dlopen"));
        let text = error.to_string();
        for part in ["install the NVIDIA driver", "--gpus all", "OVERTAKE_LIBCUDA", "lib/overtake/soft"] {
            assert!(text.contains(part), "{text}");
        }
        assert_eq!(text.matches("/nonexistent/libcuda.so.1").count(), 1, "{text}");
        assert!(!text.contains("OVERTAKE_BACKEND"), "only the crate backend knows it: {text}");
    }

    #[test]
    fn a_name_with_a_nul_byte_is_refused() {
        let error = Library::open(OsStr::new("lib\0cuda")).unwrap_err();
        assert!(error.to_string().contains("NUL byte"), "{error}");
    }
}
