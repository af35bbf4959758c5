//! The command line of the hunt.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use console::Globals;
use measure::args::{seconds, size};
use softgpu::Planted;

/// Random copies of all kinds from many threads: hunts for hangs and wrong bytes.
#[derive(Clone, Debug, Parser)]
#[command(name = "hunt")]
pub struct HuntArguments {
    #[command(flatten)]
    pub globals: Globals,
    /// The device to hunt on, by its ordinal.
    #[arg(long, default_value_t = 0, value_name = "ORDINAL")]
    pub device: i32,
    /// Threads that submit copies.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub threads: u32,
    /// Streams that the threads share.
    #[arg(long, default_value_t = 256, value_parser = clap::value_parser!(u32).range(2..=1024))]
    pub streams: u32,
    /// How long to hunt: of the device's time, and on the software GPU of real time at most.
    #[arg(long, default_value_t = 60.0, value_parser = seconds, value_name = "SECONDS")]
    pub seconds: f64,
    /// The seed of all random choices.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Size of the largest copies.
    #[arg(long, value_parser = size, default_value = "8M", value_name = "SIZE")]
    pub bulk_bytes: u64,
    /// Seconds without any progress that count as a hang.
    #[arg(long, default_value_t = 20.0, value_parser = seconds, value_name = "SECONDS")]
    pub patience: f64,
    /// An option of overtake; may be given several times.
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub options: Vec<String>,
    /// Write the numbers to this file; `-` prints them instead of the text.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Hunt without the watchdog: a test of the hunt.
    #[arg(long, hide = true)]
    pub without_watchdog: bool,
    /// Take the device's copy queues for so many: a test of the hunt.
    #[arg(long, hide = true, value_name = "NUMBER")]
    pub assumed_queues: Option<u32>,
    /// Plant a bug in the software GPU: a test of the hunt.
    #[arg(long, hide = true, value_enum)]
    pub plant: Option<BugName>,
}

/// Bugs of the software GPU that a hunt must find.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BugName {
    /// Streams do not wait for events.
    EventWaitIgnored,
    /// The last byte of every row stays behind.
    RowTailDropped,
}

impl BugName {
    /// The bug of this name.
    #[must_use]
    pub fn bug(self) -> Planted {
        match self {
            BugName::EventWaitIgnored => Planted::EventWaitIgnored,
            BugName::RowTailDropped => Planted::RowTailDropped,
        }
    }
}
