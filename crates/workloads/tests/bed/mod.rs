//! A device with the kernels loaded: the driver of `OVERTAKE_BACKEND`, or the software GPU.
#![allow(unsafe_code)] // copies and launches; each range is a whole allocation of the bed, which frees none

use std::sync::Arc;

use backend::Backend;
use hal::{Device, DevicePtr, Driver, EventFlags, Stream, StreamFlags};
use overtake_workloads::{Kernels, Work, register};

pub struct Bed {
    driver: Arc<dyn Driver>,
    kernels: Kernels,
    stream: Stream,
}

impl Bed {
    pub fn new() -> Bed {
        let asked = std::env::var_os(backend::BACKEND_VARIABLE).is_some();
        Bed::on(if asked { Backend::from_environment().unwrap() } else { Backend::Soft })
    }

    /// On the software GPU in any case.
    pub fn soft() -> Bed {
        Bed::on(Backend::Soft)
    }

    fn on(backend: Backend) -> Bed {
        let driver = backend::open_with(backend, register).unwrap().driver;
        let context = driver.primary_context_retain(Device(0)).unwrap();
        driver.context_set_current(Some(context)).unwrap();
        let kernels = Kernels::load(&*driver).unwrap();
        let stream = driver.stream_create(StreamFlags::NON_BLOCKING, 0).unwrap();
        Bed { driver, kernels, stream }
    }

    /// Device memory with these bytes.
    pub fn upload(&self, bytes: &[u8]) -> DevicePtr {
        let memory = self.driver.mem_alloc(bytes.len() as u64).unwrap();
        // SAFETY: the source is a live slice; the target was just allocated with its length.
        unsafe { self.driver.copy_htod(memory, bytes.as_ptr(), bytes.len() as u64) }.unwrap();
        // The call may return while the bytes are still on their way from the driver's own memory.
        self.driver.context_synchronize().unwrap();
        memory
    }

    /// So many bytes of device memory that [`Bed::upload`] made.
    pub fn download(&self, memory: DevicePtr, bytes: usize) -> Vec<u8> {
        self.driver.stream_synchronize(self.stream).unwrap();
        let mut target = vec![0; bytes];
        // SAFETY: the target is a live slice of this length; the driver refuses a source that is shorter.
        unsafe { self.driver.copy_dtoh(target.as_mut_ptr(), memory, bytes as u64) }.unwrap();
        target
    }

    /// Launches work on memory of this bed.
    pub fn launch(&self, work: &Work) {
        // SAFETY: callers give sizes of the memory that they uploaded, and the bed frees none.
        unsafe { self.kernels.launch(&*self.driver, work, self.stream) }.unwrap();
    }

    /// Microseconds that work takes on the device: the median of so many launches.
    pub fn time_us(&self, work: &Work, launches: usize) -> f64 {
        let (driver, stream) = (&self.driver, self.stream);
        let [start, end] = [(); 2].map(|()| driver.event_create(EventFlags::DEFAULT).unwrap());
        // The first one of those that count finds an idle device, as the others do.
        self.launch(work);
        driver.stream_synchronize(stream).unwrap();
        let one = || {
            driver.event_record(start, stream).unwrap();
            self.launch(work);
            driver.event_record(end, stream).unwrap();
            driver.event_synchronize(end).unwrap();
            f64::from(driver.event_elapsed_ms(start, end).unwrap()) * 1e3
        };
        let mut times: Vec<f64> = (0..launches).map(|_| one()).collect();
        times.sort_by(f64::total_cmp);
        times[launches / 2]
    }

    /// The sizes of the parameters that each kernel declares, as the driver knows them.
    pub fn parameters(&self, work: &Work) -> Vec<u64> {
        self.driver.function_parameters(self.kernels.function(work)).unwrap()
    }
}
