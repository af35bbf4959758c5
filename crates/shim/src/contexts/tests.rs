use std::sync::atomic::AtomicBool;

use copies::Options;
use hal::Device;
use softgpu::{Fault, SoftGpu};

use super::*;
use crate::Start;

const DEVICE: Device = Device(0);

/// A process of its own on a software GPU, and that GPU.
fn process() -> (Process, SoftGpu) {
    fn unused() -> Result<Arc<dyn Driver>> {
        unreachable!("the test gives the process its driver")
    }
    let gpu = SoftGpu::builder().reuse_handles(true).build();
    let start = Start { driver: unused, deployment: c"preload", calls: Vec::new };
    let mut process = Process::new(start, None);
    process.settings.options = Options::default().with_profile(|profile| profile.channels = false);
    assert!(process.driver.set(Arc::new(gpu.clone())).is_ok());
    (process, gpu)
}

/// Retains the primary context as a program does, and makes it current.
fn retain(process: &Process, gpu: &SoftGpu) -> Context {
    let context = gpu.primary_context_retain(DEVICE).unwrap();
    process.retained(DEVICE, context);
    gpu.context_set_current(Some(context)).unwrap();
    context
}

fn create(process: &Process, gpu: &SoftGpu) -> Context {
    let context = gpu.context_create(DEVICE).unwrap();
    process.made(context);
    context
}

#[test]
fn the_layer_opens_again_after_a_reset_and_a_retain() {
    let (process, gpu) = process();
    let context = retain(&process, &gpu);
    assert!(process.here().is_some());
    process.resetting(DEVICE);
    gpu.primary_context_reset(DEVICE).unwrap();
    assert!(process.locals().is_empty());
    assert_eq!(retain(&process, &gpu), context, "the handle comes again");
    let here = process.here().expect("the layer is open in the new life of the context");
    assert!(here.overtake.statistics().urgent.copies == 0 && here.overtake.loss().is_ok());
    drop(here);
    // Two references: the first one outlived the reset.
    process.releasing(DEVICE);
    gpu.primary_context_release(DEVICE).unwrap();
    assert!(process.here().is_some(), "one reference is left");
    process.releasing(DEVICE);
    gpu.primary_context_release(DEVICE).unwrap();
    assert!(process.locals().is_empty());
}

#[test]
fn a_context_whose_end_nobody_saw_leaves_its_layer_behind_when_its_handle_comes_again() {
    let (process, gpu) = process();
    let context = create(&process, &gpu);
    let old = Arc::as_ptr(&process.here().unwrap().overtake);
    gpu.context_destroy(context).unwrap();
    assert_eq!(create(&process, &gpu), context);
    let new = Arc::as_ptr(&process.here().expect("the layer is open in the new context").overtake);
    assert!(!std::ptr::eq(old, new));
    process.close(context);
    gpu.context_destroy(context).unwrap();
}

#[test]
fn a_context_ends_with_its_last_use_and_no_primary_one_by_destruction() {
    let (process, gpu) = process();
    let primary = retain(&process, &gpu);
    process.going(primary);
    assert!(process.here().is_some(), "the driver refuses to destroy a primary context");
    let context = create(&process, &gpu);
    process.attached(gpu.context_attach().unwrap());
    process.detaching(context);
    gpu.context_detach(context).unwrap();
    assert!(process.here().is_some(), "one use is left");
    gpu.context_set_current(Some(primary)).unwrap();
    process.detaching(context);
    assert!(gpu.context_detach(context).is_err(), "not current");
    gpu.context_set_current(Some(context)).unwrap();
    assert!(process.here().is_some());
    process.detaching(context);
    gpu.context_detach(context).unwrap();
    assert_eq!(process.locals().len(), 1);
    process.releasing(DEVICE);
}

/// What keeps the layer out may pass in a moment. Later it does not try by itself, because work may be under way then.
#[test]
fn a_failed_opening_is_tried_again_at_once_and_not_later() {
    let (process, gpu) = process();
    let refuse = |times: u32| {
        for nth in 1..=u64::from(times) {
            gpu.inject(Fault::Call { name: "cuDeviceGetName".to_owned(), nth, code: Code::OUT_OF_MEMORY });
        }
    };
    refuse(TRIES - 1);
    let context = create(&process, &gpu);
    assert!(process.here().is_some() && process.refusals().is_empty());
    process.close(context);
    gpu.context_destroy(context).unwrap();
    refuse(TRIES);
    let context = retain(&process, &gpu);
    assert!(process.here().is_none() && process.refusals().len() == 1);
    assert_eq!(retain(&process, &gpu), context);
    assert!(process.here().is_none(), "it would open now, but the context is not new");
    assert!(process.open_now().is_ok(), "the program asks for it");
    process.close(context);
}

/// A thread that retains a context while another one is opening the layer there goes on when it has opened.
#[test]
fn a_second_retainer_waits_for_the_first() {
    let (process, gpu) = process();
    let context = retain(&process, &gpu);
    lock(&process.contexts.opening).under_way.insert(context);
    let under_way = UnderWay(&process.contexts, context);
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let second = scope.spawn(|| {
            process.retained(DEVICE, context);
            assert!(ended.load(Ordering::SeqCst), "it went on before the layer had opened");
        });
        gpu.host().sleep(Nanos::from_ms(20));
        ended.store(true, Ordering::SeqCst);
        drop(under_way);
        second.join().unwrap();
    });
}

/// The watcher must not wait for a thread that holds one of the lists, and may be inside the driver.
#[test]
fn live_figures_wait_for_no_lock() {
    let (process, gpu) = process();
    retain(&process, &gpu);
    let figures = || crate::report::parts_at_once(&process);
    assert_eq!(figures().expect("nobody holds a list").len(), 1);
    let held = locks::write(&process.contexts.open);
    assert!(figures().is_none(), "the contexts are being changed");
    drop(held);
    let held = lock(&process.closed);
    assert!(figures().is_none(), "a context is closing");
    drop(held);
    // A second context of the device, and a closed one: one part in all.
    let second = create(&process, &gpu);
    assert_eq!(figures().unwrap().len(), 1);
    process.close(second);
    assert_eq!(figures().unwrap().len(), 1);
}
