//! `Host::wait_until` under the stepped clock: which thread evaluates a condition, and the cost of a wait.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;

use crate::support::{Pinned, enter, stream};
use hal::{Driver, HostThread, MemOp, Nanos, Wait};
use overtake_softgpu::SoftGpu;
use patience::Patience;
use testkit::patience;

fn ready() -> (SoftGpu, Arc<dyn Driver>) {
    let gpu = SoftGpu::builder().build();
    enter(&gpu);
    let driver: Arc<dyn Driver> = Arc::new(gpu.clone());
    (gpu, driver)
}

/// The message of a panic.
fn message(body: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(body)).expect_err("it panics");
    panic.downcast_ref::<&str>().map(ToString::to_string).or(panic.downcast_ref::<String>().cloned()).unwrap()
}

/// The number of times that the calling thread has given up its processor of its own accord; `None` if the system does
/// not tell.
fn switches() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/thread-self/status").ok()?;
    let count = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
    count.trim().parse().ok()
}

/// A thread that waits until a word is set; how often it has given its processor up.
fn waiter(gpu: &SoftGpu, driver: &Arc<dyn Driver>, end: Pinned) -> HostThread<Option<u64>> {
    let own = gpu.clone();
    let body = move || {
        let before = switches()?;
        assert_eq!(own.host().wait_until(None, &mut || end.load() == 1), Wait::Met);
        Some(switches()? - before)
    };
    hal::spawn(driver, "waiter", body).unwrap()
}

#[test]
fn time_passes_without_a_switch_of_threads_for_every_event() {
    const EVENTS: u32 = 5_000;
    let (gpu, driver) = ready();
    let (stream, word, end) = (stream(&gpu), Pinned::new(&gpu, 4096), Pinned::new(&gpu, 4096));
    let waiters = [(); 3].map(|()| waiter(&gpu, &driver, end));
    let before = switches();
    for event in 1..=EVENTS {
        gpu.mem_op(stream, MemOp::write32(word.device(), event)).unwrap();
        assert_eq!(gpu.host().wait_until(None, &mut || word.load() == event), Wait::Met);
    }
    let own = before.zip(switches()).map(|(before, after)| after - before);
    end.store(1);
    let counts: Option<Vec<u64>> = waiters.into_iter().map(|waiter| waiter.join(gpu.host())).chain([own]).collect();
    let Some(counts) = counts else { return };
    let sum: u64 = counts.iter().sum();
    assert!(sum < u64::from(EVENTS) / 10, "{EVENTS} events, and so many switches of the four threads: {counts:?}");
}

#[test]
fn the_thread_that_has_the_turn_looks_for_those_that_wait() {
    let (gpu, driver) = ready();
    let (word, end) = (Pinned::new(&gpu, 4096), Pinned::new(&gpu, 4096));
    let (own, lookers) = (gpu.clone(), Arc::new(Mutex::new(HashSet::<ThreadId>::new())));
    let seen = Arc::clone(&lookers);
    let waiter = hal::spawn(&driver, "waiter", move || {
        let mut looks = 0;
        let mut condition = || {
            looks += 1;
            seen.lock().unwrap().insert(std::thread::current().id());
            end.load() == 1
        };
        assert_eq!(own.host().wait_until(None, &mut condition), Wait::Met);
        (looks, std::thread::current().id(), own.host().now())
    })
    .unwrap();
    let stream = stream(&gpu);
    for round in 1..=20 {
        gpu.mem_op(stream, MemOp::write32(word.device(), round)).unwrap();
        gpu.stream_synchronize(stream).unwrap();
    }
    gpu.mem_op(stream, MemOp::write32(end.device(), 1)).unwrap();
    gpu.stream_synchronize(stream).unwrap();
    let now = gpu.host().now();
    let (looks, its, met_at) = waiter.join(gpu.host());
    assert_eq!(*lookers.lock().unwrap(), HashSet::from([its, std::thread::current().id()]));
    assert!(looks > 20, "it looks whenever the device has changed memory: {looks}");
    assert!(met_at <= now, "the wait ends at its own time: {met_at}, {now}");
}

#[test]
fn a_deadline_passes_while_another_thread_looks() {
    let (gpu, driver) = ready();
    let (own, deadline) = (gpu.clone(), gpu.host().now() + Nanos::from_us(100));
    let late = hal::spawn(&driver, "late", move || {
        let end = own.host().wait_until(Some(deadline), &mut || false);
        (end, own.host().now())
    });
    (0..1_000).for_each(|_| gpu.host().pause());
    gpu.host().sleep(Nanos::from_ms(1));
    let (end, at) = late.unwrap().join(gpu.host());
    assert_eq!(end, Wait::Deadline);
    assert!((deadline..deadline + Nanos::from_us(1)).contains(&at), "{at} instead of {deadline}");
}

#[test]
fn a_panic_of_a_condition_is_its_own_threads() {
    let (gpu, driver) = ready();
    let (own, word) = (gpu.clone(), Pinned::new(&gpu, 4096));
    let thread = hal::spawn(&driver, "panics", move || {
        own.host().wait_until(None, &mut || {
            assert_eq!(word.load(), 0, "the word has changed");
            false
        });
    })
    .unwrap();
    let stream = stream(&gpu);
    gpu.host().sleep(Nanos::from_us(10));
    gpu.mem_op(stream, MemOp::write32(word.device(), 1)).unwrap();
    gpu.stream_synchronize(stream).unwrap();
    gpu.host().sleep(Nanos::from_ms(1));
    assert!(thread.is_done(), "it has ended, and this thread has not");
    assert!(message(|| thread.join(gpu.host())).contains("the word has changed"));
}

#[test]
fn a_condition_that_calls_the_host_is_told_that_it_must_not() {
    let (gpu, _) = ready();
    let host = gpu.host();
    let calls = || host.now() > Nanos::from_ms(1);
    let text = message(|| _ = host.wait_until(None, &mut { calls }));
    assert!(text.contains("must not"), "{text}");
    host.sleep(Nanos::from_ms(1));
    assert!(host.now() > Nanos::from_ms(1), "the host goes on");
}

#[test]
fn threads_go_on_without_one_that_is_blocked_while_it_looks() {
    let (gpu, driver) = ready();
    let (word, stream) = (Pinned::new(&gpu, 4096), stream(&gpu));
    let (looks, has_gone_on) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicBool::new(false)));
    let main = std::thread::current().id();
    let (own, counted, goes_on) = (gpu.clone(), Arc::clone(&looks), Arc::clone(&has_gone_on));
    let waiter = hal::spawn(&driver, "waiter", move || {
        let mut goes_on_meanwhile = false;
        let end = own.host().wait_until(None, &mut || {
            if std::thread::current().id() == main && counted.fetch_add(1, Ordering::SeqCst) == 0 {
                // However slow the machine is: this thread is blocked until another has gone on.
                let mut patience = Patience::new();
                while !goes_on.load(Ordering::SeqCst) && patience.rest() {}
                goes_on_meanwhile = goes_on.load(Ordering::SeqCst);
            }
            word.load() == 1
        });
        (end, goes_on_meanwhile)
    })
    .unwrap();
    let other = gpu.clone();
    let goes_on = hal::spawn(&driver, "goes on", move || {
        other.host().sleep(Nanos::from_ms(10));
        has_gone_on.store(true, Ordering::SeqCst);
    })
    .unwrap();
    gpu.host().pause();
    gpu.mem_op(stream, MemOp::write32(word.device(), 1)).unwrap();
    gpu.stream_synchronize(stream).unwrap();
    assert_eq!(waiter.join(gpu.host()), (Wait::Met, true), "the other went on meanwhile");
    goes_on.join(gpu.host());
    assert_ne!(looks.load(Ordering::SeqCst), 0, "this thread has looked in the waiter's place");
    gpu.host().sleep(Nanos::from_ms(1));
}
