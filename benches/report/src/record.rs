//! The JSON of a benchmark run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Spread, Summary};

/// The number of the product that a run measures. A change that could move figures raises it by hand and adds a line
/// here. Runs of older products are then stale: `cargo xtask headline` no longer quotes them, and `--check` names them.
///
/// * 0: no product of ours, or one that was only built to be compared with
/// * 1: from 9a6df2f on
/// * 2: copies are armed by other streams on their own engine only; first launches are announced; the number of copy
///   queues is the program's own; every copy is accounted for
pub const PRODUCT: u32 = 2;

/// The origin of a run's numbers: enough to make the run again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The version of overtake.
    pub version: String,
    /// The commit that it was built from, or `unknown`.
    pub commit: String,
    /// [`PRODUCT`] when it was built.
    #[serde(default)]
    pub product: u32,
    /// The command line.
    pub command: String,
    /// The driver's name for the device.
    pub device: String,
    /// CUDA version that the driver speaks, such as `13.0`.
    pub driver: String,
    /// The release of the driver, such as `580.159.04`, where the system tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver_release: Option<String>,
    /// `cuda` or `soft`.
    pub backend: String,
    /// Those environment variables that are set and change the measurement.
    pub environment: BTreeMap<String, String>,
}

/// One method in one direction: latency of the urgent copy, bandwidth of the bulk meanwhile, and both references. A
/// value that was not measured is `null`, never 0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BenchRow {
    /// A name as `overtake bench` lists it, such as `kernel/hold`.
    pub method: String,
    /// The transport of the bulk: `engine` or `kernel`.
    pub transport: String,
    /// The emulation of the semaphore: `none`, `hold`, `bracket` or `atomics`.
    pub emulation: String,
    /// `h2d` or `d2h`, or `both` at once.
    pub direction: String,
    /// Size of the urgent copy.
    pub high_bytes: u64,
    /// Size of one bulk request; 0 where no bulk ran.
    pub bulk_bytes: u64,
    /// The preemption unit of the bulk; `null` where requests go whole.
    pub chunk_bytes: Option<u64>,
    /// Urgent copies measured.
    pub samples: usize,
    /// Median on the idle device, same run and same call pattern.
    pub idle_p50_us: Option<f64>,
    /// 99th percentile on the idle device, same run and same call pattern.
    pub idle_p99_us: Option<f64>,
    /// Median latency of the urgent copy.
    pub p50_us: Option<f64>,
    /// The 90th percentile of the latency.
    pub p90_us: Option<f64>,
    /// The 99th percentile of the latency.
    pub p99_us: Option<f64>,
    /// The longest latency.
    pub max_us: Option<f64>,
    /// The part of the median that the caller spends inside the calls.
    pub enqueue_p50_us: Option<f64>,
    /// Bandwidth of the bulk meanwhile, in 10^9 bytes a second.
    pub bulk_gbps: Option<f64>,
    /// Bandwidth of the bulk alone, in the same run.
    pub raw_gbps: Option<f64>,
    /// Bandwidth of all urgent work beside the bulk, where it was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub urgent_gbps: Option<f64>,
    /// The number of times that the watchdog opened the semaphores.
    pub rescues: u64,
    /// The number of urgent copies that were complete only because bulk was stopped for them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub starved: u64,
    /// The transport of the urgent copy, where it differs from that of the bulk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub urgent_transport: Option<String>,
    /// The setting that tells this row from others of the same method, such as `chunk_us=40`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setting: Option<String>,
    /// The priority of the copies that the latencies are of, where a run has several; higher is more urgent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<u8>,
    /// Copies in one sample; absent where a sample is one copy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst: Option<u32>,
    /// Host time of one copy call, in nanoseconds: the median over batches of the batch's mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_ns: Option<f64>,
    /// The share of time that the options promise to bulk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share_configured: Option<f64>,
    /// Frames or tasks that were to end by a time of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due: Option<u64>,
    /// Those of them that did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missed: Option<u64>,
    /// The time that a frame or a task has, from the moment that it is due.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_us: Option<f64>,
    /// The cameras whose frames the row is of, where a run has several kinds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<String>,
    /// Those that missed their time because their end came late.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late: Option<u64>,
    /// Those that missed their time because they were dropped, by cause.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub dropped: BTreeMap<String, u64>,
    /// The mean difference between the latency of a frame and that of the next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter_us: Option<f64>,
    /// Results whose bytes were compared with those that they must have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checked: Option<u64>,
    /// Those of them with a wrong byte.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wrong: Option<u64>,
    /// The figure by that of the reference of the same round, where a run has rounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<Spread>,
    /// Numbers of copies that went another way than the method's, by reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub fallbacks: BTreeMap<String, u64>,
    /// The slowest frames, the slowest first, where they were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slow: Option<SlowFrames>,
    /// Every latency, ascending. In JSON `latency_steps_ns` has the first, and the difference of each to the one before
    /// it, which takes a quarter of the room.
    #[serde(rename = "latency_steps_ns", with = "steps", default, skip_serializing_if = "Vec::is_empty")]
    pub latencies_ns: Vec<u64>,
}

/// The slowest frames of a row.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SlowFrames {
    /// The stages of a frame, in their order.
    pub stages: Vec<String>,
    /// How long each takes in the median of all frames.
    pub median_us: Vec<f64>,
    /// The number of slow frames by the stage that took most above its median.
    pub by_stage: BTreeMap<String, usize>,
    /// The frames.
    pub frames: Vec<SlowFrame>,
}

/// A slow frame.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SlowFrame {
    /// When it was captured, from the beginning of its slice.
    pub captured_us: f64,
    /// From its capture to its result being seen.
    pub latency_us: f64,
    /// The stage that took most above its median.
    pub stage: String,
    /// How long each stage took.
    pub stages_us: Vec<f64>,
}

/// Whether there is nothing to tell.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl BenchRow {
    /// The row with the latencies of `summary`.
    #[must_use]
    pub fn with_latency(self, summary: Summary) -> BenchRow {
        BenchRow {
            samples: summary.samples,
            p50_us: Some(summary.p50_us),
            p90_us: summary.p90_us,
            p99_us: summary.p99_us,
            max_us: Some(summary.max_us),
            ..self
        }
    }

    /// The row with `idle` as its reference.
    #[must_use]
    pub fn with_idle(self, idle: Summary) -> BenchRow {
        BenchRow { idle_p50_us: Some(idle.p50_us), idle_p99_us: idle.p99_us, ..self }
    }
}

/// One distribution of a program of `benches/gpu`, natively or under `overtake run`, with nothing else or beside bulk.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProgramRow {
    /// The name of the case, such as `H2D side`.
    pub case: String,
    /// `native` or `overtake`.
    pub mode: String,
    /// `idle` or `loaded`.
    pub phase: String,
    /// The number of measured latencies.
    pub samples: usize,
    /// Median of the latencies.
    pub p50_us: Option<f64>,
    /// Their 99th percentile, where there are enough of them.
    #[serde(default)]
    pub p99_us: Option<f64>,
    /// The longest of them.
    pub max_us: Option<f64>,
    /// Bandwidth of the bulk meanwhile, in 10^9 bytes a second.
    #[serde(default)]
    pub bulk_gbps: Option<f64>,
    /// Bandwidth of the bulk alone, where it was measured.
    #[serde(default)]
    pub bulk_alone_gbps: Option<f64>,
    /// Whether every byte arrived, where the program compares them.
    #[serde(default)]
    pub bytes_ok: Option<bool>,
    /// Every latency, as in [`BenchRow::latencies_ns`].
    #[serde(rename = "latency_steps_ns", with = "steps", default, skip_serializing_if = "Vec::is_empty")]
    pub latencies_ns: Vec<u64>,
}

/// Ascending numbers as the first and the steps from each to the next.
mod steps {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(ascending: &[u64], serializer: S) -> Result<S::Ok, S::Error> {
        let before = std::iter::once(&0).chain(ascending);
        let steps: Vec<u64> =
            ascending.iter().zip(before).map(|(value, before)| value.saturating_sub(*before)).collect();
        steps.serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u64>, D::Error> {
        let mut sum: u64 = 0;
        let add = |step: u64| {
            sum = sum.saturating_add(step);
            sum
        };
        Ok(Vec::<u64>::deserialize(deserializer)?.into_iter().map(add).collect())
    }
}

/// A run: its origin and its measurements.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The origin.
    pub header: Header,
    /// The measurements.
    pub rows: Vec<BenchRow>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_has_every_agreed_name_and_reads_back() {
        let names = "method transport emulation direction high_bytes bulk_bytes chunk_bytes samples idle_p50_us \
                     idle_p99_us p50_us p90_us p99_us max_us bulk_gbps raw_gbps rescues";
        let row = BenchRow { method: "native".into(), latencies_ns: vec![1_500, 1_500, 9_000], ..BenchRow::default() };
        let json = serde_json::to_value(&row).unwrap();
        for name in names.split(' ') {
            assert!(json.get(name).is_some(), "{name} is missing");
        }
        assert_eq!(json["p50_us"], serde_json::Value::Null, "not measured is null");
        assert_eq!(json["latency_steps_ns"], serde_json::json!([1_500, 0, 7_500]));
        assert_eq!(serde_json::from_value::<BenchRow>(json).unwrap(), row);
    }

    #[test]
    fn a_run_without_raw_samples_still_reads() {
        let text = r#"{"header":{"version":"0.1.0","commit":"unknown","command":"overtake demo","device":"x",
            "driver":"13.0","backend":"soft","environment":{"CUDA_DEVICE_MAX_CONNECTIONS":"1"}},"rows":[]}"#;
        let run: Run = serde_json::from_str(text).unwrap();
        assert_eq!(run.header.environment["CUDA_DEVICE_MAX_CONNECTIONS"], "1");
    }
}
