//! A machine, and small copies beside bulk on it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hal::{Device, DevicePtr, Driver, HostAllocFlags, Nanos};
use overtake::copy::Plan;
use overtake::options::Profile;
use overtake::task::Kernel;
use overtake::{Options, Overtake, Priority, PriorityStream};
use softgpu::{BUILTIN_PTX, Parameters, SoftGpu};

const BULK_BYTES: u64 = 64 << 20;
const URGENT_BYTES: u64 = 64 << 10;
const URGENT_COPIES: u64 = 61;

/// A software GPU, made anew for each question.
pub struct Machine(Parameters);

/// What became of the copies.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    bulk: Plan,
    urgent: Plan,
    /// The median of urgent copies, from the call to the end of the copy.
    pub urgent_us: f64,
    /// The rate of bulk beside them.
    pub bulk_gbps: f64,
    pub rescues: u64,
}

impl Outcome {
    /// The ways of bulk and of urgent copies.
    pub fn ways(&self) -> [&'static str; 2] {
        [self.bulk, self.urgent].map(|plan| match plan {
            Plan::Native(_) => "native",
            Plan::Urgent => "urgent",
            Plan::UrgentKernel | Plan::Kernel { .. } => "kernel",
            Plan::Staged { .. } => "staged",
            Plan::Engine { .. } => "engine",
        })
    }
}

/// Pinned memory and memory of the device, as long as the process.
#[derive(Clone, Copy)]
struct Pair(u64, DevicePtr, u64);

impl Pair {
    fn new(driver: &dyn Driver, bytes: u64) -> Pair {
        let host = driver.host_alloc(bytes, HostAllocFlags::PORTABLE.and(HostAllocFlags::DEVICEMAP)).unwrap();
        Pair(host as u64, driver.mem_alloc(bytes).unwrap(), bytes)
    }

    /// Copies to the device, and waits. Returns the way.
    fn copy(self, stream: &PriorityStream) -> Plan {
        let Pair(host, device, bytes) = self;
        // SAFETY: both sides have so many bytes, are never freed, and nothing else touches them.
        let handle = unsafe { stream.memcpy_htod_async(device, host as *const u8, bytes) }.unwrap();
        handle.wait().unwrap();
        handle.plan()
    }
}

impl Machine {
    pub fn new(parameters: Parameters) -> Machine {
        Machine(parameters)
    }

    pub fn parameters(&self) -> &Parameters {
        &self.0
    }

    /// What the layer takes it for.
    pub fn constants(&self) -> overtake::options::Machine {
        copies::machine::of(&*self.driver(), Device(0), &Options::default())
    }

    fn driver(&self) -> Arc<dyn Driver> {
        let driver: Arc<dyn Driver> =
            Arc::new(SoftGpu::builder().parameters(self.0.clone()).payload(softgpu::Payload::TimingOnly).build());
        let context = driver.primary_context_retain(Device(0)).unwrap();
        driver.context_set_current(Some(context)).unwrap();
        driver
    }

    /// Small urgent copies beside bulk, with the constants that follow from the device, or with those of a link of that
    /// rate.
    pub fn beside_bulk(&self, profile: Profile, link_gbps: Option<u32>) -> Outcome {
        let driver = self.driver();
        let options = Options { profile, link_gbps, ..Options::default() };
        let overtake = Overtake::open(&driver, Device(0), options).unwrap();
        let (low, high) =
            (overtake.stream(Priority::LOWEST).unwrap(), overtake.stream(overtake.priorities().highest()).unwrap());
        let (large, small) = (Pair::new(&*driver, BULK_BYTES), Pair::new(&*driver, URGENT_BYTES));
        let ends = Arc::new(AtomicBool::new(false));
        let context = driver.context_current().unwrap().unwrap();
        let (host, is_over, bulk_driver) = (driver.host(), Arc::clone(&ends), Arc::clone(&driver));
        let bulk = hal::spawn(&driver, "bulk", move || {
            bulk_driver.context_set_current(Some(context)).unwrap();
            let begun = bulk_driver.host().now();
            let mut copies = 0;
            let mut plan = None;
            while !is_over.load(Ordering::Relaxed) {
                plan = Some(large.copy(&low));
                copies += 1;
            }
            (plan.unwrap(), (copies * BULK_BYTES) as f64 / bulk_driver.host().now().since(begun).0 as f64)
        })
        .unwrap();
        host.sleep(Nanos::from_ms(1));
        let mut urgent = None;
        let mut times: Vec<f64> = (0..URGENT_COPIES)
            .map(|number| {
                // In step with no chunk and no copy of bulk.
                host.sleep(Nanos::from_us(200 + number * 137 % 211));
                let begun = host.now();
                urgent = Some(small.copy(&high));
                host.now().since(begun).0 as f64 / 1e3
            })
            .collect();
        ends.store(true, Ordering::Relaxed);
        let (bulk, bulk_gbps) = bulk.join(host);
        times.sort_by(f64::total_cmp);
        let (urgent, urgent_us) = (urgent.unwrap(), times[times.len() / 2]);
        Outcome { bulk, urgent, urgent_us, bulk_gbps, rescues: overtake.statistics().rescues }
    }

    /// Looks a kernel of a task up.
    pub fn kernel_of_a_task(&self) -> hal::Result<()> {
        let driver = self.driver();
        let module = driver.module_load(BUILTIN_PTX.as_bytes())?;
        Kernel::find(&*driver, module, "soft_spin_ns").map(drop)
    }
}
