//! A piece of work: an upload, kernels, a download. It is submitted in a plain stream, through the copy layer, or as
//! three tasks.
#![allow(unsafe_code)] // kernels and copies of lanes work on memory of the ground

use std::sync::Arc;

use hal::{DevicePtr, Nanos, Result, Stream};
use overtake::Priority;
use overtake::copy::Request;
use overtake::task::{self, Handle, Lane, More, TaskBuilder, Tasks, WorkResult};
use terms::Direction;
use workloads::{Picture, Rows, Work};

use super::ground::{Adopted, Ground};

/// A picture as a camera or a decoder gives it.
const WHOLE: Rows = Rows { pitch_bytes: 1_920, width: 1_920, height: 1_080 };
/// The same in colour.
const COLOURED: Rows = Rows { pitch_bytes: 4 * 1_920, ..WHOLE };
/// The result.
const SMALL: Rows = Rows { pitch_bytes: 4 * 1_280, width: 1_280, height: 720 };

/// Bytes of the two lanes of a picture: the one that comes, and the result.
#[must_use]
pub fn picture_bytes() -> [u64; 2] {
    [WHOLE.nv12_bytes(), SMALL.rgba_bytes()]
}

/// The parts of a piece, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Upload,
    Kernels,
    Download,
}

/// The parts, in their order.
pub const PARTS: [Part; 3] = [Part::Upload, Part::Kernels, Part::Download];

/// The kernels of a piece.
enum Kernels {
    /// One that takes this long.
    Spin(Nanos),
    /// Colour, scale and blur.
    Picture([Work; 3]),
}

/// A piece of work, which is done again and again.
pub struct Piece {
    ground: Arc<Ground>,
    /// Lane and bytes.
    upload: (usize, u64),
    download: (usize, u64),
    kernels: Kernels,
}

impl Piece {
    /// `bytes` each way in a lane, and a kernel that takes `span`.
    pub fn spinning(ground: &Arc<Ground>, lane: usize, bytes: u64, span: Nanos) -> Piece {
        let (upload, download) = ((lane, bytes), (lane, bytes));
        Piece { ground: Arc::clone(ground), upload, download, kernels: Kernels::Spin(span) }
    }

    /// A picture of 1920 x 1080 in NV12: to colours, to 1280 x 720, blurred. The lanes have [`picture_bytes`].
    pub fn picture(ground: &Arc<Ground>, lanes: [usize; 2]) -> Result<Piece> {
        let [from, to] = picture_bytes();
        let side = |lane, bytes| ground.lane(lane, 0, bytes).1;
        let (whole, result) = (side(lanes[0], from), side(lanes[1], to));
        let picture = |at: DevicePtr, rows| Picture { at, rows };
        let coloured = picture(ground.memory(COLOURED.rgba_bytes())?, COLOURED);
        let scaled = picture(ground.memory(to)?, SMALL);
        let works = [
            Work::Colour { source: whole, source_pitch_bytes: WHOLE.pitch_bytes, target: coloured },
            Work::Scale { source: coloured, target: scaled },
            Work::Blur { source: scaled.at, source_pitch_bytes: SMALL.pitch_bytes, target: picture(result, SMALL) },
        ];
        ground.works()?;
        let (upload, download) = ((lanes[0], from), (lanes[1], to));
        Ok(Piece { ground: Arc::clone(ground), upload, download, kernels: Kernels::Picture(works) })
    }

    /// The ground whose memory it uses.
    #[must_use]
    pub fn ground(&self) -> &Arc<Ground> {
        &self.ground
    }

    /// Submits a part to a stream of the ground.
    pub fn submit(&self, part: Part, stream: Stream) -> Result<()> {
        let copy = |direction, (lane, bytes)| self.ground.copy(direction, lane, 0, bytes, stream);
        match part {
            Part::Upload => copy(Direction::HostToDevice, self.upload),
            Part::Download => copy(Direction::DeviceToHost, self.download),
            Part::Kernels => self.launch_kernels(stream),
        }
    }

    /// Submits a part to a stream of the ground, its copies through the copy layer.
    pub fn submit_through(&self, part: Part, adopted: &Adopted) -> Result<()> {
        let copy = |direction, (lane, bytes)| adopted.copy(direction, lane, bytes).map(drop);
        match part {
            Part::Upload => copy(Direction::HostToDevice, self.upload),
            Part::Download => copy(Direction::DeviceToHost, self.download),
            Part::Kernels => self.launch_kernels(adopted.raw()),
        }
    }

    fn launch_kernels(&self, stream: Stream) -> Result<()> {
        let works = match &self.kernels {
            Kernels::Spin(span) => return self.ground.spin(*span, stream),
            Kernels::Picture(works) => works,
        };
        let kernels = self.ground.works()?;
        // SAFETY: each picture lies in memory of the ground that has room for all of its rows, and the ground keeps it
        // until its streams, and the lanes of a dispatcher that has a task of this piece, have drained.
        works.iter().try_for_each(|work| unsafe { kernels.launch(&**self.ground.driver(), work, stream) })
    }

    fn launch(&self, part: Part, lane: &mut Lane<'_>) -> WorkResult<More> {
        let request = match part {
            Part::Kernels => {
                self.launch_kernels(lane.stream())?;
                return Ok(More::Done);
            }
            Part::Upload => {
                let (host, device) = self.ground.lane(self.upload.0, 0, self.upload.1);
                Request::htod(device, host, self.upload.1)
            }
            Part::Download => {
                let (host, device) = self.ground.lane(self.download.0, 0, self.download.1);
                Request::dtoh(host, device, self.download.1)
            }
        };
        // SAFETY: both sides have these bytes, and the host touches neither. The task's function, which keeps the
        // ground, lives until the copy has completed.
        unsafe { lane.copy(&request)? };
        Ok(More::Done)
    }

    /// A task of a part.
    pub fn task<'t, 'n>(self: &Arc<Piece>, tasks: &'t Tasks, part: Part) -> TaskBuilder<'t, 'n> {
        let piece = Arc::clone(self);
        let launch = move |lane: &mut Lane<'_>| piece.launch(part, lane);
        match part {
            Part::Upload => tasks.upload("upload", launch),
            Part::Kernels => tasks.kernel("kernels", launch),
            Part::Download => tasks.download("download", launch),
        }
    }

    /// Submits three tasks, and returns the last.
    pub fn submit_tasks(self: &Arc<Piece>, tasks: &Tasks, priority: Priority) -> Result<Handle> {
        let mut last: Option<Handle> = None;
        for part in PARTS {
            let task = self.task(tasks, part).priority(priority);
            let task = last.iter().fold(task, |task, before| task.after(before));
            last = Some(task.submit().map_err(driver_error)?);
        }
        Ok(last.expect("a piece has parts"))
    }
}

/// The error of a task as one of the driver.
pub fn driver_error(error: task::Error) -> hal::Error {
    match error {
        task::Error::Driver(error) => error,
        other => hal::Code::LAUNCH_FAILED.at("overtake task").because(other.to_string()),
    }
}
