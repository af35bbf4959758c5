//! Host threads under the stepped clock: turns, outsiders, rescues, and the proof that all are stuck.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use crate::support::{MIB, Pinned, enter, stream, upload, wait_for};
use hal::{Code, Driver, Nanos, Wait};
use overtake_softgpu::SoftGpu;

fn ready() -> (SoftGpu, Arc<dyn Driver>) {
    let gpu = SoftGpu::builder().build();
    enter(&gpu);
    let driver: Arc<dyn Driver> = Arc::new(gpu.clone());
    (gpu, driver)
}

#[test]
fn a_watchdog_that_sleeps_and_stores_rescues_a_blocked_thread() {
    let (gpu, driver) = ready();
    let (word, stream) = (Pinned::new(&gpu, 4096), stream(&gpu));
    let own = gpu.clone();
    let watchdog = hal::spawn(&driver, "watchdog", move || {
        own.host().sleep(Nanos::from_us(300));
        word.store(1);
    })
    .unwrap();
    let begin = gpu.host().now();
    wait_for(&gpu, stream, word.device(), 1);
    gpu.stream_synchronize(stream).unwrap();
    let took_us = gpu.host().now().since(begin).as_us();
    assert!((300.0..330.0).contains(&took_us), "seen at the next look: {took_us}");
    watchdog.join(gpu.host());
    assert!(gpu.deadlock().is_none());
}

#[test]
fn every_thread_of_a_deadlock_is_told_and_one_store_drains_it() {
    let (gpu, driver) = ready();
    let word = Pinned::new(&gpu, 4096);
    let context = gpu.context_current().unwrap();
    let threads: Vec<_> = (0..3)
        .map(|index| {
            let own = gpu.clone();
            hal::spawn(&driver, &format!("stuck {index}"), move || {
                own.context_set_current(context).unwrap();
                let stream = stream(&own);
                wait_for(&own, stream, word.device(), 1);
                (own.stream_synchronize(stream).unwrap_err().code(), stream)
            })
            .unwrap()
        })
        .collect();
    let ended: Vec<_> = threads.into_iter().map(|thread| thread.join(gpu.host())).collect();
    assert!(ended.iter().all(|(code, _)| *code == Code::LAUNCH_TIMEOUT));
    let report = gpu.deadlock().expect("it was proven");
    assert_eq!((report.streams.len(), report.threads.len()), (3, 4), "{report}");
    word.store(1);
    ended.iter().for_each(|(_, stream)| gpu.stream_synchronize(*stream).unwrap());
}

#[test]
fn a_host_wait_that_no_thread_can_meet_is_stuck_and_one_with_a_deadline_is_not() {
    let (gpu, _) = ready();
    assert_eq!(gpu.host().wait_until(None, &mut || false), Wait::Stuck);
    let deadline = gpu.host().now() + Nanos::from_ms(3);
    assert_eq!(gpu.host().wait_until(Some(deadline), &mut || false), Wait::Deadline);
    assert!(gpu.host().now() >= deadline);
    assert_eq!(gpu.host().wait_until(Some(Nanos::ZERO), &mut || true), Wait::Met);
}

#[test]
fn a_thread_outside_delays_no_other_and_can_still_store() {
    let (gpu, driver) = ready();
    let (word, stream) = (Pinned::new(&gpu, 4096), stream(&gpu));
    let (sender, receiver) = mpsc::channel::<()>();
    let own = gpu.clone();
    let outsider = hal::spawn(&driver, "outsider", move || {
        own.host().outside(&mut || {
            receiver.recv().unwrap();
            word.store(1);
        });
        own.host().now()
    })
    .unwrap();
    wait_for(&gpu, stream, word.device(), 1);
    gpu.host().sleep(Nanos::from_ms(1));
    sender.send(()).unwrap();
    gpu.stream_synchronize(stream).unwrap();
    let came_back = outsider.join(gpu.host());
    assert!(came_back >= Nanos::from_ms(1) && came_back < Nanos::from_ms(100), "{came_back}");
}

/// A thread that takes its time to end.
struct Slow;

impl Drop for Slow {
    fn drop(&mut self) {
        std::thread::sleep(Duration::from_millis(2));
    }
}

thread_local! {
    static SLOW: Slow = const { Slow };
}

/// No time of the host passes while a thread that is done ends.
#[test]
fn a_join_lets_no_time_pass_by_chance() {
    let (gpu, driver) = ready();
    let (is_over, own) = (Arc::new(AtomicBool::new(false)), gpu.clone());
    let its = Arc::clone(&is_over);
    let busy = hal::spawn(&driver, "busy", move || {
        while !its.load(Ordering::Acquire) {
            own.host().sleep(Nanos::from_us(1));
        }
    })
    .unwrap();
    let own = gpu.clone();
    let short = hal::spawn(&driver, "short", move || {
        SLOW.with(|_| own.host().sleep(Nanos::from_us(100)));
        own.host().now()
    });
    let ended = short.unwrap().join(gpu.host());
    let late = gpu.host().now().since(ended);
    assert!(late < Nanos::from_us(5), "{late}");
    is_over.store(true, Ordering::Release);
    busy.join(gpu.host());
}

#[test]
fn a_thread_that_never_begins_delays_no_other() {
    let (gpu, _) = ready();
    let token = gpu.host().announce("refused");
    gpu.host().retract(token);
    gpu.host().sleep(Nanos::from_ms(1));
    assert_eq!(gpu.host().wait_until(None, &mut || false), Wait::Stuck, "and it is no party to a deadlock");
}

#[test]
fn a_thread_that_was_not_announced_takes_part_and_goes() {
    let (gpu, _) = ready();
    let context = gpu.context_current().unwrap();
    let own = gpu.clone();
    gpu.host().outside(&mut || {
        let own = own.clone();
        let body = move || {
            own.context_set_current(context).unwrap();
            own.memset_d8_async(own.mem_alloc(64).unwrap(), 1, 64, hal::Stream::PER_THREAD).unwrap();
            own.live().streams
        };
        assert_eq!(std::thread::spawn(body).join().unwrap(), 2, "the legacy stream and the thread's own");
    });
    gpu.context_synchronize().unwrap();
    assert_eq!(gpu.live().streams, 1, "the thread's default stream went with it");
}

#[test]
fn the_drivers_lock_makes_submitters_wait_for_each_other() {
    let (gpu, driver) = ready();
    let (host, device) = (Pinned::new(&gpu, MIB), gpu.mem_alloc(MIB).unwrap());
    let context = gpu.context_current().unwrap();
    let submit = |threads: u64| {
        let begin = gpu.host().now();
        let workers: Vec<_> = (0..threads)
            .map(|index| {
                let own = gpu.clone();
                hal::spawn(&driver, &format!("submitter {index}"), move || {
                    own.context_set_current(context).unwrap();
                    let stream = stream(&own);
                    (0..100).for_each(|_| upload(&own, device, host, 65_536, stream).unwrap());
                    own.host().now()
                })
                .unwrap()
            })
            .collect();
        let ends = workers.into_iter().map(|worker| worker.join(gpu.host()));
        let last = ends.max().unwrap().since(begin).as_us();
        gpu.context_synchronize().unwrap();
        last
    };
    let (alone_us, together_us) = (submit(1), submit(3));
    assert!(together_us > 2.8 * alone_us, "alone {alone_us}, three together {together_us}");
}

#[test]
fn a_full_stream_blocks_only_its_submitter() {
    let (gpu, driver) = ready();
    let (word, full) = (Pinned::new(&gpu, 4096), stream(&gpu));
    let (host, device) = (Pinned::new(&gpu, MIB), gpu.mem_alloc(MIB).unwrap());
    let context = gpu.context_current().unwrap();
    wait_for(&gpu, full, word.device(), 1);
    let (own, passed) = (gpu.clone(), Arc::new(AtomicBool::new(false)));
    let seen = Arc::clone(&passed);
    let submitter = hal::spawn(&driver, "submitter", move || {
        own.context_set_current(context).unwrap();
        (0..1_100).for_each(|_| upload(&own, device, host, 64, full).unwrap());
        seen.store(true, Ordering::Release);
    })
    .unwrap();
    gpu.host().sleep(Nanos::from_ms(20));
    assert!(!passed.load(Ordering::Acquire), "the stream holds about a thousand operations");
    let other = stream(&gpu);
    upload(&gpu, device, host, 65_536, other).unwrap();
    gpu.stream_synchronize(other).unwrap();
    word.store(1);
    submitter.join(gpu.host());
    gpu.stream_synchronize(full).unwrap();
    assert!(passed.load(Ordering::Acquire));
}

#[test]
fn the_same_program_takes_the_same_time_twice() {
    let run = || {
        let (gpu, driver) = ready();
        let (host, device) = (Pinned::new(&gpu, MIB), gpu.mem_alloc(MIB).unwrap());
        let context = gpu.context_current().unwrap();
        let workers: Vec<_> = (0..4u64)
            .map(|index| {
                let own = gpu.clone();
                hal::spawn(&driver, &format!("worker {index}"), move || {
                    own.context_set_current(context).unwrap();
                    let stream = stream(&own);
                    for round in 0..50 {
                        upload(&own, device, host, 65_536 * (1 + (round + index) % 3), stream).unwrap();
                        own.host().sleep(Nanos(1_000 * (round * 7 + index) % 13_000));
                    }
                    own.stream_synchronize(stream).unwrap();
                    own.host().now().0
                })
                .unwrap()
            })
            .collect();
        workers.into_iter().map(|worker| worker.join(gpu.host())).collect::<Vec<_>>()
    };
    assert_eq!(run(), run());
}

/// A thread frees memory while bulk is on its way. Returns how long a small copy of another thread takes to submit.
fn copy_beside_a_free_us(keeps_out: bool) -> f64 {
    let mut parameters = overtake_softgpu::Parameters::default();
    parameters.host.waits_keep_others_out = keeps_out;
    let gpu = SoftGpu::builder().parameters(parameters).build();
    enter(&gpu);
    let driver: Arc<dyn Driver> = Arc::new(gpu.clone());
    let context = gpu.context_current().unwrap();
    let (bulk, small) = (Pinned::new(&gpu, 64 * MIB), Pinned::new(&gpu, 4096));
    let (target, freed) = (gpu.mem_alloc(65 * MIB).unwrap(), gpu.mem_alloc(MIB).unwrap());
    let (first, second) = (stream(&gpu), stream(&gpu));
    upload(&gpu, target, bulk, 64 * MIB, first).unwrap();
    let own = gpu.clone();
    let frees = hal::spawn(&driver, "frees", move || {
        own.context_set_current(context).unwrap();
        own.mem_free(freed).unwrap();
    });
    gpu.host().sleep(Nanos::from_us(100));
    let begin = gpu.host().now();
    upload(&gpu, target.offset(64 * MIB), small, 4096, second).unwrap();
    let took_us = gpu.host().now().since(begin).as_us();
    frees.unwrap().join(gpu.host());
    gpu.context_synchronize().unwrap();
    took_us
}

#[test]
fn a_call_that_waits_keeps_other_threads_out_if_the_parameters_say_so() {
    let (beside, behind) = (copy_beside_a_free_us(false), copy_beside_a_free_us(true));
    assert!(beside < 10.0, "{beside}");
    assert!((1_000.0..1_300.0).contains(&behind), "until the bulk copy is over: {behind}");
}
