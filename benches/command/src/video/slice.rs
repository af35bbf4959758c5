//! One method for a while: cameras and a background at once.

use std::num::NonZeroU32;
use std::sync::Arc;

use hal::{HostThread, Nanos, Result};
use measure::bulk::Throughput;
use measure::catalogue::Workshop;
use measure::flow::Flow;
use measure::rig::STREAM_PRIORITY_DEFAULT;
use overtake::options::Transport;
use overtake::pipeline::Behind;
use overtake::task::Tasks;

use super::args::{Background, VideoMethod};
use super::beside;
use super::camera::{Footage, Schedule, shoot};
use super::staged::{Shooting, Stack, Staged};
use super::window::Window;
use crate::film::Film;
use crate::line::{CopyPath, Line, Way};
use crate::piece::Piece;
use crate::yard::{Fed, Parts, Yard};

/// A camera waits this long before its first picture.
const LEAD: Nanos = Nanos::from_ms(2);
/// Pictures of a camera in a slice, at least.
const LEAST_PICTURES: u64 = 6;
/// Requests of a background in a slice, at least.
const LEAST_REQUESTS: u32 = 4;

/// The work of a slice.
#[derive(Clone, Copy, Debug)]
pub struct Scene {
    pub method: VideoMethod,
    pub has_pictures: bool,
    pub background: Option<Background>,
}

impl Scene {
    fn parts(self) -> Parts {
        match self.method {
            VideoMethod::Native | VideoMethod::NativePriority | VideoMethod::Window => Parts::Nothing,
            VideoMethod::Copies => Parts::Copies,
            VideoMethod::Dispatcher | VideoMethod::Pipeline | VideoMethod::Template => Parts::Dispatcher,
        }
    }

    /// The transport of bulk, as rows name it, if the layer has been told to use this one.
    fn transport(self, told: Transport) -> &'static str {
        match (self.parts(), told) {
            (Parts::Nothing, _) | (_, Transport::Engine) => "engine",
            (_, Transport::Native) => "native",
            (_, Transport::Auto | Transport::Kernel) => "kernel",
        }
    }

    /// Its share of a run. The pipelines and the streams with priorities that they are compared with have four times as
    /// long as all others: few pictures are late, and they have to be counted.
    pub fn parts_of_time(self) -> u64 {
        let is_compared =
            matches!(self.method, VideoMethod::NativePriority | VideoMethod::Pipeline | VideoMethod::Template);
        if is_compared && self.has_pictures && self.background.is_some() { 4 } else { 1 }
    }

    /// The emulation of semaphores, as rows name it.
    pub fn emulation(self) -> &'static str {
        if self.parts() == Parts::Nothing { "none" } else { "hold" }
    }
}

/// A camera of the measurement.
pub struct Camera {
    /// Its place among the kinds of cameras.
    pub kind: usize,
    pub film: Film,
    pub piece: Arc<Piece>,
    pub period: Nanos,
    /// A result has to be there so long after its picture was due.
    pub deadline: Nanos,
    /// The fate of a pipeline's pictures when its viewer is behind.
    pub behind: Behind,
    /// The wait that a pipeline's copies tolerate.
    pub tolerance: Nanos,
    /// Its first picture comes so long after the beginning.
    pub phase: Nanos,
    /// Its pictures, if results are compared; else none.
    pub pictures: Arc<[Vec<u8>]>,
}

/// The cameras, and the parts of the background.
pub struct Set<'s> {
    pub shop: &'s Workshop,
    pub cameras: &'s [Camera],
    pub kinds: usize,
    pub chains: &'s [Arc<Piece>],
    pub bulk_bytes: u64,
    /// The pictures that pipelines have at work at once, if there is an admission.
    pub at_once: Option<NonZeroU32>,
    /// Whether the course of each frame is noted.
    pub has_courses: bool,
}

/// The measurements of a slice.
#[derive(Clone, Debug, Default)]
pub struct Slice {
    /// By the kind of cameras.
    pub footage: Vec<Footage>,
    pub transport: &'static str,
    /// Of each flow; empty without a background.
    pub bulk: Vec<Throughput>,
    /// Pictures up and results down, of those that were delivered.
    pub pictures: Throughput,
    pub rescues: u64,
}

/// A camera that is ready.
enum Ready {
    Line(Arc<Line>),
    Staged(Box<Staged>),
}

/// A camera at work.
enum Working {
    Line(HostThread<Result<Footage>>),
    Staged(Shooting),
}

/// Runs a scene.
pub fn film(set: &Set<'_>, scene: &Scene, span: Nanos) -> Result<Slice> {
    let mut yard = Yard::open(set.shop, scene.parts())?;
    let cameras = if scene.has_pictures { set.cameras } else { &[] };
    let stack = match (scene.method, &yard.dispatcher, &yard.overtake) {
        (VideoMethod::Pipeline | VideoMethod::Template, Some(dispatcher), Some(overtake)) => {
            Some(Stack::open(overtake, dispatcher, scene.method == VideoMethod::Template, set)?)
        }
        _ => None,
    };
    let prepare = |(index, camera)| prepare(&mut yard, (scene.method, stack.as_ref()), camera, 1 + index);
    let ready = cameras.iter().enumerate().map(prepare);
    let ready = ready.collect::<Result<Vec<_>>>()?;
    let (word, window) = (1 + set.cameras.len(), (scene.method == VideoMethod::Window).then(Arc::<Window>::default));
    let flows = match scene.background {
        Some(background) => {
            let wanted = (background, scene.method, window.as_ref());
            beside::flows(&mut yard, wanted, (set.chains, set.bulk_bytes), word)?
        }
        None => Vec::new(),
    };
    let measured = measure(&yard, set, (cameras, ready, window.as_ref()), &flows, span);
    drop((flows, stack));
    let rescues = yard.overtake.as_ref().map_or(0, |overtake| overtake.statistics().rescues);
    // The error of the pictures comes first: closing fails after it, most likely for the same reason.
    let slice = measured?;
    yard.close()?;
    let transport = scene.transport(set.shop.options.transport_of(priority::Direction::HostToDevice));
    Ok(Slice { transport, rescues, ..slice })
}

/// Makes a camera ready, and takes a picture: the first use of a stream or a kernel is not measured.
fn prepare(
    yard: &mut Yard,
    (method, stack): (VideoMethod, Option<&Stack>),
    camera: &Camera,
    word: usize,
) -> Result<Ready> {
    if let Some(stack) = stack {
        let staged = Staged::open(stack, &yard.ground, camera)?;
        return Ok(Ready::Staged(Box::new(staged)));
    }
    let line = Arc::new(Line { piece: Arc::clone(&camera.piece), way: way(yard, method)?, word });
    line.run()?;
    Ok(Ready::Line(line))
}

fn way(yard: &mut Yard, method: VideoMethod) -> Result<Way> {
    let (greatest, highest) = (yard.range.greatest, yard.highest());
    Ok(match (method, &yard.dispatcher) {
        (VideoMethod::Dispatcher, Some(dispatcher)) => Way::Tasks(Tasks::new(dispatcher), highest),
        (VideoMethod::Native, _) => Way::Stream(CopyPath::Plain(yard.stream(STREAM_PRIORITY_DEFAULT)?)),
        _ => {
            let stream = yard.stream(greatest)?;
            Way::Stream(match &yard.overtake {
                Some(overtake) => CopyPath::Through(yard.ground.adopt(overtake, stream, highest)?),
                None => CopyPath::Plain(stream),
            })
        }
    })
}

fn measure(
    yard: &Yard,
    set: &Set<'_>,
    (cameras, ready, window): (&[Camera], Vec<Ready>, Option<&Arc<Window>>),
    flows: &[Arc<dyn Flow>],
    span: Nanos,
) -> Result<Slice> {
    let host = yard.ground.driver().host();
    let fed = Fed::start(flows)?;
    let begin = host.now() + LEAD;
    let longest = cameras.iter().map(|camera| camera.period).max().unwrap_or(Nanos::ZERO);
    let end = begin + Nanos(span.0.max((LEAST_PICTURES + 1) * longest.0));
    let start = |(camera, ready): (&Camera, Ready)| {
        let schedule = Schedule { first: begin + camera.phase, period: camera.period, deadline: camera.deadline, end };
        Ok((camera.kind, start(yard, ready, window.cloned(), schedule)?))
    };
    let working: Result<Vec<(usize, Working)>> = cameras.iter().zip(ready).map(start).collect();
    let footage: Vec<(usize, Result<Footage>)> = match working {
        Ok(working) => working.into_iter().map(|(kind, working)| (kind, working.finish(yard))).collect(),
        Err(error) => vec![(0, Err(error))],
    };
    if cameras.is_empty() {
        host.sleep(end.since(host.now()));
    }
    let _is_enough = yard.ground.rig().wait_for(Nanos::from_ms(10_000), &mut || fed.have_completed(LEAST_REQUESTS));
    let mut slice = Slice { bulk: fed.stop()?, footage: vec![Footage::default(); set.kinds], ..Slice::default() };
    slice.pictures.span = end.since(begin);
    for ((kind, footage), camera) in footage.into_iter().zip(cameras) {
        let mut footage = footage?;
        slice.pictures.bytes += footage.latencies_ns.len() as u64 * camera.film.moved_bytes();
        footage.courses.iter_mut().for_each(|course| course.captured = Nanos(course.captured.since(begin).0));
        slice.footage[kind].add(&footage);
    }
    Ok(slice)
}

fn start(yard: &Yard, ready: Ready, window: Option<Arc<Window>>, schedule: Schedule) -> Result<Working> {
    let driver = Arc::clone(yard.ground.driver());
    let line = match ready {
        Ready::Staged(staged) => return staged.start(&driver, schedule).map(Working::Staged),
        Ready::Line(line) => line,
    };
    let shared = Arc::clone(&driver);
    let body = move || {
        line.piece.ground().rig().make_current()?;
        let mut make = || {
            let _under_way = window.as_ref().map(|window| window.begin());
            line.run().map(|()| line.piece.is_right())
        };
        shoot(shared.host(), schedule, &mut make)
    };
    hal::spawn(&driver, "camera", body).map(Working::Line)
}

impl Working {
    fn finish(self, yard: &Yard) -> Result<Footage> {
        let driver = yard.ground.driver();
        match self {
            Working::Line(thread) => thread.join(driver.host()),
            Working::Staged(shooting) => shooting.finish(&**driver),
        }
    }
}
