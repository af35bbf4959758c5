//! Every constant of the model, each with the measurement that it was fitted to.
//!
//! `facts N` below is section N of the measurements on one H100 (SXM, PCIe Gen5 x16, driver 580). The rows are in
//! `facts.toml`, and `tests/fidelity.rs` replays them. A file may override any subset of the keys; the others keep
//! the values of the preset.

use std::path::Path;

use doors::fault::{Fault, Source};
use serde::{Deserialize, Serialize};

/// The parameters of a software GPU.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// The device's answers about itself.
    pub device: DeviceParameters,
    /// The host's cost of calls.
    pub host: HostParameters,
    /// Streams and hardware queues.
    pub queue: QueueParameters,
    /// Stream memory operations.
    pub memop: MemopParameters,
    /// Copy engines and links.
    pub engine: EngineParameters,
    /// Kernels and memsets.
    pub kernel: KernelParameters,
    /// The copy kernel.
    pub copy_kernel: CopyKernelParameters,
}

/// The device's answers about itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DeviceParameters {
    /// The marketing name.
    pub name: String,
    /// Bytes of device memory.
    pub memory_bytes: u64,
    /// Multiprocessors: the budget of concurrent kernels. 132 on an H100 SXM.
    pub multiprocessors: u32,
    /// Major and minor number of the compute capability.
    pub compute_capability: [i32; 2],
    /// CUDA version of the driver, as `1000 * major + 10 * minor`. The facts were taken with 13.0.
    pub driver_version: i32,
    /// The number of the most urgent stream priority (facts: -5).
    pub greatest_priority: i32,
    /// The value of `ASYNC_ENGINE_COUNT`.
    pub async_engines: i32,
}

impl Default for DeviceParameters {
    fn default() -> DeviceParameters {
        DeviceParameters {
            name: "overtake software GPU (h100-sxm-pcie5)".to_owned(),
            memory_bytes: 80 << 30,
            multiprocessors: 132,
            compute_capability: [9, 0],
            driver_version: 13_000,
            greatest_priority: -5,
            async_engines: 3,
        }
    }
}

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
    /// An event record (facts 5: 0.24 us).
    pub event_record_ns: u64,
    /// A stream wait event (facts 5: 0.20 us).
    pub stream_wait_event_ns: u64,
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
    /// Rate of the rest, in GB/s (facts 8: 64 MiB go at 6.4 GB/s).
    pub pageable_gbps: f64,
}

impl Default for HostParameters {
    fn default() -> HostParameters {
        HostParameters {
            memop_ns: 1_180,
            batch_ns: 1_040,
            batch_each_ns: 140,
            copy_ns: 2_300,
            copy_d2h_ns: 2_950,
            event_record_ns: 240,
            stream_wait_event_ns: 200,
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
            clock_ns: 25,
            pause_ns: 50,
            pageable_ns: 19_500,
            pageable_cached_gbps: 12.1,
            pageable_cached_bytes: 1 << 20,
            pageable_gbps: 6.4,
        }
    }
}

/// Streams and hardware queues.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct QueueParameters {
    /// Hardware queues for copies to the device (facts 4: 4).
    pub h2d: u32,
    /// Hardware queues for copies to the host (facts 4: 4).
    pub d2h: u32,
    /// Hardware queues for copies on the device. Not measured; taken to be as many as the others.
    pub d2d: u32,
    /// Hardware queues for copies to another device. Not measured; taken to be as many as the others.
    pub peer: u32,
    /// Hardware queues for kernels; 0 gives each stream one of its own (facts 4: kernels of 64 streams shared nothing).
    pub compute: u32,
    /// A queue counts as idle this long after its last operation, when a stream looks for one (fits the measured
    /// queue map: the fourth of sixteen copies submitted back to back finds no idle queue).
    pub idle_after_ns: u64,
    /// Operations that a stream holds; the next submission blocks (facts 5: about 1 000).
    pub stream_operations: usize,
    /// Streams that a context has room for at first. Making one more waits for everything in the context (measured:
    /// 35). 0: there is always room.
    pub streams: u32,
    /// The room for more streams after that wait. It stays when streams are destroyed (measured: 43).
    pub streams_more: u32,
    /// From the end of a call until the device sees its operation (fits the 8.1 us of facts 5 together with the host
    /// cost, the engine's set-up and the completion word).
    pub submit_latency_ns: u64,
    /// Device time of an event record or an event wait (facts 5: a hop through a channel adds 0.3 us).
    pub bookkeeping_ns: u64,
    /// From the end of a kernel to the beginning of a copy that is queued behind it, or the other way round. The
    /// queues hand over by a word that the other queue polls, so the time is evenly spread from 0 to twice this
    /// (measured: an empty kernel between two chunks costs bulk 9 us).
    pub crossing_ns: u64,
}

impl Default for QueueParameters {
    fn default() -> QueueParameters {
        QueueParameters {
            h2d: 4,
            d2h: 4,
            d2d: 4,
            peer: 4,
            compute: 0,
            idle_after_ns: 400,
            stream_operations: 1_020,
            streams: 35,
            streams_more: 43,
            submit_latency_ns: 600,
            bookkeeping_ns: 150,
            crossing_ns: 3_100,
        }
    }
}

/// Stream memory operations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MemopParameters {
    /// A write (facts 5: each adds 1.4 us to its stream).
    pub write_ns: u64,
    /// A write while an engine of the device reads the host's memory at full rate: the answer to its barrier comes
    /// after the bytes that the engine has requested (measured: a copy to the host takes 8 to 11 us longer then).
    pub write_behind_reads_ns: u64,
    /// A write while an engine of the device writes the host's memory at full rate: it goes after the bytes that the
    /// engine has sent (measured: a copy to the device takes 2 us longer then).
    pub write_behind_writes_ns: u64,
    /// A write while a kernel polls a word of the host's memory: its barrier waits for those reads too (measured:
    /// beside a copy kernel that stands still, 4.0 to 4.3 us of a 64 KiB copy come after its caller's last call, and
    /// 2.6 to 2.9 without, in either direction).
    pub write_beside_looks_ns: u64,
    /// From an event to the wait behind it (measured: requests of 64 KiB to 1 MiB through a channel take 9 to 10 us
    /// beside their bytes; events join them, and a wait stands before each chunk).
    pub event_to_wait_ns: u64,
    /// From an event to the write behind it while an engine runs (fits the cost of a bracket for an urgent copy
    /// beside chunks: 11 to 13 us at the least, 15 to 25 in the median).
    pub event_to_write_busy_ns: u64,
    /// Each further write of a batch (facts 5: a channel with one batched lower adds 2.2 us, not 2.8).
    pub batched_write_ns: u64,
    /// A satisfied wait on host memory (facts 2: 1.2 us).
    pub wait_host_ns: u64,
    /// A satisfied wait on device memory (facts 2: 0.5 us).
    pub wait_device_ns: u64,
    /// The wait behind a copy is looked at this long before the copy's end (fits the chunk sweep of facts 2: an
    /// urgent copy that comes in the last microseconds of a chunk waits for the next one too).
    pub wait_lead_ns: u64,
    /// An unsatisfied wait looks again after this time (fits the bracket per copy of facts 3: 657 us for 64 copies).
    pub wait_poll_ns: u64,
    /// The spread of that time, evenly earlier or later: the hardware's looks are out of step with the commands of
    /// other queues.
    pub wait_poll_spread_ns: u64,
}

impl Default for MemopParameters {
    fn default() -> MemopParameters {
        MemopParameters {
            write_ns: 1_400,
            write_behind_reads_ns: 12_000,
            write_behind_writes_ns: 3_200,
            write_beside_looks_ns: 2_800,
            event_to_wait_ns: 4_200,
            event_to_write_busy_ns: 15_000,
            batched_write_ns: 1_000,
            wait_host_ns: 1_200,
            wait_device_ns: 500,
            wait_lead_ns: 4_500,
            wait_poll_ns: 16_000,
            wait_poll_spread_ns: 4_000,
        }
    }
}

/// Copy engines and links.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EngineParameters {
    /// The time before the bytes of a copy move (facts 2: the gap between consecutive copies; facts 3: 64 copies of
    /// 64 KiB in 251 us).
    pub h2d_setup_ns: u64,
    /// The same for copies to the host (measured: 64 copies of 64 KiB take 194 to 199 us).
    pub d2h_setup_ns: u64,
    /// The same for copies on the device and between devices. Not measured.
    pub d2d_setup_ns: u64,
    /// The time that the engine needs to turn from a queue that still holds work to another one (fits the chunk sweep
    /// of facts 2 and the raise per copy of facts 3).
    pub switch_ns: u64,
    /// Copies to the device of at most this many bytes need no engine: they run among the stream's kernels (measured:
    /// up to 24 KiB are not held up by bulk copies, 32 KiB are).
    pub inline_bytes_max: u64,
    /// Device time of such a copy, without its bytes (measured: 4 B 17 us, 24 KiB 25 us, synchronisation included).
    pub inline_ns: u64,
    /// Device time of each KiB of such a copy.
    pub inline_kib_ns: u64,
    /// Rate to the device, in GB/s (facts 2: 55.2).
    pub h2d_gbps: f64,
    /// Rate to the host, in GB/s (facts 9: 55).
    pub d2h_gbps: f64,
    /// Rate of a copy on the device, in GB/s. Not measured; about 40 % of the memory bandwidth, each byte going twice.
    pub d2d_gbps: f64,
    /// Rate to another device, in GB/s. Not measured; a PCIe path, as the preset's name says.
    pub peer_gbps: f64,
    /// Slice of a process while another one waits for the engine (facts 7: p50 571 us, p99 1 058 us).
    pub slice_ns: u64,
}

impl Default for EngineParameters {
    fn default() -> EngineParameters {
        EngineParameters {
            h2d_setup_ns: 2_600,
            d2h_setup_ns: 1_800,
            d2d_setup_ns: 2_200,
            switch_ns: 2_600,
            inline_bytes_max: 24_576,
            inline_ns: 1_500,
            inline_kib_ns: 250,
            h2d_gbps: 55.2,
            d2h_gbps: 55.0,
            d2d_gbps: 1_300.0,
            peer_gbps: 50.0,
            slice_ns: 1_060_000,
        }
    }
}

/// Kernels and memsets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct KernelParameters {
    /// From the head of the queue to the first instruction. Not measured by itself; the usual 2 us.
    pub start_ns: u64,
    /// The additional time while an engine of the device reads the host's memory at full rate, because the launch is
    /// fetched from there (measured: 64 copies of 64 KiB by kernel beside bulk to the device take 27 us each).
    pub start_behind_reads_ns: u64,
    /// The same while another kernel polls a word of the host's memory (fits copies of three priorities at once, of
    /// which the lower two go by copy kernel beside one that stands still).
    pub start_beside_looks_ns: u64,
    /// From the end of a kernel to the write behind it (measured, with `gated_ns` and `h2d_latency_ns` of the copy
    /// kernel: requests of 64 KiB to 1 MiB, a write behind each, take 9.6 us beside their bytes to the device and 8.1
    /// us to the host).
    pub end_to_write_ns: u64,
    /// Ceiling of multiprocessors reading host memory, in GB/s (facts 6: about 51).
    pub h2d_gbps: f64,
    /// Their share of the link to the device while the engine copies over it (measured: 1 MiB by 16 blocks takes 33
    /// us longer then, of which 9 are the write behind it).
    pub h2d_contended_gbps: f64,
    /// The time until the first bytes of a move come in that case: reads wait behind those of the engine (measured:
    /// each round of reads of a kernel of few warps takes 3 us longer then).
    pub h2d_contended_latency_ns: u64,
    /// Ceiling of multiprocessors writing host memory, in GB/s (facts 6: 52.3).
    pub d2h_gbps: f64,
    /// Their share of the link to the host while the engine copies over it (measured: 1 MiB by 16 blocks takes 9 us
    /// longer then, of which 2 are the write behind it).
    pub d2h_contended_gbps: f64,
    /// Their rate, either way, while the engine makes copies of less than 256 KiB (fits the rate of bulk by kernel in
    /// its share of the time under endless urgent copies: 3.1 to 3.6 GB/s of 7 %).
    pub beside_short_gbps: f64,
    /// Ceiling of multiprocessors moving bytes on the device, in GB/s. Not measured.
    pub d2d_gbps: f64,
    /// Rate of a memset, in GB/s. Not measured.
    pub memset_gbps: f64,
    /// The most dynamic shared memory of a block (measured: a launch that asks for more is refused).
    pub shared_bytes_max: u32,
}

impl Default for KernelParameters {
    fn default() -> KernelParameters {
        KernelParameters {
            start_ns: 2_000,
            start_behind_reads_ns: 3_000,
            start_beside_looks_ns: 5_800,
            end_to_write_ns: 3_100,
            h2d_gbps: 51.0,
            h2d_contended_gbps: 24.0,
            h2d_contended_latency_ns: 3_000,
            d2h_gbps: 52.3,
            d2h_contended_gbps: 37.0,
            beside_short_gbps: 45.0,
            d2d_gbps: 1_300.0,
            memset_gbps: 2_000.0,
            shared_bytes_max: 49_152,
        }
    }
}

/// The copy kernel of the library.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CopyKernelParameters {
    /// Rate to the device, in GB/s, by the number of warps that move bytes (measured alone on the link). Between two
    /// numbers it is interpolated; it is proportional below the first and constant beyond the last.
    pub h2d_gbps: Vec<(u32, f64)>,
    /// The same to the host.
    pub d2h_gbps: Vec<(u32, f64)>,
    /// The most that one multiprocessor sends to the host, in GB/s (measured: 16 warps in one block).
    pub d2h_block_gbps: f64,
    /// By the number of warps: the time that the link stays occupied after the warps stop, by bytes that they have
    /// requested (measured: an urgent copy beside 64 and 96 warps takes 1 and 3 us longer than beside 16).
    pub h2d_drain_ns: Vec<(u32, f64)>,
    /// The same for bytes that they have sent (measured: beside 24, 64 and 96 warps it takes 3, 6 and 12 to 50 us
    /// longer).
    pub d2h_drain_ns: Vec<(u32, f64)>,
    /// Rate of fills, in GB/s. Not measured.
    pub fill_gbps: f64,
    /// From the first instruction of a launch that yields to its first move: the word is read over the bus first.
    pub gated_ns: u64,
    /// Until the first bytes come from the host's memory.
    pub h2d_latency_ns: u64,
    /// From a change of the host word until the warps see it: the mirroring block reads it over the bus (measured: a
    /// 64 KiB urgent copy on the engine, with the word raised by the CPU, takes 1 to 2 us longer than on an idle
    /// GPU).
    pub mirror_ns: u64,
    /// The model looks at the word this often. Bytes that flow in between are in flight when the word goes up.
    pub look_ns: u64,
}

impl Default for CopyKernelParameters {
    fn default() -> CopyKernelParameters {
        CopyKernelParameters {
            h2d_gbps: vec![(16, 19.5), (32, 36.5), (40, 46.3), (48, 50.8), (64, 51.0), (96, 50.7)],
            d2h_gbps: vec![(16, 50.3), (18, 51.5), (48, 52.2), (64, 51.9), (96, 52.0)],
            d2h_block_gbps: 38.0,
            h2d_drain_ns: vec![(16, 1_000.0), (50, 5_300.0), (64, 6_100.0), (96, 8_500.0)],
            d2h_drain_ns: vec![(16, 1_000.0), (24, 6_500.0), (50, 7_500.0), (64, 9_000.0), (96, 16_000.0)],
            fill_gbps: 100.0,
            gated_ns: 1_500,
            h2d_latency_ns: 1_500,
            mirror_ns: 1_000,
            look_ns: 500,
        }
    }
}

impl CopyKernelParameters {
    /// The rate of this many blocks of this many warps; infinite on the device, where the link bounds it.
    pub(crate) fn gbps(&self, direction: crate::Direction, blocks: u32, warps: u32) -> f64 {
        match direction {
            crate::Direction::HostToDevice => interpolated(&self.h2d_gbps, blocks * warps),
            crate::Direction::DeviceToHost => {
                interpolated(&self.d2h_gbps, blocks * warps).min(self.d2h_block_gbps * f64::from(blocks))
            }
            crate::Direction::OnDevice => f64::INFINITY,
        }
    }

    /// The time that the link stays occupied after this many warps have stopped.
    pub(crate) fn drain_ns(&self, direction: crate::Direction, warps: u32) -> u64 {
        match direction {
            crate::Direction::HostToDevice => interpolated(&self.h2d_drain_ns, warps) as u64,
            crate::Direction::DeviceToHost => interpolated(&self.d2h_drain_ns, warps) as u64,
            crate::Direction::OnDevice => 0,
        }
    }

    fn check(&self) -> Result<(), String> {
        let tables = [
            ("h2d_gbps", &self.h2d_gbps),
            ("d2h_gbps", &self.d2h_gbps),
            ("h2d_drain_ns", &self.h2d_drain_ns),
            ("d2h_drain_ns", &self.d2h_drain_ns),
        ];
        for (name, table) in tables {
            let rising = table.windows(2).all(|pair| pair[0].0 < pair[1].0);
            let positive = table.iter().all(|&(warps, rate)| warps > 0 && rate.is_finite() && rate > 0.0);
            if table.is_empty() || !rising || !positive {
                return Err(format!("copy_kernel.{name} must be pairs of warps, rising, and a positive number"));
            }
        }
        if self.look_ns == 0 {
            return Err("copy_kernel.look_ns must be at least 1".to_owned());
        }
        Ok(())
    }
}

impl Parameters {
    /// Names of the presets.
    pub const PRESETS: [&'static str; 1] = ["h100-sxm-pcie5"];

    /// The preset of that name.
    #[must_use]
    pub fn preset(name: &str) -> Option<Parameters> {
        (name == Parameters::PRESETS[0]).then(Parameters::default)
    }

    /// Reads TOML that overrides keys of the preset `h100-sxm-pcie5`.
    ///
    /// # Errors
    /// The parser's message: an unknown key is an error and not ignored.
    pub fn from_toml(text: &str) -> Result<Parameters, String> {
        Parameters::read(&Source { origin: "the parameters", text }).map_err(|fault| fault.to_string())
    }

    fn read(source: &Source<'_>) -> Result<Parameters, Fault> {
        let fault = |error: toml::de::Error| match error.span() {
            Some(span) => source.fault(span, error.message()),
            None => source.fault_of_all(error.message()),
        };
        let parameters: Parameters = toml::from_str(source.text).map_err(fault)?;
        parameters.check().map_err(|why| source.fault_of_all(why))?;
        Ok(parameters)
    }

    /// The preset of this name, or a TOML file if the name is a path.
    ///
    /// # Errors
    /// The name is neither, or the file does not parse.
    pub fn named(name: &str) -> Result<Parameters, String> {
        if let Some(preset) = Parameters::preset(name) {
            return Ok(preset);
        }
        if Path::new(name).extension().is_none_or(|e| e != "toml") {
            return Err(format!("no preset {name}: there is {:?}, or the path of a .toml file", Parameters::PRESETS));
        }
        if doors::variable::is_privileged() {
            return Err(format!(
                "{name} is not read, because this program runs with other rights than its caller: use a preset"
            ));
        }
        let text = doors::file::read_text(Path::new(name)).map_err(|e| format!("{name}: {e}"))?;
        Parameters::read(&Source { origin: name, text: &text }).map_err(|fault| fault.to_string())
    }

    /// All parameters as TOML.
    #[must_use]
    pub fn to_toml(&self) -> String {
        toml::to_string_pretty(self).expect("plain numbers and strings always serialise")
    }

    fn check(&self) -> Result<(), String> {
        let rates = [
            ("engine.h2d_gbps", self.engine.h2d_gbps),
            ("engine.d2h_gbps", self.engine.d2h_gbps),
            ("engine.d2d_gbps", self.engine.d2d_gbps),
            ("engine.peer_gbps", self.engine.peer_gbps),
            ("kernel.h2d_gbps", self.kernel.h2d_gbps),
            ("kernel.d2h_gbps", self.kernel.d2h_gbps),
            ("kernel.h2d_contended_gbps", self.kernel.h2d_contended_gbps),
            ("kernel.d2h_contended_gbps", self.kernel.d2h_contended_gbps),
            ("kernel.d2d_gbps", self.kernel.d2d_gbps),
            ("kernel.memset_gbps", self.kernel.memset_gbps),
            ("copy_kernel.fill_gbps", self.copy_kernel.fill_gbps),
            ("host.pageable_gbps", self.host.pageable_gbps),
            ("host.pageable_cached_gbps", self.host.pageable_cached_gbps),
        ];
        if let Some((name, _)) = rates.iter().find(|(_, rate)| !(rate.is_finite() && *rate > 0.0)) {
            return Err(format!("{name} must be a positive number"));
        }
        let counts = [
            ("queue.h2d", self.queue.h2d),
            ("queue.d2h", self.queue.d2h),
            ("queue.d2d", self.queue.d2d),
            ("queue.peer", self.queue.peer),
            ("device.multiprocessors", self.device.multiprocessors),
        ];
        if let Some((name, _)) = counts.iter().find(|(_, count)| *count == 0) {
            return Err(format!("{name} must be at least 1"));
        }
        if self.memop.wait_poll_spread_ns >= self.memop.wait_poll_ns {
            return Err("memop.wait_poll_spread_ns must be less than memop.wait_poll_ns".to_owned());
        }
        if self.memop.wait_poll_ns == 0 || self.engine.slice_ns == 0 || self.queue.stream_operations == 0 {
            return Err("memop.wait_poll_ns, engine.slice_ns and queue.stream_operations must be at least 1".to_owned());
        }
        let contended = [
            ("h2d", self.kernel.h2d_contended_gbps, self.engine.h2d_gbps),
            ("d2h", self.kernel.d2h_contended_gbps, self.engine.d2h_gbps),
        ];
        if let Some((name, ..)) = contended.iter().find(|(_, kernels, engine)| kernels >= engine) {
            return Err(format!("kernel.{name}_contended_gbps must be less than engine.{name}_gbps"));
        }
        let cold = [self.host.cold_slowdown, self.host.cold_slowdown_max];
        if cold.iter().any(|slowdown| !(slowdown.is_finite() && *slowdown >= 0.0)) {
            return Err("host.cold_slowdown and host.cold_slowdown_max must not be negative".to_owned());
        }
        self.copy_kernel.check()
    }
}

/// The time of `bytes` at `gbps`, in nanoseconds (1 GB/s is 1 byte a nanosecond).
pub(crate) fn span_ns(bytes: u64, gbps: f64) -> u64 {
    (bytes as f64 / gbps).round() as u64
}

/// The value at `at` of a table: proportional below its first entry, constant beyond its last.
fn interpolated(table: &[(u32, f64)], at: u32) -> f64 {
    let mut below = (0, 0.0);
    for &(next, rate) in table {
        if at <= next {
            let part = f64::from(at - below.0) / f64::from(next - below.0);
            return below.1 + (rate - below.1) * part;
        }
        below = (next, rate);
    }
    below.1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_overrides_some_keys_and_no_unknown_ones() {
        let some = Parameters::from_toml("[engine]\nh2d_setup_ns = 7\n").unwrap();
        assert_eq!((some.engine.h2d_setup_ns, some.queue.h2d), (7, 4));
        assert!(Parameters::from_toml("[engine]\nset_up_ns = 7\n").unwrap_err().contains("set_up_ns"));
        assert!(Parameters::from_toml("[engine]\nh2d_gbps = 0.0\n").unwrap_err().contains("h2d_gbps"));
        let starving = "[kernel]\nd2h_contended_gbps = 60.0\n";
        assert!(Parameters::from_toml(starving).unwrap_err().contains("d2h_contended_gbps"));
    }

    #[test]
    fn rates_between_measured_numbers_of_warps_are_interpolated() {
        let copy = CopyKernelParameters::default();
        let to_device = |blocks, warps| copy.gbps(crate::Direction::HostToDevice, blocks, warps);
        assert_eq!([to_device(1, 8), to_device(2, 16), to_device(4, 16), to_device(64, 16)], [9.75, 36.5, 51.0, 50.7]);
        assert!((to_device(5, 16) - 50.85).abs() < 1e-9);
        let to_host = |blocks, warps| copy.gbps(crate::Direction::DeviceToHost, blocks, warps);
        assert_eq!([to_host(1, 16), to_host(2, 9)], [38.0, 51.5], "one multiprocessor sends no more");
        let falling = "[copy_kernel]\nh2d_gbps = [[4, 50.0], [2, 36.0]]\n";
        assert!(Parameters::from_toml(falling).unwrap_err().contains("copy_kernel.h2d_gbps"));
    }

    #[test]
    fn written_parameters_are_read_back() {
        let preset = Parameters::preset("h100-sxm-pcie5").unwrap();
        assert_eq!(Parameters::from_toml(&preset.to_toml()).unwrap(), preset);
        assert!(Parameters::named("h200").unwrap_err().contains("h100-sxm-pcie5"));
    }
}
