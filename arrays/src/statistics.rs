//! The counters of a set of arrays.

use std::sync::atomic::{AtomicU64, Ordering};

/// The transfers so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DataStatistics {
    /// Tasks that copy to the device, each for one use of an array.
    pub uploads: u64,
    /// Their bytes.
    pub upload_bytes: u64,
    /// Tasks that copy to the host.
    pub downloads: u64,
    /// Their bytes.
    pub download_bytes: u64,
    /// Tasks that copy between two devices.
    pub between_devices: u64,
    /// Their bytes.
    pub between_device_bytes: u64,
    /// Uses that shared the transfer of another use instead of making their own.
    pub shared: u64,
    /// Arrays that were evicted from a device.
    pub evictions: u64,
    /// Partial results of reductions that were combined with their array.
    pub combined: u64,
    /// The bytes of those that were on a device, and so were copied to the host first.
    pub combined_bytes: u64,
}

/// The same, being counted.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub uploads: AtomicU64,
    pub upload_bytes: AtomicU64,
    pub downloads: AtomicU64,
    pub download_bytes: AtomicU64,
    pub between_devices: AtomicU64,
    pub between_device_bytes: AtomicU64,
    pub shared: AtomicU64,
    pub evictions: AtomicU64,
    pub combined: AtomicU64,
    pub combined_bytes: AtomicU64,
}

impl Counts {
    pub fn statistics(&self) -> DataStatistics {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        DataStatistics {
            uploads: of(&self.uploads),
            upload_bytes: of(&self.upload_bytes),
            downloads: of(&self.downloads),
            download_bytes: of(&self.download_bytes),
            between_devices: of(&self.between_devices),
            between_device_bytes: of(&self.between_device_bytes),
            shared: of(&self.shared),
            evictions: of(&self.evictions),
            combined: of(&self.combined),
            combined_bytes: of(&self.combined_bytes),
        }
    }
}

/// Counts.
pub(super) fn count(count: &AtomicU64, more: u64) {
    count.fetch_add(more, Ordering::Relaxed);
}
