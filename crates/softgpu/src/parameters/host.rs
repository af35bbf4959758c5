use serde::{Deserialize, Serialize};

use super::check;

/// The host's cost of calls, in nanoseconds of the caller's time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HostParameters {
    /// One wait or write (facts 5: 1.18 us).
    pub memop_ns: u64,
    /// A batch of memory operations, without its operations (facts 5: a batch of 4 costs 1.60 us).
    pub batch_ns: u64,
    /// Each operation of a batch.
    pub batch_each_ns: u64,
    /// An asynchronous copy or memset (facts 5: 2.2 to 2.5 us).
    pub copy_ns: u64,
    /// The same for a copy to the host. It fits the measured queue map: sixteen of them, submitted back to back,
    /// drain as fast as they come. In a burst, one was measured to cost 2.2 to 2.5 us.
    pub copy_d2h_ns: u64,
    /// A copy to another device (measured beside the next one, in bursts of 1 to 64: 2.7 to 3.4 us at any size;
    /// `reports/peers`).
    pub push_ns: u64,
    /// A copy from another device: by a stream of the one that it goes to (measured: 5.6 to 6.6 us).
    pub pull_ns: u64,
    /// An event record (facts 5: 0.24 us).
    pub event_record_ns: u64,
    /// A stream wait event (facts 5: 0.20 us).
    pub stream_wait_event_ns: u64,
    /// The same for an event of another device (measured: a record and this take 2.2 to 2.3 us, 0.6 to 0.8 on one
    /// device).
    pub stream_wait_across_ns: u64,
    /// A stream or event query (facts 5: 1.7 us).
    pub query_ns: u64,
    /// A kernel launch (facts 5: 4.7 us; on later hosts a request by kernel, with its write and the queries before
    /// it, takes 4.4 to 4.9).
    pub launch_ns: u64,
    /// The capture status (facts 5: 0.03 us).
    pub capture_status_ns: u64,
    /// A pointer attribute (facts 5: 0.08 us).
    pub pointer_ns: u64,
    /// Calls that only look something up. Not measured; of the order of the cheapest measured calls.
    pub lookup_ns: u64,
    /// Making and destroying streams, events, allocations and modules. Not measured; of the order of a microsecond.
    pub manage_ns: u64,
    /// The cost of a synchronisation beyond the wait itself.
    pub synchronize_ns: u64,
    /// A sleep of at least this length leaves the thread's core cold.
    pub cold_after_ns: u64,
    /// The additional cost of each nanosecond of a cold thread's calls, times the square of an exponential draw for
    /// each sleep (measured: a plain 64 KiB copy and its completion word cost 8 us at least, 8 to 20 in the median
    /// and 9 to 36 in the 90th percentile when the caller has slept a millisecond).
    pub cold_slowdown: f64,
    /// The upper limit of the slowdown (measured: the 90th percentile is at most three times the fastest).
    pub cold_slowdown_max: f64,
    /// The cost of entering a call of the driver or the clock on a cold thread, before the slowdown and independent
    /// of the call: the caller's own code misses the caches as well (measured: a copy with a word to raise, five
    /// look-ups more, costs its caller 4 us more).
    pub cold_entry_ns: u64,
    /// A thread is cold for this much of its calls, in warm time (measured: 65 calls in a row cost 2.3 us each).
    pub cold_span_ns: u64,
    /// Whether calls that wait for the device before they free, unregister or make something keep all other threads
    /// of the process out of the driver until they return, as on an H100. Off by default: most tests wait for copies of
    /// a thread while another one frees.
    pub waits_keep_others_out: bool,
    /// Reading the clock.
    pub clock_ns: u64,
    /// A spin-loop hint.
    pub pause_ns: u64,
    /// A copy from or to pageable memory, without its bytes (facts 8: 64 KiB take 28 us).
    pub pageable_ns: u64,
    /// Rate of the first bytes of a pageable copy, in GB/s (facts 8: 1 MiB takes 109 us).
    pub pageable_cached_gbps: f64,
    /// The number of bytes at that rate.
    pub pageable_cached_bytes: u64,
    /// Rate of the rest, in GB/s (facts 8: 64 MiB go at 6.4 GB/s; on a later host 1 GiB at 7.3).
    pub pageable_gbps: f64,
    /// A copy to pageable memory, beyond that to pinned memory and without its bytes (on a later host 64 KiB take 16 us
    /// to pageable memory and 10 to pinned).
    pub pageable_d2h_ns: u64,
    /// Rate of a copy to pageable memory, in GB/s (1 GiB at 10.5).
    pub pageable_d2h_gbps: f64,
    /// The pieces in which the driver copies (a pinned copy beside a pageable one to the device waits 39 us at most).
    pub pageable_piece_bytes: u64,
    /// A copy to the device of up to this size returns while earlier work of its stream is not complete
    /// (`reports/driver/h100/2026-11-21-keeps-out.txt`).
    pub pageable_queued_bytes_max: u64,
    /// A synchronous copy to the device of up to this size has landed when its call returns (another project's count:
    /// a stream overtook larger ones 146 times of 200, and never those of up to 256 KiB).
    pub pageable_landed_bytes_max: u64,
    /// A thread that waits for the staging memory to the host is woken so long after it has become free. Not measured;
    /// of the order of a wake-up, and longer than a thread that copies in a loop takes to come again.
    pub pageable_wake_ns: u64,
    /// After so many copies of others it has its turn (a 64 KiB copy waited 14.1 s beside copies of 256 MiB, each of
    /// 25.6 ms).
    pub pageable_races_max: u64,
    /// Rate at which one of several threads of a program copies from memory to memory, in GB/s (measured on an H100's
    /// host with 16 cores: 2 to 8 threads that fill slots beside the engine move 6.2 to 7.6 each).
    pub memcpy_gbps: f64,
}

impl Default for HostParameters {
    fn default() -> HostParameters {
        HostParameters {
            memop_ns: 1_180,
            batch_ns: 1_040,
            batch_each_ns: 140,
            copy_ns: 2_300,
            copy_d2h_ns: 2_950,
            push_ns: 3_000,
            pull_ns: 6_000,
            event_record_ns: 240,
            stream_wait_event_ns: 200,
            stream_wait_across_ns: 1_800,
            query_ns: 1_700,
            launch_ns: 3_900,
            capture_status_ns: 30,
            pointer_ns: 80,
            lookup_ns: 30,
            manage_ns: 1_000,
            synchronize_ns: 300,
            cold_after_ns: 300_000,
            cold_slowdown: 0.35,
            cold_slowdown_max: 4.0,
            cold_entry_ns: 900,
            cold_span_ns: 20_000,
            waits_keep_others_out: false,
            clock_ns: 25,
            pause_ns: 50,
            pageable_ns: 19_500,
            pageable_cached_gbps: 12.1,
            pageable_cached_bytes: 1 << 20,
            pageable_gbps: 6.9,
            pageable_d2h_ns: 2_000,
            pageable_d2h_gbps: 10.5,
            pageable_piece_bytes: 1 << 20,
            pageable_queued_bytes_max: 64 << 10,
            pageable_landed_bytes_max: 256 << 10,
            pageable_wake_ns: 50_000,
            pageable_races_max: 550,
            memcpy_gbps: 6.4,
        }
    }
}

impl HostParameters {
    pub(super) fn check(&self) -> Result<(), String> {
        check::rates(&[
            ("host.pageable_gbps", self.pageable_gbps),
            ("host.pageable_d2h_gbps", self.pageable_d2h_gbps),
            ("host.memcpy_gbps", self.memcpy_gbps),
            ("host.pageable_cached_gbps", self.pageable_cached_gbps),
        ])?;
        let cold = [self.cold_slowdown, self.cold_slowdown_max];
        if cold.iter().any(|slowdown| !(slowdown.is_finite() && *slowdown >= 0.0)) {
            return Err("host.cold_slowdown and host.cold_slowdown_max must not be negative".to_owned());
        }
        Ok(())
    }
}
