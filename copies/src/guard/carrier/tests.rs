//! Tests of a carrier by itself, on the software GPU: launches of two threads that know nothing of each other.
#![allow(unsafe_code)] // copies are unsafe: the memory lives as long as the bed

use channels::Shape;
use hal::{Device, HostAllocFlags, StreamFlags};
use priority::{Priorities, Priority};
use semaphores::{Bank, Layout};

use super::*;
use crate::findings::Findings;
use crate::guard::Guard;
use crate::kernel::Descriptor;
use crate::records::Fence;
use options::GuardOptions;

const BYTES: u64 = 64 << 10;

/// A guard without its thread, with memory and the word that its kernels yield to.
struct Bed {
    driver: Arc<dyn Driver>,
    guard: Guard,
    bank: Bank,
    host: *mut u8,
    device: hal::DevicePtr,
    stream: Stream,
}

impl Bed {
    fn new() -> Bed {
        let driver = crate::soft::driver();
        let priorities = Priorities::new(2).unwrap();
        let bank = Bank::new(&driver, priorities).unwrap();
        let records = Arc::new(crate::soft::records(&driver, priorities));
        let kernel = Arc::new(CopyKernel::load(&driver).unwrap());
        let (findings, options) = (Findings::of(&driver, 4).unwrap(), GuardOptions::default());
        let guard = Guard::new(&driver, &findings, &records, &kernel, options, yields(&bank), 0).unwrap().unwrap();
        let host = driver.host_alloc(2 * BYTES, HostAllocFlags(3)).unwrap();
        let device = driver.mem_alloc(2 * BYTES).unwrap();
        let stream = driver.stream_create(StreamFlags::NON_BLOCKING, 0).unwrap();
        assert_eq!(driver.context_device().unwrap(), Device(0));
        Bed { driver, guard, bank, host, device, stream }
    }

    fn carrier(&self) -> &Carrier {
        &self.guard.carriers[0]
    }

    /// Carries a copy of the `half`th half of the memory, as a thread would for its stream. Later work of the stream
    /// does not wait for it yet.
    fn carry(&self, half: u64) -> u32 {
        let at = half * BYTES;
        let host = hal::DevicePtr(self.host as u64).offset(at);
        let shape = Shape::linear(self.device.offset(at).0, host.0, BYTES);
        let seen = self.driver.host_device_pointer(self.host).unwrap().offset(at);
        let descriptor = Descriptor::copy(&Shape::linear(self.device.offset(at).0, seen.0, BYTES));
        let copy = Guarded {
            stream: self.stream,
            load: Load::Shapes { shapes: vec![shape], descriptors: vec![descriptor] },
            direction: Direction::HostToDevice,
            workers: Workers { blocks: 2, warps: 8 },
            yields: Some(yields(&self.bank)),
            fence: Fence::of(0),
        };
        let carrier = self.carrier();
        let ready = carrier.events.mark(&*self.driver, self.stream).unwrap();
        // SAFETY: the memory is as large on both sides, and lives as long as the bed.
        let leave = unsafe { carrier.carry(carrier.book(), copy, ready) };
        carrier.events.give(leave.map_err(|_| "the driver refused").unwrap().unwrap());
        carrier.book().last
    }

    /// Waits for the condition for at most 20 ms.
    fn comes_true(&self, mut condition: impl FnMut() -> bool + Send) -> bool {
        let host = self.driver.host();
        host.wait_until(Some(host.now() + Nanos::from_ms(20)), &mut condition) == hal::Wait::Met
    }

    /// The steps of a thread that will keep the rescuer out.
    fn take_over(&self) {
        let host = self.driver.host();
        let since = host.now();
        let end = since + Nanos::from_ms(20);
        while !self.carrier().stand_back(since, None, false) {
            assert!(host.now() < end, "no copy is made instead");
            host.pause();
        }
    }

    fn makers(&self) -> Vec<Maker> {
        self.carrier().book().copies.iter().map(|copy| copy.maker).collect()
    }
}

fn yields(bank: &Bank) -> Yield {
    Yield { word: bank.gate_address(Priority::LOWEST), lift: None, wait_max: Nanos::from_ms(10_000) }
}

/// Two threads give one stream copies at the same time, and the second copy is taken over while the kernel of the first
/// one copies. The words must not tell that the second is done before the first is, or the stream would go on without
/// the first.
#[test]
#[cfg_attr(miri, ignore)] // it moves bytes through the software GPU
fn a_rescue_is_not_done_before_the_kernel_in_front_of_it() {
    let bed = Bed::new();
    let raised = bed.bank.raise(Priority::new(2).unwrap());
    let (first, second) = (bed.carry(0), bed.carry(1));
    let line = &bed.carrier().line;
    assert!(bed.comes_true(|| line.started() == first), "the first kernel has begun, and yields");
    bed.take_over();
    assert_eq!(bed.makers(), [Maker::Kernel, Maker::Written]);
    assert!(!bed.comes_true(|| line.done() != 0), "the kernel is not through");
    bed.bank.lower(raised);
    assert!(bed.comes_true(|| line.done() == second), "now it is, and the rescue behind it");
    bed.driver.context_synchronize().unwrap();
    assert_eq!(bed.carrier().line.done(), second, "`done` only ever grows");
}

/// A copy that has begun ends by itself, so the layer closes at once, whichever threads are inside.
#[test]
#[cfg_attr(miri, ignore)] // it moves bytes through the software GPU
fn a_carrier_closes_without_a_take_over_when_its_copies_have_begun() {
    let bed = Bed::new();
    let raised = bed.bank.raise(Priority::new(2).unwrap());
    let first = bed.carry(0);
    let line = &bed.carrier().line;
    assert!(bed.comes_true(|| line.started() == first), "the kernel has begun, and yields");
    let inside = bed.guard.inside();
    assert!(bed.guard.carriers.iter().all(|carrier| carrier.close(false)), "the other carriers have no copy");
    assert_eq!(bed.makers(), [Maker::Kernel]);
    drop(inside);
    bed.bank.lower(raised);
    assert!(bed.comes_true(|| line.done() == first));
}
