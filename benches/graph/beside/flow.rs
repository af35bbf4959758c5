//! oneTBB's flow graph, in a library that `benches/graph/beside.sh` builds of `flow.cpp`.
#![allow(unsafe_code)] // calls into C++

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::Path;

/// The functions of `flow.cpp`.
#[derive(Clone, Copy)]
pub struct Library {
    version: unsafe extern "C" fn() -> *const c_char,
    open: unsafe extern "C" fn(c_int) -> *mut c_void,
    close: unsafe extern "C" fn(*mut c_void),
    build: unsafe extern "C" fn(*mut c_void, c_int, c_int) -> *mut c_void,
    run: unsafe extern "C" fn(*mut c_void, *mut c_void) -> u64,
    drop: unsafe extern "C" fn(*mut c_void, *mut c_void),
}

impl Library {
    pub fn load(path: &Path) -> Result<Library, String> {
        let name = CString::new(path.as_os_str().as_encoded_bytes()).map_err(|error| error.to_string())?;
        // SAFETY: the name ends with a zero. The library is built of `flow.cpp` and oneTBB, whose constructors ask for
        // nothing; it is never unloaded.
        let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW) };
        if library.is_null() {
            // SAFETY: after a failure `dlerror` returns a text that lives until the next call of this thread.
            let error = unsafe { CStr::from_ptr(libc::dlerror()) };
            return Err(error.to_string_lossy().into_owned());
        }
        // SAFETY: the types are those of the functions of these names in `flow.cpp`.
        unsafe {
            Ok(Library {
                version: find(library, c"beside_version")?,
                open: find(library, c"beside_open")?,
                close: find(library, c"beside_close")?,
                build: find(library, c"beside_build")?,
                run: find(library, c"beside_run")?,
                drop: find(library, c"beside_drop")?,
            })
        }
    }

    pub fn version(&self) -> String {
        // SAFETY: it returns a text that is never freed.
        unsafe { CStr::from_ptr((self.version)()) }.to_string_lossy().into_owned()
    }
}

/// A function of a library.
///
/// # Safety
///
/// `F` is the type of the function that has this name in the library, which `dlopen` has returned.
unsafe fn find<F: Copy>(library: *mut c_void, name: &CStr) -> Result<F, String> {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
    // SAFETY: the caller's library is loaded, and the name ends with a zero.
    let found = unsafe { libc::dlsym(library, name.as_ptr()) };
    if found.is_null() {
        return Err(format!("it has no {}", name.to_string_lossy()));
    }
    // SAFETY: it is not null, and the caller says that it is an `F`, which has the size of a pointer.
    Ok(unsafe { std::mem::transmute_copy(&found) })
}

/// Threads of oneTBB.
pub struct Threads {
    library: Library,
    threads: *mut c_void,
}

impl Threads {
    pub fn new(library: Library, count: usize) -> Threads {
        // SAFETY: a count is all that it asks for.
        Threads { library, threads: unsafe { (library.open)(count as c_int) } }
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        // SAFETY: `open` returned it, and no flow borrows it any more.
        unsafe { (self.library.close)(self.threads) }
    }
}

/// Chains of nodes.
pub struct Flow<'t> {
    threads: &'t Threads,
    flow: *mut c_void,
}

impl Flow<'_> {
    pub fn new(threads: &Threads, chains: usize, length: usize) -> Flow<'_> {
        // SAFETY: `open` returned the threads, and they outlive the flow.
        let flow = unsafe { (threads.library.build)(threads.threads, chains as c_int, length as c_int) };
        Flow { threads, flow }
    }

    /// Returns how many tasks have run.
    pub fn run(&self) -> u64 {
        // SAFETY: `build` returned the flow with these threads, and this thread is the only one that runs it.
        unsafe { (self.threads.library.run)(self.threads.threads, self.flow) }
    }
}

impl Drop for Flow<'_> {
    fn drop(&mut self) {
        // SAFETY: `build` returned the flow with these threads, and it does not run.
        unsafe { (self.threads.library.drop)(self.threads.threads, self.flow) }
    }
}
