//! The counters of a set of arrays.

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
