//! Heaps whose driver calls fail, and heaps of contexts that have ended.

use std::sync::Arc;

use hal::{Code, Device, Driver};
use overtake::context::CudaContext;
use overtake::heap::{Heap, HeapOptions, Space};
use softgpu::{Fault, SoftGpu};

use super::Held;
use crate::failure::{Failure, Outcome, ensure, same};
use crate::faulty::{Faulty, INJECTED};
use crate::model::on;
use crate::rig::Rig;

const PAGE_BYTES: u64 = 64 << 10;
const OPTIONS: HeapOptions = HeapOptions { page_bytes: PAGE_BYTES, reserve_bytes: PAGE_BYTES, max_bytes: 1 << 20 };

/// Opens, grows before and after the warm-up, trims in a pause and closes, while the `nth` call fails. Returns the
/// number of calls, and of errors that were told.
fn once(gpu: &SoftGpu, rig: &Rig, space: Space, nth: u64) -> Result<u64, Failure> {
    let before = Held::by(gpu);
    let faulty = Faulty::new(rig.shared_driver(), Code::OUT_OF_MEMORY);
    let context = CudaContext::adopt(&(Arc::clone(&faulty) as Arc<dyn Driver>), rig.context())?;
    faulty.fail(nth);
    let mut told = Vec::new();
    let mut tell = |error: hal::Error| told.push(error.to_string());
    if let Ok(heap) = Heap::open(&context, space, OPTIONS).map_err(&mut tell) {
        let mut blocks = Vec::new();
        for _ in 0..3 {
            blocks.extend(heap.alloc(PAGE_BYTES, 1, "warm").map_err(&mut tell));
        }
        heap.settle();
        blocks.extend(heap.alloc(2 * PAGE_BYTES, 1, "late").map_err(&mut tell));
        blocks.truncate(2);
        let _ = heap.pause().trim(0).map_err(&mut tell);
        blocks.extend(heap.alloc(PAGE_BYTES, 1, "last").map_err(&mut tell));
        drop(blocks);
        while heap.pause().trim(0).map_err(&mut tell).is_err() {}
        same("bytes in reserve without a page", &heap.statistics().reserved_bytes, &0)?;
        heap.close().error.into_iter().for_each(&mut tell);
    }
    let (calls, failed) = (faulty.calls(), faulty.failed());
    faulty.fail(0);
    rig.driver().context_synchronize()?;
    let at = |failure: Failure| Failure::from_text(format!("{space}, call {nth} ({failed:?}): {failure}"));
    same("the objects afterwards", &Held::by(gpu), &before).map_err(at)?;
    // Calls that free are made again, and restoring the thread's own state fails on no one's behalf.
    let is_told = told.iter().any(|text| text.contains(INJECTED));
    let is_made_again =
        ["mem_free", "mem_free_async", "host_free", "stream_destroy"].iter().any(|call| failed == Some(call));
    let is_aside = ["exchange_capture_mode", "context_current", "context_set_current"];
    let is_aside = is_aside.iter().any(|call| failed == Some(call));
    ensure!(failed.is_none() || is_told || is_made_again || is_aside, "{space}: {failed:?} failed, and {told:?}");
    Ok(calls)
}

/// Every call of a heap fails once: that is an error, and nothing leaks.
pub fn every_call() -> Outcome {
    for space in [Space::Device, Space::Pinned, Space::WriteCombined] {
        let (mut nth, mut calls) = (0, 1);
        while nth <= calls {
            on(
                |builder| builder,
                |gpu, rig| {
                    let made = once(gpu, rig, space, nth)?;
                    calls = if nth == 0 { made } else { calls };
                    Ok(())
                },
            )?;
            nth += 1;
        }
        ensure!((20..500).contains(&calls), "{space}: the program makes {calls} calls");
    }
    Ok(())
}

/// Pages of device memory come by a plain allocation while the heap warms up, and in stream order afterwards.
pub fn calls_by_phase() -> Outcome {
    on(
        |builder| builder,
        |_, rig| {
            let refusing = Faulty::new(rig.shared_driver(), Code::NOT_PERMITTED);
            let context = CudaContext::adopt(&(Arc::clone(&refusing) as Arc<dyn Driver>), rig.context())?;
            refusing.refuse(&["mem_alloc_async", "mem_free"]);
            let heap = Heap::open(&context, Space::Device, OPTIONS)?;
            drop(heap.alloc(2 * PAGE_BYTES, 1, "warm")?);
            heap.settle();
            refusing.refuse(&["mem_alloc", "mem_free"]);
            drop(heap.alloc(4 * PAGE_BYTES, 1, "late")?);
            // Each page goes as it came, and to free plain memory waits for the device.
            refusing.refuse(&["mem_alloc", "host_free"]);
            let closed = heap.close();
            ensure!(closed.is_clean(), "{closed}");
            Ok(())
        },
    )
}

/// A heap of a context that was destroyed frees nothing, with any context current on the thread.
pub fn of_a_dead_context() -> Outcome {
    on(
        |builder| builder,
        |gpu, rig| {
            for space in Space::ALL {
                let own = CudaContext::create(rig.shared_driver(), Device(0))?;
                let counting = Faulty::new(rig.shared_driver(), Code::UNKNOWN);
                let lent = CudaContext::adopt(&(Arc::clone(&counting) as Arc<dyn Driver>), own.raw())?;
                let heap = Heap::open(&lent, space, OPTIONS)?;
                let block = heap.alloc(100, 1, "orphan")?;
                drop(own);
                let held = Held::by(gpu);
                counting.fail(0);
                let late = heap.alloc(2 * PAGE_BYTES, 1, "late");
                let closed = heap.close();
                ensure!(late.is_ok() == (space == Space::Host), "{space}: a page of a dead context: {late:?}");
                drop((late, block));
                same("the objects of other contexts", &Held::by(gpu), &held)?;
                // It asks for the current context and cannot set its own; ordinary memory needs no call.
                let calls = if space == Space::Host { 0 } else { 2 };
                same("calls in a dead context", &(space, counting.calls()), &(space, calls))?;
                ensure!(closed.leaks.iter().any(|leak| leak.owner == "orphan"), "{closed}");
            }
            Ok(())
        },
    )
}

/// A heap of a device that has failed ends with the error that says so.
pub fn of_a_failed_device() -> Outcome {
    let gpu = SoftGpu::builder().build();
    let driver: Arc<dyn Driver> = Arc::new(gpu.clone());
    let heap = Heap::open(&CudaContext::create(&driver, Device(0))?, Space::Device, OPTIONS)?;
    gpu.inject(Fault::LoseDevice { device: 0 });
    let late = heap.alloc(2 * PAGE_BYTES, 1, "late").map(drop);
    ensure!(late.clone().is_err_and(|error| error.to_string().contains("device has failed")), "{late:?}");
    let closed = heap.close();
    ensure!(closed.error.is_some() && closed.leaks.is_empty(), "{closed}");
    same("the context is destroyed with its heap", &Held::by(&gpu).sum(), &0)
}
