//! A system that refuses threads.
#![allow(unsafe_code)] // a function of the C library's name, which calls that function

/// Defines a function that stands before the C library's `pthread_create`, and refuses threads. A macro, because the
/// function must be in the test program that wants it, and in no other. The program needs the crate `libc`.
#[macro_export]
macro_rules! refused_threads {
    () => {
        use std::cell::Cell;
        use std::ffi::{c_int, c_void};
        use std::sync::atomic::{AtomicU32, Ordering};

        /// The number of the thread, among the next ones that any thread asks for, that the system refuses; 0 for none.
        pub static REFUSED_TO_ANY: AtomicU32 = AtomicU32::new(0);

        thread_local! {
            /// The same, among the next ones that this thread asks for.
            pub static REFUSED: Cell<u32> = const { Cell::new(0) };
        }

        type Create = unsafe extern "C" fn(
            *mut libc::pthread_t,
            *const libc::pthread_attr_t,
            extern "C" fn(*mut c_void) -> *mut c_void,
            *mut c_void,
        ) -> c_int;

        /// Stands before the C library's function of this name.
        ///
        /// # Safety
        /// As for that function.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn pthread_create(
            thread: *mut libc::pthread_t,
            attributes: *const libc::pthread_attr_t,
            body: extern "C" fn(*mut c_void) -> *mut c_void,
            argument: *mut c_void,
        ) -> c_int {
            let left = REFUSED.get();
            REFUSED.set(left.saturating_sub(1));
            let one_less = |left: u32| Some(left.saturating_sub(1));
            let to_any = REFUSED_TO_ANY.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less);
            if left == 1 || to_any == Ok(1) {
                return libc::EAGAIN;
            }
            // SAFETY: the name is NUL-terminated, and the C library has a function of this name and type.
            let next = unsafe {
                std::mem::transmute::<*mut c_void, Create>(libc::dlsym(libc::RTLD_NEXT, c"pthread_create".as_ptr()))
            };
            // SAFETY: passed on to the caller.
            unsafe { next(thread, attributes, body, argument) }
        }
    };
}
