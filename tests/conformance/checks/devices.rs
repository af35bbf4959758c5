//! Devices and the driver itself.

use hal::Nanos;
use hal::{Attribute, Device, Wait};

use crate::failure::{Outcome, ensure, same};
use crate::rig::{Rig, span};

/// Names, ids and sizes that make sense.
pub fn description(rig: &Rig) -> Outcome {
    let driver = rig.driver();
    let version = driver.version()?;
    ensure!((12_000..100_000).contains(&version), "the driver speaks CUDA {version}");
    let count = driver.device_count()?;
    ensure!(count >= 1, "{count} devices");
    let mut ids = Vec::new();
    for device in (0..count).map(Device) {
        ensure!(!driver.device_name(device)?.trim().is_empty(), "{device:?} has no name");
        ensure!(driver.device_total_memory(device)? >= 1 << 30, "{device:?} has next to no memory");
        ids.push(driver.device_uuid(device)?.0);
    }
    ensure!(ids.iter().all(|id| *id != [0; 16]), "a device has no id");
    ids.sort_unstable();
    ids.dedup();
    same("different ids", &ids.len(), &(count as usize))
}

/// The attributes that the rest of the project uses.
pub fn attributes(rig: &Rig) -> Outcome {
    let ask = |attribute| rig.driver().device_attribute(attribute, Device(0));
    same("unified addressing", &ask(Attribute::UNIFIED_ADDRESSING)?, &1)?;
    same("mapped host memory", &ask(Attribute::CAN_MAP_HOST_MEMORY)?, &1)?;
    same("stream priorities", &ask(Attribute::STREAM_PRIORITIES_SUPPORTED)?, &1)?;
    same("concurrent kernels", &ask(Attribute::CONCURRENT_KERNELS)?, &1)?;
    ensure!(ask(Attribute::ASYNC_ENGINE_COUNT)? >= 2, "a copy engine for each direction");
    ensure!(ask(Attribute::MULTIPROCESSOR_COUNT)? >= 1, "multiprocessors");
    ensure!(ask(Attribute::MAX_THREADS_PER_BLOCK)? >= 1_024, "threads of a block");
    ensure!(ask(Attribute::COMPUTE_CAPABILITY_MAJOR)? >= 7, "the built-in kernels want sm_70");
    Ok(())
}

/// The context's device is the one it was made on.
pub fn current_device(rig: &Rig) -> Outcome {
    same("the device", &rig.driver().context_device()?, &Device(0))?;
    let (free, total) = rig.driver().mem_info()?;
    let whole = rig.driver().device_total_memory(Device(0))?;
    ensure!(free <= total && total <= whole, "{free} bytes free of {total}, the device has {whole}");
    Ok(())
}

/// Host time goes forward: by itself, by sleeping, and no further than it must.
pub fn host_time(rig: &Rig) -> Outcome {
    let host = rig.driver().host();
    let before = host.now();
    host.sleep(Nanos::from_us(500));
    let slept = host.now().since(before);
    ensure!(slept >= Nanos::from_us(500), "a sleep of 500 us took {slept}");
    host.pause();
    ensure!(host.now() >= before + Nanos::from_us(500), "time goes back");
    let deadline = host.now() + Nanos::from_us(700);
    same("a wait for nothing", &host.wait_until(Some(deadline), &mut || false), &Wait::Deadline)?;
    ensure!(host.now() >= deadline, "a wait ended before its deadline");
    let late = host.now().since(deadline);
    // In real time other processes may have the processor meanwhile.
    ensure!(!host.is_virtual() || late <= Nanos::from_ms(200), "a wait ended {late} after its deadline");
    same("a wait for a condition that holds", &host.wait_until(Some(host.now()), &mut || true), &Wait::Met)
}

/// A wait ends as soon as the device meets its condition.
pub fn host_waits_for_the_device(rig: &Rig) -> Outcome {
    let (host, stream, word) = (rig.driver().host(), rig.stream()?, rig.word());
    let gate = rig.gate(stream)?;
    rig.mark(stream, &word, 3)?;
    let opener = rig.open_later(&gate);
    let deadline = host.now() + span(rig.driver());
    let end = host.wait_until(Some(deadline), &mut || word.load() == 3);
    rig.join(opener)?;
    same("the wait", &end, &Wait::Met)?;
    ensure!(host.now() < deadline, "the wait was met after its deadline");
    Ok(())
}
