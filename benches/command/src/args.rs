//! The command line of `bench`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use measure::args::{Common, DirectionName, Output, seconds, size};
use overtake::data::Selection;

use crate::video::VideoArguments;

/// Arguments of `bench`.
#[derive(Debug, Args)]
pub struct BenchArguments {
    /// The measurement.
    #[command(subcommand)]
    pub measurement: Measurement,
}

/// The measurements.
#[derive(Debug, Subcommand)]
pub enum Measurement {
    /// How long an urgent copy takes behind saturating bulk, and the bandwidth of that bulk, method against method.
    Latency(LatencyArguments),
    /// How long a burst of urgent copies takes behind saturating bulk.
    Burst(BurstArguments),
    /// The cost of overtake while nothing is armed: bulk, an idle small copy, one call.
    Overhead(OverheadArguments),
    /// The speed of bulk alone, by transport, direction and size.
    Bandwidth(BandwidthArguments),
    /// How long an urgent copy between two devices takes beside bulk copies between them, and the bandwidth of these,
    /// method against method.
    Peers(PeersArguments),
    /// Copies of memory that is not pinned: by the driver, and by several threads through pinned slots.
    Pageable(PageableArguments),
    /// Pictures that are due sixty times a second beside saturating bulk: missed deadlines, method against method.
    Video(VideoArguments),
    /// Tasks against streams and events by hand, the time from a node's end to the function after it, and bulk before,
    /// beside and after urgent tasks.
    Tasks(TasksArguments),
    /// Programs on arrays, whose order and copies the graph finds, against the same one computation after the other and
    /// by hand, and against a bound.
    Graph(GraphArguments),
}

/// Arguments of `bench latency`.
#[derive(Debug, Args)]
pub struct LatencyArguments {
    #[command(flatten)]
    pub common: Common,
    /// Sizes of the urgent copy.
    #[arg(long, value_parser = size, value_delimiter = ',', default_value = "64K", value_name = "SIZES")]
    pub high_bytes: Vec<u64>,
    /// Size of a bulk request.
    #[arg(long, value_parser = size, default_value = "256M", value_name = "SIZE")]
    pub bulk_bytes: u64,
    /// Lengths of chunks to measure methods with, which cut bulk into chunks; without it the layer's own.
    #[arg(long, value_delimiter = ',', value_name = "MICROSECONDS")]
    pub chunk_us: Vec<u64>,
    /// Measure the frontier: latency against bulk bandwidth over many settings.
    #[arg(long)]
    pub frontier: bool,
    /// Measure this many priorities at once, each with urgent copies of its own.
    #[arg(long, value_parser = clap::value_parser!(u8).range(2..=8), conflicts_with_all = ["frontier", "endless"])]
    pub priorities: Option<u8>,
    /// Measure the share of bulk while urgent copies never end.
    #[arg(long, conflicts_with = "frontier")]
    pub endless: bool,
}

/// Arguments of `bench burst`.
#[derive(Debug, Args)]
pub struct BurstArguments {
    #[command(flatten)]
    pub common: Common,
    /// Size of an urgent copy.
    #[arg(long, value_parser = size, default_value = "64K", value_name = "SIZE")]
    pub high_bytes: u64,
    /// Size of a bulk request.
    #[arg(long, value_parser = size, default_value = "256M", value_name = "SIZE")]
    pub bulk_bytes: u64,
    /// Copies in a burst.
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(2..=512), value_name = "COPIES")]
    pub burst: u32,
}

/// Arguments of `bench overhead`.
#[derive(Debug, Args)]
pub struct OverheadArguments {
    #[command(flatten)]
    pub common: Common,
    /// Size of the small copy.
    #[arg(long, value_parser = size, default_value = "64K", value_name = "SIZE")]
    pub high_bytes: u64,
    /// Size of a bulk request.
    #[arg(long, value_parser = size, default_value = "256M", value_name = "SIZE")]
    pub bulk_bytes: u64,
    /// Calls in a batch whose mean is one sample of the cost of a call.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=400), value_name = "CALLS")]
    pub calls: u32,
}

/// Arguments of `bench bandwidth`.
#[derive(Debug, Args)]
pub struct BandwidthArguments {
    #[command(flatten)]
    pub common: Common,
    /// Sizes of a bulk request.
    #[arg(long, value_parser = size, value_delimiter = ',', default_value = "256K,4M,256M", value_name = "SIZES")]
    pub bulk_bytes: Vec<u64>,
    /// Measure plain copies between every two devices, and between each and the host, instead. The requests have the
    /// last of the sizes.
    #[arg(long)]
    pub pairs: bool,
    /// Write the matrix of the pairs to this file: lines of From,To,Bandwidth,Latency in GB/s and us; -1 is the host.
    #[arg(long, value_name = "FILE", requires = "pairs")]
    pub csv: Option<PathBuf>,
    /// Rounds of the pairs; each has a turn in each.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100), requires = "pairs")]
    pub rounds: u32,
}

/// Arguments of measurements in rounds, in which all that is compared has a turn.
#[derive(Debug, Args)]
pub struct InRounds {
    /// The device to measure, by its ordinal.
    #[arg(long, default_value_t = 0, value_name = "ORDINAL")]
    pub device: i32,
    /// How long to measure, all rounds together (virtual time on the software GPU).
    #[arg(long, default_value_t = 30.0, value_parser = seconds, value_name = "SECONDS")]
    pub seconds: f64,
    /// Rounds; everything that is compared has a turn in each.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub rounds: u32,
    /// Size of a bulk request.
    #[arg(long, value_parser = size, default_value = "256M", value_name = "SIZE")]
    pub bulk_bytes: u64,
    /// An option of overtake; may be given several times.
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub options: Vec<String>,
    #[command(flatten)]
    pub output: Output,
}

/// Arguments of `bench peers`.
#[derive(Debug, Args)]
pub struct PeersArguments {
    #[command(flatten)]
    pub common: InRounds,
    /// The device at the other end; the streams are those of the first.
    #[arg(long, default_value_t = 1, value_name = "ORDINAL")]
    pub peer: i32,
    /// Copy from the other device, instead of to it.
    #[arg(long)]
    pub pull: bool,
    /// Size of an urgent copy.
    #[arg(long, value_parser = size, default_value = "64K", value_name = "SIZE")]
    pub high_bytes: u64,
}

/// Arguments of `bench pageable`.
#[derive(Debug, Args)]
pub struct PageableArguments {
    #[command(flatten)]
    pub common: InRounds,
    /// The direction of copies.
    #[arg(long, value_enum, default_value_t = DirectionName::Both)]
    pub direction: DirectionName,
    /// Sizes of a copy.
    #[arg(long, value_parser = size, value_delimiter = ',', default_value = "64K,1M,64M,1G", value_name = "SIZES")]
    pub sizes: Vec<u64>,
}

/// The parts of `bench tasks`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TasksPart {
    /// A hundred chains of upload, kernel and download.
    Chains,
    /// From a node's end to the function after it.
    Ends,
    /// Bulk before, beside and after urgent tasks.
    Arming,
}

impl TasksPart {
    /// All of them.
    pub const ALL: [TasksPart; 3] = [TasksPart::Chains, TasksPart::Ends, TasksPart::Arming];
}

/// Arguments of `bench tasks`.
#[derive(Debug, Args)]
pub struct TasksArguments {
    #[command(flatten)]
    pub common: InRounds,
    /// The parts to measure; all if none is given.
    #[arg(long, value_enum, value_delimiter = ',', value_name = "A,B")]
    pub parts: Vec<TasksPart>,
}

/// The parts of `bench graph`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum GraphPart {
    /// Six programs on one device.
    Programs,
    /// Programs on several devices, by each selection. Only if it is named.
    Devices,
    /// An urgent computation while bulk is transferred.
    Urgent,
}

/// Arguments of `bench graph`.
#[derive(Debug, Args)]
pub struct GraphArguments {
    #[command(flatten)]
    pub common: InRounds,
    /// The parts to measure; all on one device if none is given.
    #[arg(long, value_enum, value_delimiter = ',', value_name = "A,B")]
    pub parts: Vec<GraphPart>,
    /// The devices of the part `devices`, the first ones.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(2..=8), value_name = "COUNT")]
    pub devices: u8,
    /// The selections of the part `devices`; all if none is given.
    #[arg(long, value_parser = selection, value_delimiter = ',', value_name = "A,B")]
    pub selections: Vec<(&'static str, Selection)>,
    /// Size of the vectors and pictures of the programs.
    #[arg(long, value_parser = size, default_value = "16M", value_name = "SIZE")]
    pub bytes: u64,
    /// Compare the results with those that the processor makes.
    #[arg(long)]
    pub check: bool,
}

/// A selection of devices by its name.
fn selection(text: &str) -> Result<(&'static str, Selection), String> {
    let names = || Selection::ALL.map(|(name, _)| name).join(", ");
    let known = Selection::ALL.into_iter().find(|(name, _)| *name == text);
    known.ok_or_else(|| format!("there is no such selection: name some of {}", names()))
}
