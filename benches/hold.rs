//! The cost of raising and lowering a semaphore, alone and on several threads at once. The words are memory of the
//! software GPU, but plain stores do not involve it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use criterion::{BenchmarkId, Criterion, Throughput};
use overtake::hal::{Device, Driver};
use overtake::{Priorities, Priority};
use semaphores::Bank;
use softgpu::SoftGpu;

fn bank() -> Bank {
    let driver: Arc<dyn Driver> = Arc::new(SoftGpu::builder().build());
    let context = driver.primary_context_retain(Device(0)).expect("the software GPU has a device");
    driver.context_set_current(Some(context)).expect("its context was just retained");
    Bank::new(&driver, Priorities::new(6).expect("6 is a valid count")).expect("there is memory for a bank")
}

fn raise_and_lower(bank: &Bank, priority: Priority) {
    let pending = bank.raise(priority);
    bank.lower(pending);
}

/// Runs `measure` while other threads raise and lower.
fn beside<T>(bank: &Arc<Bank>, others: u8, measure: impl FnOnce() -> T) -> T {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for other in 0..others {
            let (bank, stop) = (&bank, &stop);
            let priority = Priority::new(2 + other).expect("not 0");
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    raise_and_lower(bank, priority);
                }
            });
        }
        let measured = measure();
        stop.store(true, Ordering::Relaxed);
        measured
    })
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    let mut group = criterion.benchmark_group("raise and lower");
    group.throughput(Throughput::Elements(1));
    let (bank, highest) = (Arc::new(bank()), Priority::new(6).expect("not 0"));
    for threads in [1_u8, 2, 4] {
        group.bench_function(BenchmarkId::new("threads", threads), |bencher| {
            bencher.iter_custom(|times| {
                beside(&bank, threads - 1, || {
                    let start = Instant::now();
                    (0..times).for_each(|_| raise_and_lower(&bank, highest));
                    start.elapsed()
                })
            });
        });
    }
    group.finish();
    criterion.final_summary();
}
