//! A piece of work: an upload, kernels, a download. It is submitted in a plain stream, through the copy layer, or as
//! three tasks.
#![allow(unsafe_code)] // kernels and copies of lanes work on memory of the ground

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use hal::{Nanos, Result, Stream};
use measure::ground::{Adopted, Ground};
use overtake::Priority;
use overtake::copy::Request;
use overtake::task::{self, Handle, Lane, More, TaskBuilder, Tasks, WorkResult};
use priority::Direction;
use workloads::Work;

use super::film::{Film, SOURCES};

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
    /// Those of a film.
    Film(Film),
}

/// A piece of work, which is done again and again.
pub struct Piece {
    ground: Arc<Ground>,
    /// Lane and bytes.
    upload: (usize, u64),
    download: (usize, u64),
    kernels: Kernels,
    /// The picture whose turn it is.
    turn: AtomicUsize,
    /// The results of all pictures, if they are compared.
    expected: Vec<Vec<u8>>,
}

impl Piece {
    /// So many bytes each way in a lane, and a kernel that takes `span`.
    pub fn spinning(ground: &Arc<Ground>, lane: usize, [up, down]: [u64; 2], span: Nanos) -> Piece {
        Piece::new(ground, (lane, up), (lane, down), Kernels::Spin(span))
    }

    /// The pictures of a film. The first lane has room for [`SOURCES`] of them, the second one for a result.
    pub fn picture(ground: &Arc<Ground>, lanes: [usize; 2], film: Film) -> Piece {
        let (upload, download) = ((lanes[0], film.picture_bytes()), (lanes[1], film.result_bytes()));
        Piece::new(ground, upload, download, Kernels::Film(film))
    }

    fn new(ground: &Arc<Ground>, upload: (usize, u64), download: (usize, u64), kernels: Kernels) -> Piece {
        let (turn, expected) = (AtomicUsize::new(0), Vec::new());
        Piece { ground: Arc::clone(ground), upload, download, kernels, turn, expected }
    }

    /// Gives its lane pictures whose results it compares from now on. No copy may be under way.
    pub fn compare(mut self, pictures: &[Vec<u8>]) -> Piece {
        let Kernels::Film(film) = &self.kernels else { return self };
        for (source, picture) in pictures.iter().enumerate().take(SOURCES) {
            self.expected.push(film.result(picture));
            let (host, _) = self.ground.lane(self.upload.0, self.upload.1 * source as u64, self.upload.1);
            // SAFETY: the lane has so many bytes there (checked by `lane`), and no copy uses them now.
            unsafe { host.copy_from_nonoverlapping(picture.as_ptr(), picture.len()) };
        }
        self
    }

    /// The next picture has its turn.
    pub fn next(&self) {
        self.turn.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether the result that was downloaded last has the bytes that it must have; `None` if it is not compared.
    #[must_use]
    pub fn is_right(&self) -> Option<bool> {
        let expected = self.expected.get(self.source())?;
        let (host, _) = self.ground.lane(self.download.0, 0, self.download.1);
        // SAFETY: the lane has so many bytes (checked by `lane`), its download has completed, and the next one is
        // submitted by the calling thread.
        let result = unsafe { std::slice::from_raw_parts(host, self.download.1 as usize) };
        Some(result == expected)
    }

    fn source(&self) -> usize {
        self.turn.load(Ordering::Relaxed) % SOURCES
    }

    /// The place of the picture whose turn it is, in its lane.
    fn offset(&self) -> u64 {
        match &self.kernels {
            Kernels::Spin(_) => 0,
            Kernels::Film(_) => self.upload.1 * self.source() as u64,
        }
    }

    /// The bytes that go each way.
    #[must_use]
    pub fn bytes(&self) -> [u64; 2] {
        [self.upload.1, self.download.1]
    }

    /// The ground whose memory it uses.
    #[must_use]
    pub fn ground(&self) -> &Arc<Ground> {
        &self.ground
    }

    /// Submits a part to a stream of the ground.
    pub fn submit(&self, part: Part, stream: Stream) -> Result<()> {
        let copy = |direction, (lane, bytes), offset| self.ground.copy(direction, lane, offset, bytes, stream);
        match part {
            Part::Upload => copy(Direction::HostToDevice, self.upload, self.offset()),
            Part::Download => copy(Direction::DeviceToHost, self.download, 0),
            Part::Kernels => self.launch_kernels(stream),
        }
    }

    /// Submits a part to a stream of the ground, its copies through the copy layer.
    pub fn submit_through(&self, part: Part, adopted: &Adopted) -> Result<()> {
        let copy = |direction, (lane, bytes), offset| adopted.copy(direction, lane, offset, bytes).map(drop);
        match part {
            Part::Upload => copy(Direction::HostToDevice, self.upload, self.offset()),
            Part::Download => copy(Direction::DeviceToHost, self.download, 0),
            Part::Kernels => self.launch_kernels(adopted.raw()),
        }
    }

    fn launch_kernels(&self, stream: Stream) -> Result<()> {
        let film = match &self.kernels {
            Kernels::Spin(span) => return self.ground.spin(*span, stream),
            Kernels::Film(film) => film,
        };
        let source = self.ground.lane(self.upload.0, self.offset(), self.upload.1).1;
        let result = self.ground.lane(self.download.0, 0, self.download.1).1;
        // SAFETY: each picture lies in memory of the ground that has room for all of its rows, and the ground keeps it
        // until its streams, and the lanes of a dispatcher that has a task of this piece, have drained.
        unsafe { launch_all(&self.ground, &film.works(source, result), stream) }
    }

    fn launch(&self, part: Part, lane: &mut Lane<'_>) -> WorkResult<More> {
        let request = match part {
            Part::Kernels => {
                self.launch_kernels(lane.stream())?;
                return Ok(More::Done);
            }
            Part::Upload => {
                let (host, device) = self.ground.lane(self.upload.0, self.offset(), self.upload.1);
                Request::htod(device, host, self.upload.1)
            }
            Part::Download => {
                let (host, device) = self.ground.lane(self.download.0, 0, self.download.1);
                Request::dtoh(host, device, self.download.1)
            }
        };
        // SAFETY: both sides have these bytes, and the host touches neither meanwhile. The task's function, which keeps
        // the ground, lives until the copy has completed.
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
            let task = self.task(tasks, part).priority(priority).after(&last);
            last = Some(task.submit().map_err(driver_error)?);
        }
        Ok(last.expect("a piece has parts"))
    }
}

/// Launches kernels one after another.
///
/// # Safety
/// As for [`workloads::Kernels::launch`], of each.
pub unsafe fn launch_all(ground: &Ground, works: &[Work], stream: Stream) -> Result<()> {
    let kernels = ground.works()?;
    // SAFETY: the caller's promise.
    works.iter().try_for_each(|work| unsafe { kernels.launch(&**ground.driver(), work, stream) })
}

/// The error of a task as one of the driver.
pub fn driver_error(error: task::Error) -> hal::Error {
    match error {
        task::Error::Driver(error) => error,
        other => hal::Code::LAUNCH_FAILED.at("overtake task").because(other.to_string()),
    }
}
