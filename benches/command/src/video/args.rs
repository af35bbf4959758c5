//! The command line of `bench video`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};
use overtake::pipeline;
use workloads::Pictures;

use crate::args::InRounds;

/// The methods of `bench video`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum VideoMethod {
    /// A stream for each camera, equal CUDA priorities.
    #[value(name = "native")]
    Native,
    /// The highest CUDA stream priority, and the lowest for the background.
    #[value(name = "native+priority")]
    NativePriority,
    /// The same, and the program holds its own bulk back: none is submitted while a picture is under way, and never
    /// more than a window of it.
    #[value(name = "window")]
    Window,
    /// Streams of those priorities, with copies through the copy layer.
    #[value(name = "copies")]
    Copies,
    /// Tasks of the highest priority, and the background through the copy layer.
    #[value(name = "dispatcher")]
    Dispatcher,
    /// A pipeline for each camera, whose tasks go by the dispatcher: only the latest picture is kept.
    #[value(name = "pipeline")]
    Pipeline,
    /// The same, and the tasks of each picture are the replay of a template.
    #[value(name = "template")]
    Template,
}

impl VideoMethod {
    /// All of them.
    pub const ALL: [VideoMethod; 7] = [
        VideoMethod::Native,
        VideoMethod::NativePriority,
        VideoMethod::Window,
        VideoMethod::Copies,
        VideoMethod::Dispatcher,
        VideoMethod::Pipeline,
        VideoMethod::Template,
    ];

    /// Its name in rows.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            VideoMethod::Native => "native",
            VideoMethod::NativePriority => "native+priority",
            VideoMethod::Window => "window",
            VideoMethod::Copies => "copies",
            VideoMethod::Dispatcher => "dispatcher",
            VideoMethod::Pipeline => "pipeline",
            VideoMethod::Template => "template",
        }
    }

    /// The name of the rows of a pipeline without a background: its slowest frames beside one are compared with these.
    #[must_use]
    pub fn idle(self) -> Option<&'static str> {
        match self {
            VideoMethod::Pipeline => Some("idle pipeline"),
            VideoMethod::Template => Some("idle template"),
            _ => None,
        }
    }

    /// The same of a method of rows.
    #[must_use]
    pub fn idle_of(name: &str) -> Option<&'static str> {
        VideoMethod::ALL.into_iter().find(|method| method.name() == name)?.idle()
    }
}

/// The work beside the cameras.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Background {
    /// Bulk requests in both directions.
    Both,
    /// A model is loaded: requests of 256 MiB to the device.
    Model,
    /// An archive is transcoded: two chains of a 4K picture up, kernels, and a 4K picture down.
    Transcode,
    /// Small blocks are moved out and in: batches of 64 KiB in both directions.
    Offload,
    /// The last three together.
    All,
}

impl Background {
    /// Its name in rows.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Background::Both => "bulk",
            Background::Model => "model",
            Background::Transcode => "transcode",
            Background::Offload => "offload",
            Background::All => "all",
        }
    }

    /// Bytes of its largest requests.
    #[must_use]
    pub fn bytes(self, bulk_bytes: u64) -> u64 {
        match self {
            Background::Both => bulk_bytes,
            Background::Model | Background::All => MODEL_BYTES,
            Background::Transcode => 4 * 3_840 * 2_160,
            Background::Offload => BLOCK_BYTES,
        }
    }

    /// Whether this one is a part of it.
    #[must_use]
    pub fn has(self, part: Background) -> bool {
        self == part || (self == Background::All && part != Background::Both)
    }
}

/// The fate of a pipeline's pictures when its viewer is behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Behind {
    /// The camera waits, and every picture is kept.
    Block,
    /// The new picture is dropped.
    DropNewest,
    /// The oldest picture that waits is dropped.
    DropOldest,
    /// Only the newest picture is kept.
    LatestOnly,
}

impl Behind {
    /// The same for a pipeline.
    #[must_use]
    pub fn policy(self) -> pipeline::Behind {
        match self {
            Behind::Block => pipeline::Behind::Block,
            Behind::DropNewest => pipeline::Behind::DropNewest,
            Behind::DropOldest => pipeline::Behind::DropOldest,
            Behind::LatestOnly => pipeline::Behind::LatestOnly,
        }
    }
}

/// A request of a model that is loaded.
pub const MODEL_BYTES: u64 = 256 << 20;
/// A block that is moved out or in.
pub const BLOCK_BYTES: u64 = 64 << 10;

/// Cameras that are alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cameras {
    pub count: usize,
    pub pictures: Pictures,
}

impl FromStr for Cameras {
    type Err = String;

    fn from_str(text: &str) -> Result<Cameras, String> {
        let (count, name) = match text.split_once('x') {
            Some((count, name)) => (count.parse().map_err(|_| format!("{count:?} is no number of cameras"))?, name),
            None => (1, text),
        };
        if !(1..=CAMERAS_MAX).contains(&count) {
            return Err(format!("{count} cameras: there may be 1 to {CAMERAS_MAX}"));
        }
        Ok(Cameras { count, pictures: name.parse()? })
    }
}

/// All cameras together: each has a word of the ground, and so have the parts of the background.
pub const CAMERAS_MAX: usize = 16;

impl VideoArguments {
    /// Whether the bytes of results are compared.
    pub fn compares(&self) -> bool {
        self.check || self.frames.is_some()
    }
}

/// Arguments of `bench video`.
#[derive(Debug, Args)]
pub struct VideoArguments {
    #[command(flatten)]
    pub common: InRounds,
    /// Cameras, such as 4x1080p60:nv12: how many, their size (360p, 720p, 1080p, 4k), pictures a second, and nv12 or
    /// rgba; may be given several times, for 16 cameras in all.
    #[arg(long = "stream", default_value = "4x1080p60:nv12", value_name = "CAMERAS")]
    pub streams: Vec<Cameras>,
    /// The work beside them, each by itself.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "both", value_name = "A,B")]
    pub background: Vec<Background>,
    /// The methods to compare, by name; all if none is given.
    #[arg(long, value_enum, value_delimiter = ',', value_name = "A,B")]
    pub methods: Vec<VideoMethod>,
    /// The periods after its time in which a picture's result has to be there.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100), value_name = "PERIODS")]
    pub deadline: u32,
    /// The fate of a pipeline's pictures when its viewer is behind.
    #[arg(long, value_enum, default_value = "latest-only")]
    pub behind: Behind,
    /// The wait that a pipeline's copies tolerate, in microseconds: bulk keeps the copy engines then.
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u64).range(0..=1_000_000), value_name = "US")]
    pub tolerance_us: u64,
    /// Pipelines share an admission: so many pictures are at work at once, all together; 0: as many as come. Until a
    /// picture is admitted, a newer one may take its place.
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=64), value_name = "PICTURES")]
    pub at_once: u32,
    /// Compare the bytes of every result with those that the processor makes. On the software GPU copies move bytes
    /// then, which takes real time: use small pictures.
    #[arg(long)]
    pub check: bool,
    /// Pictures from a file, whose results are compared: Y4M (.y4m), raw (.raw, .yuv, .nv12, .rgba, without padding),
    /// or any other that ffmpeg reads, where it is installed. The first ones go round.
    #[arg(long, value_name = "FILE")]
    pub frames: Option<PathBuf>,
    /// Add the cameras one at a time, and stop each method at its first missed picture.
    #[arg(long)]
    pub raise: bool,
    /// Name the slowest frames of each pipeline, so many, and the stage that took more than it does in the median.
    #[arg(long, default_value_t = 0, value_name = "FRAMES")]
    pub slow: usize,
    /// The seed of the times at which the cameras begin, and of the pictures.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_are_named_as_in_rows() {
        for method in VideoMethod::ALL {
            assert_eq!(method.to_possible_value().unwrap().get_name(), method.name());
        }
    }

    #[test]
    fn cameras_have_a_number() {
        let cameras: Cameras = "4x1080p60:nv12".parse().unwrap();
        assert_eq!((cameras.count, cameras.pictures.to_string().as_str()), (4, "1080p60:nv12"));
        assert_eq!("4k30".parse::<Cameras>().unwrap().count, 1);
        assert!(["0x4k30", "17x4k30", "ax4k30", "4x", ""].iter().all(|text| text.parse::<Cameras>().is_err()));
    }
}
