//! Contexts that end before their clones: only a model lets a test use a destroyed one.

use std::sync::Arc;

use hal::{Code, Device, Driver};
use softgpu::{Fault, SoftGpu};

use super::CudaContext;

fn machine() -> (SoftGpu, Arc<dyn Driver>) {
    let gpu = SoftGpu::builder().build();
    (gpu.clone(), Arc::new(gpu))
}

#[test]
fn a_context_that_was_destroyed_elsewhere_is_named_with_the_remedy_and_never_entered_again() {
    let (_, driver) = machine();
    let theirs = CudaContext::create(&driver, Device(0)).unwrap();
    let lent = CudaContext::adopt(&driver, theirs.raw()).unwrap();
    let home = driver.primary_context_retain(Device(0)).unwrap();
    driver.context_set_current(Some(home)).unwrap();
    drop(theirs);

    let first = lent.enter().map(drop).unwrap_err();
    assert_eq!((first.call(), first.code()), ("cuCtxSetCurrent", Code::INVALID_CONTEXT));
    assert!(first.detail().unwrap().contains("open again in a new context"), "{first}");
    assert_eq!(driver.context_current().unwrap(), Some(home), "the thread keeps its own");
    // Each call of the driver takes time, and so does each look at the clock.
    let times = [driver.host().now(), driver.host().now()];
    let again = lent.call(|driver| driver.mem_alloc(64)).unwrap_err();
    let after = driver.host().now();
    assert_eq!((again, after - times[1]), (first.clone(), times[1] - times[0]), "no call is made in it again");
    assert_eq!(lent.validity().unwrap_err(), first);
}

#[test]
fn nothing_of_another_context_is_freed_in_place_of_a_dead_one() {
    let (_, driver) = machine();
    let dead = CudaContext::create(&driver, Device(0)).unwrap();
    let lent = CudaContext::adopt(&driver, dead.raw()).unwrap();
    drop(dead);
    let home = CudaContext::primary(&driver, Device(0)).unwrap();
    let _entered = home.enter().unwrap();
    let memory = driver.mem_alloc(4096).unwrap();
    let freed = lent.call(|driver| driver.mem_free(memory));
    assert_eq!(freed.unwrap_err().code(), Code::INVALID_CONTEXT);
    assert!(home.is_current());
    driver.mem_free(memory).unwrap();
}

#[test]
fn a_destroyed_context_that_is_still_current_is_found_by_the_first_call() {
    let (_, driver) = machine();
    let theirs = CudaContext::create(&driver, Device(0)).unwrap();
    let lent = CudaContext::adopt(&driver, theirs.raw()).unwrap();
    let _entered = lent.enter().unwrap();
    let (elsewhere, raw) = (Arc::clone(&driver), lent.raw());
    let destroyer = hal::spawn(&driver, "destroyer", move || elsewhere.context_destroy(raw)).unwrap();
    destroyer.join(driver.host()).unwrap();
    let error = lent.call(|driver| driver.mem_alloc(64)).unwrap_err();
    assert_eq!(error.code(), Code::CONTEXT_IS_DESTROYED);
    assert!(error.detail().unwrap().contains("destroyed before"), "{error}");
    assert_eq!(lent.enter().map(drop).unwrap_err(), error);
    std::mem::forget(theirs); // its context is gone already
}

#[test]
fn a_failed_device_is_told_and_its_context_still_given_back() {
    let (gpu, driver) = machine();
    let own = CudaContext::create(&driver, Device(0)).unwrap();
    gpu.inject(Fault::LoseDevice { device: 0 });
    let error = own.call(|driver| driver.mem_alloc(64)).unwrap_err();
    assert_eq!(error.code(), Code::UNKNOWN);
    assert!(error.detail().unwrap().contains("device has failed"), "{error}");
    assert_eq!(own.enter().map(drop).unwrap_err(), error);
    let raw = own.raw();
    drop(own);
    assert_eq!(driver.context_destroy(raw).unwrap_err().code(), Code::INVALID_CONTEXT, "it was destroyed");
}

#[test]
fn a_call_that_fails_alone_ends_no_context() {
    let (gpu, driver) = machine();
    let own = CudaContext::create(&driver, Device(0)).unwrap();
    gpu.inject(Fault::Call { name: "cuMemAlloc_v2".to_owned(), nth: 1, code: Code::UNKNOWN });
    let error = own.call(|driver| driver.mem_alloc(64)).unwrap_err();
    assert!(error.code() == Code::UNKNOWN && !error.to_string().contains("device has failed"), "{error}");
    own.validity().unwrap();
    let memory = own.call(|driver| driver.mem_alloc(64)).unwrap();
    own.call(|driver| driver.mem_free(memory)).unwrap();
}
