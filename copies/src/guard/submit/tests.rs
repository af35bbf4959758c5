//! Streams that leave the engine before their guarded copies, on the software GPU.
#![allow(unsafe_code)] // copies are unsafe: the memory outlives them

use std::sync::Arc;

use hal::{DevicePtr, Driver, HostAllocFlags};
use options::{Options, Profile};
use priority::Priority;

use crate::decide::Plan;
use crate::overtake::Overtake;
use crate::stream::PriorityStream;

const BULK_BYTES: u64 = 256 << 10;
const SMALL_BYTES: u64 = 8 << 10;

/// A stream with guarded copies, and the word that a stream sets to 0 when it leaves the engine.
struct Bed {
    driver: Arc<dyn Driver>,
    bulk: PriorityStream,
    _urgent: PriorityStream,
    host: *mut u8,
    device: DevicePtr,
    spare: DevicePtr,
    // Dropped last: without it copies go natively.
    _overtake: Overtake,
}

impl Bed {
    fn new() -> Bed {
        let driver = crate::soft::driver();
        let profile = Profile { channels: false, guard_bytes_min: Some(BULK_BYTES), ..Profile::LIBRARY };
        let options = Options { profile, ..Options::default() };
        let overtake = Overtake::attach(&driver, options).unwrap();
        let [bulk, _urgent] =
            [Priority::LOWEST, overtake.priorities().highest()].map(|priority| overtake.stream(priority).unwrap());
        let host = driver.host_alloc(BULK_BYTES, HostAllocFlags::PORTABLE).unwrap();
        let device = driver.mem_alloc(BULK_BYTES).unwrap();
        let spare = overtake.inner().guard.as_ref().unwrap().spare;
        Bed { driver, bulk, _urgent, host, device, spare, _overtake: overtake }
    }

    /// Copies to the host. Returns whether it went by kernel, and whether its stream left the engine before.
    fn copy(&self, bytes: u64) -> (bool, bool) {
        self.driver.memset_d8_async(self.spare, 7, 4, self.bulk.raw()).unwrap();
        self.bulk.synchronize().unwrap();
        // SAFETY: both sides have so many bytes.
        let copy = unsafe { self.bulk.memcpy_dtoh_async(self.host, self.device, bytes) }.unwrap();
        self.bulk.synchronize().unwrap();
        let mut found = [0_u8; 4];
        // SAFETY: so many bytes are there.
        unsafe { self.driver.copy_dtoh(found.as_mut_ptr(), self.spare, 4) }.unwrap();
        assert!(found == [7; 4] || found == [0; 4], "{found:?}");
        (matches!(copy.plan(), Plan::Kernel { .. }), found == [0; 4])
    }
}

/// A stream leaves the engine once, before the first guarded copy behind a copy by the engine.
#[test]
#[cfg_attr(miri, ignore)] // it moves bytes through the software GPU
fn a_stream_leaves_the_engine_before_a_guarded_copy() {
    let bed = Bed::new();
    let (by_engine, stays, leaves) = ((false, false), (true, false), (true, true));
    assert_eq!([BULK_BYTES, BULK_BYTES].map(|bytes| bed.copy(bytes)), [stays; 2], "no copy went by the engine");
    assert_eq!([SMALL_BYTES, SMALL_BYTES].map(|bytes| bed.copy(bytes)), [by_engine; 2]);
    assert_eq!([BULK_BYTES, BULK_BYTES].map(|bytes| bed.copy(bytes)), [leaves, stays]);
    bed.bulk.natively(|| ());
    assert_eq!([BULK_BYTES, BULK_BYTES].map(|bytes| bed.copy(bytes)), [leaves, stays], "a copy of the driver's own");
}
