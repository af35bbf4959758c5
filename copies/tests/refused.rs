//! A system that refuses the threads of staging: pageable copies are staged by those that it gives, and left to the
//! driver where it gives none.
#![allow(unsafe_code)] // stands before the C library's function; copies are unsafe: the memory outlives them

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::sync::Arc;

use hal::{Device, Driver};
use options::Options;
use overtake_copies::Overtake;
use overtake_copies::copy::{Plan, Reason};
use softgpu::SoftGpu;
use terms::Priority;

const BYTES: u64 = 3 << 20;

thread_local! {
    /// The number of the thread, among the next ones that this thread asks for, that the system refuses; 0 for none.
    static REFUSED: Cell<u32> = const { Cell::new(0) };
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
    if left == 1 {
        return libc::EAGAIN;
    }
    // SAFETY: the name is NUL-terminated, and the C library has a function of this name and type.
    let next =
        unsafe { std::mem::transmute::<*mut c_void, Create>(libc::dlsym(libc::RTLD_NEXT, c"pthread_create".as_ptr())) };
    // SAFETY: passed on to the caller.
    unsafe { next(thread, attributes, body, argument) }
}

/// Copies there and back while the system refuses the thread of this number. Returns the plans.
fn there_and_back(refused: u32) -> [Plan; 2] {
    let driver: Arc<dyn Driver> = Arc::new(SoftGpu::builder().build());
    let context = driver.primary_context_retain(Device(0)).unwrap();
    driver.context_set_current(Some(context)).unwrap();
    let options = Options { staging: true, staging_threads: 3, ..Options::default() };
    let overtake = Overtake::attach(&driver, Options { staging_bytes_min: BYTES, ..options }).unwrap();
    let stream = overtake.stream(Priority::LOWEST).unwrap();
    let device = driver.mem_alloc(BYTES).unwrap();
    let (source, mut target) = (vec![7_u8; BYTES as usize], vec![0_u8; BYTES as usize]);
    REFUSED.set(refused);
    // SAFETY: both sides have so many bytes, and outlive the copies; both are complete when the second call returns.
    let plans = unsafe {
        let there = stream.memcpy_htod_async(device, source.as_ptr(), BYTES).unwrap();
        let back = stream.memcpy_dtoh_async(target.as_mut_ptr(), device, BYTES).unwrap();
        [there.plan(), back.plan()]
    };
    assert_eq!(REFUSED.get(), 0, "so many threads were not asked for");
    assert!(target == source, "other bytes came back");
    let native = overtake.statistics().native.get(&Reason::Unstaged).map_or(0, |class| class.copies);
    assert_eq!(native + overtake.statistics().staged.copies, 2, "{:?}", overtake.statistics());
    drop((stream, overtake));
    driver.mem_free(device).unwrap();
    plans
}

#[test]
fn copies_take_the_threads_that_there_are() {
    let staged = Plan::Staged { raises: false };
    assert_eq!(there_and_back(0), [staged, staged]);
    assert_eq!(there_and_back(2), [staged, staged], "one of three threads");
    let native = Plan::Native(Reason::Unstaged);
    assert_eq!(there_and_back(1), [native, native], "no thread");
}
