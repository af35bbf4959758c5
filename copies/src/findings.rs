//! The results of the guard's probe, cached for each device of a driver. Threads that open layers at the same time
//! would keep each other's probes out of the driver, so one of them probes and the others wait for its results.
//!
//! The queues belong to the device and to CUDA's environment variables at the time, not to a layer. Only results that
//! let layers work fully are cached: a host that was slow for a moment must not be taken for one with a single queue
//! for good.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, Weak};

use hal::locks::lock;
use hal::{Device, Driver, Host, Nanos, Result, Wait};
use options::Options;
use os::forks::Process;

/// A thread waits this long for another one's findings. Then it probes itself: that one may be stopped.
const PATIENCE: Nanos = Nanos::from_ms(10_000);

/// Findings, and the driver that they were found on.
type Found = (Weak<dyn Driver>, Arc<Findings>);

static ALL: Mutex<Vec<Found>> = Mutex::new(Vec::new());

/// The findings on one device.
#[derive(Debug)]
pub(crate) struct Findings {
    device: Device,
    /// A child of its has no thread that probes.
    process: Process,
    /// The number of copy queues by CUDA's variables.
    by_variables: u32,
    /// The most carriers with which kernels were seen to pass waits.
    carriers: AtomicU32,
    is_sought: AtomicBool,
}

/// While it lives, other threads wait for the findings of this one.
#[derive(Debug)]
pub(crate) struct Search<'a>(Option<&'a Findings>);

impl Drop for Search<'_> {
    fn drop(&mut self) {
        if let Some(findings) = self.0 {
            findings.is_sought.store(false, Ordering::Release);
        }
    }
}

impl Findings {
    /// Those on the device of the current context.
    pub(crate) fn of(driver: &Arc<dyn Driver>, by_variables: u32) -> Result<Arc<Findings>> {
        let device = driver.context_device()?;
        let mut all = lock(&ALL);
        all.retain(|(its, _)| its.strong_count() > 0);
        let is_ours = |its: &Weak<dyn Driver>| std::ptr::addr_eq(its.as_ptr(), Arc::as_ptr(driver));
        let process = Process::this();
        let key = (device, process, by_variables);
        let is_same = |of: &Findings| (of.device, of.process, of.by_variables) == key;
        if let Some((_, known)) = all.iter().find(|(its, known)| is_ours(its) && is_same(known)) {
            return Ok(Arc::clone(known));
        }
        let findings = Arc::new(Findings {
            device,
            process,
            by_variables,
            carriers: AtomicU32::new(0),
            is_sought: AtomicBool::new(false),
        });
        all.push((Arc::downgrade(driver), Arc::clone(&findings)));
        Ok(findings)
    }

    /// Waits for the thread that probes, if there is one, in the host's time. Where something is unknown then, other
    /// threads wait for this one.
    pub(crate) fn search(&self, host: &dyn Host, options: &Options) -> Search<'_> {
        // Virtual time goes on while another thread starts or ends one of the system's, so it says nothing.
        let deadline = (!host.is_virtual()).then(|| host.now() + PATIENCE);
        while !self.suffices(options) {
            if !self.is_sought.swap(true, Ordering::AcqRel) {
                return Search(Some(self));
            }
            let mut is_over = || !self.is_sought.load(Ordering::Acquire);
            if host.wait_until(deadline, &mut is_over) != Wait::Met {
                break;
            }
        }
        Search(None)
    }

    /// Whether a layer with these options has nothing to probe.
    fn suffices(&self, options: &Options) -> bool {
        let has_guard = options.enabled && options.profile.guard_bytes_min.is_some();
        !has_guard || self.carriers.load(Ordering::Acquire) >= options.guard.carriers()
    }

    /// Whether kernels pass the waits of so many carriers.
    pub(crate) fn kernels_pass(&self, carriers: usize, probe: impl FnOnce() -> Result<bool>) -> Result<bool> {
        let carriers = carriers as u32;
        if carriers <= self.carriers.load(Ordering::Acquire) {
            return Ok(true);
        }
        let passes = probe()?;
        if passes {
            self.carriers.fetch_max(carriers, Ordering::AcqRel);
        }
        Ok(passes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use options::{GuardOptions, Profile};
    use softgpu::SoftGpu;

    fn findings(driver: &Arc<dyn Driver>, by_variables: u32) -> Arc<Findings> {
        let context = driver.primary_context_retain(Device(0)).unwrap();
        driver.context_set_current(Some(context)).unwrap();
        Findings::of(driver, by_variables).unwrap()
    }

    fn driver() -> Arc<dyn Driver> {
        Arc::new(SoftGpu::builder().build())
    }

    #[test]
    fn findings_belong_to_a_driver_its_device_and_the_variables() {
        let (one, other) = (driver(), driver());
        let first = findings(&one, 4);
        assert!(Arc::ptr_eq(&first, &findings(&one, 4)));
        assert!(!Arc::ptr_eq(&first, &findings(&one, 8)));
        assert!(!Arc::ptr_eq(&first, &findings(&other, 4)));
    }

    #[test]
    fn kernels_that_do_not_pass_are_looked_for_again() {
        let findings = findings(&driver(), 4);
        let passes = |carriers, found| findings.kernels_pass(carriers, || Ok(found)).unwrap();
        assert_eq!([passes(2, false), passes(2, true), passes(1, false)], [false, true, true]);
        assert!(!passes(3, false), "more carriers need more queues");
    }

    #[test]
    fn one_thread_searches_at_a_time_and_none_once_all_is_known() {
        let profile = Profile { guard_bytes_min: Some(1), ..Profile::LIBRARY };
        let (driver, options) = (driver(), Options { profile, ..Options::default() });
        let (findings, host) = (findings(&driver, 4), driver.host());
        let first = findings.search(host, &options);
        assert!(first.0.is_some());
        assert!(findings.search(host, &options).0.is_none(), "it waits as long as another thread may come to an end");
        drop(first);
        let second = findings.search(host, &options);
        assert!(second.0.is_some(), "the first has found nothing");
        assert_eq!(findings.kernels_pass(2, || Ok(true)), Ok(true));
        drop(second);
        assert!(findings.search(host, &options).0.is_none());
        let more = GuardOptions { streams_max: 3, ..options.guard };
        assert!(findings.search(host, &Options { guard: more, ..options }).0.is_some(), "it is not known of three");
    }
}
