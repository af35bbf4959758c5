//! Every driver call of a task fails once: the task runs again, unless the device is lost.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use hal::{Code, Driver};
use overtake::dispatch::DispatchOptions;
use overtake::task::{Lane, More, Reason};
use softgpu::{Fault, SoftGpu};

use crate::bed;
use crate::failure::{Failure, Outcome, ensure, same};
use crate::faulty::Faulty;
use crate::raw;
use crate::rig::Rig;

const BYTES: u64 = 4096;
/// A program that makes more calls never ends.
const CALLS_MAX: u64 = 500;

/// A word goes up, a kernel writes the next one, both come back. Returns the call that failed, if it was repeated.
fn once(rig: &Rig, nth: u64) -> Result<Option<(&'static str, bool)>, Failure> {
    let faulty = Faulty::new(rig.shared_driver(), Code::OUT_OF_MEMORY);
    let driver: Arc<dyn Driver> = Arc::clone(&faulty) as Arc<dyn Driver>;
    let bed = bed::open_on(rig, &driver, DispatchOptions::default())?;
    let (source, target, device) = (rig.pinned(BYTES)?, rig.pinned(BYTES)?, rig.buffer(BYTES)?);
    source.word32(0).store(7, Ordering::Release);
    let store = bed.kernels.store.clone();
    let upload = bed.tasks.upload("upload", move |lane: &mut Lane<'_>| {
        raw::upload(lane, device, &source, BYTES)?;
        Ok(More::Done)
    });
    let kernel = bed.tasks.kernel("store", move |lane: &mut Lane<'_>| {
        raw::word(lane, &store, device.at(4), 9)?;
        Ok(More::Done)
    });
    let to = Arc::clone(&target);
    let download = bed.tasks.download("download", move |lane: &mut Lane<'_>| {
        raw::download(lane, &to, device, BYTES)?;
        Ok(More::Done)
    });
    faulty.fail(nth);
    let upload = upload.retries(1).submit()?;
    let kernel = kernel.retries(1).after(&upload).submit()?;
    let end = download.retries(1).after(&kernel).submit()?.wait();
    faulty.fail(0);
    let Some(failed) = faulty.failed() else { return Ok(None) };
    let is_repeated = bed.dispatcher.statistics().retries == 1;
    match end {
        Ok(()) => {
            let words = [0, 4].map(|at| target.word32(at).load(Ordering::Acquire));
            same("the words that came back", &words, &[7, 9])?;
        }
        Err(error) => {
            let is_lost = error.fault().is_some_and(|fault| matches!(fault.reason, Reason::Device(_)));
            ensure!(is_lost && !is_repeated, "after {failed}: {error}");
        }
    }
    Ok(Some((failed, is_repeated)))
}

pub fn every_call() -> Outcome {
    let mut repeated = BTreeSet::new();
    for nth in 1..CALLS_MAX {
        let told = super::on(|rig| once(rig, nth).map_err(|e| Failure::from_text(format!("call {nth} failed: {e}"))))?;
        let Some((call, is_repeated)) = told else {
            ensure!(repeated.contains("launch") && repeated.len() > 1, "only these were repeated: {repeated:?}");
            return Ok(());
        };
        repeated.extend(is_repeated.then_some(call));
    }
    Err(Failure::new("the program makes calls without end"))
}

/// A launch is not repeated on a device that is dead.
pub fn not_on_a_dead_device() -> Outcome {
    let gpu = SoftGpu::builder().build();
    let driver: Arc<dyn Driver> = Arc::new(gpu.clone());
    let rig = Rig::new(&driver)?;
    let bed = bed::open(&rig)?;
    let calls = Arc::<AtomicU32>::default();
    let counted = Arc::clone(&calls);
    let task = bed.tasks.kernel("deadly", move |_: &mut Lane<'_>| {
        counted.fetch_add(1, Ordering::AcqRel);
        gpu.inject(Fault::LoseDevice { device: 0 });
        Err("a kernel has broken the device".into())
    });
    let error = task.retries(7).submit()?.wait().map_err(|error| error.to_string());
    ensure!(error.is_err(), "it fails");
    same("calls", &calls.load(Ordering::Acquire), &1)?;
    same("retries", &bed.dispatcher.statistics().retries, &0)?;
    ensure!(bed.dispatcher.statistics().is_device_lost, "{error:?}");
    Ok(())
}
