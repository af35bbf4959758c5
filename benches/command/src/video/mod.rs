//! `bench video`: cameras beside saturating work. In every period of a camera a picture is to be uploaded, worked on,
//! and downloaded before the next one comes.

mod args;
mod beside;
mod camera;
mod course;
mod frames;
mod raise;
mod rows;
mod slice;
mod staged;
mod verdict;
mod window;

pub use args::VideoArguments;

use std::num::NonZeroU32;
use std::sync::Arc;

use hal::Nanos;
use overtake::queues::{self, Asked};
use report::{BenchRow, Run};

use crate::film::{Film, SOURCES};
use crate::piece::Piece;
use args::{Background, CAMERAS_MAX, VideoMethod};
use console::Globals;
use console::environment;
use console::failure::{Failure, Result};
use console::open::Payload;
use measure::catalogue::{IDLE, RAW};
use measure::present::{subtitle, table};
use measure::stage::{Shown, Stage, finish, span};
use rows::{Case, Terms, rows};
use slice::{Camera, Scene, Set, film};
use verdict::verdict;

/// Runs the command.
pub fn run(globals: &Globals, video: &VideoArguments) -> Result<()> {
    let count: usize = video.streams.iter().map(|kind| kind.count).sum();
    if count > CAMERAS_MAX {
        return Err(Failure::Other(format!("{count} cameras: there may be {CAMERAS_MAX} in all; leave some out")));
    }
    let asked = ask_for_queues(video);
    let payload = if video.compares() { Payload::Real } else { Payload::TimingOnly };
    let lane_bytes = lane_bytes(video)?;
    let stage = Stage::set_with(globals, payload, video.common.device, &video.common.options, &lane_bytes)?;
    let cameras = cameras(&stage, video)?;
    let has_chains = video.background.iter().any(|background| background.has(Background::Transcode));
    let chains = if has_chains { beside::archive(&stage.shop.ground)? } else { Vec::new() };
    let (shop, kinds, bulk_bytes) = (&stage.shop, video.streams.len(), video.common.bulk_bytes);
    let has_courses = video.slow > 0;
    let at_once = NonZeroU32::new(video.at_once);
    let set = Set { shop, cameras: &cameras, kinds, chains: &chains, bulk_bytes, at_once, has_courses };
    let (rows, verdict) = if video.raise { climb(&stage, &set, video)? } else { film_all(&stage, &set, video)? };
    let run = Run { header: stage.header.clone(), rows };
    show(video, run, verdict, note_of_queues(asked))
}

/// Rows, and the result in words.
type Measured = (Vec<BenchRow>, String);

/// Every method beside every background, in rounds.
fn film_all(stage: &Stage, set: &Set<'_>, video: &VideoArguments) -> Result<Measured> {
    let mut cases = cases(video);
    let steps = cases.len() * video.common.rounds as usize;
    let parts: u64 = cases.iter().map(|case| case.scene.parts_of_time()).sum();
    let part = span(video.common.seconds).0 / (parts * u64::from(video.common.rounds));
    let mut progress = stage.progress(video.common.seconds, steps);
    for _ in 0..video.common.rounds {
        for case in &mut cases {
            progress.step(case.name);
            let slice = film(set, &case.scene, Nanos(part * case.scene.parts_of_time()))?;
            case.slices.push(slice);
        }
    }
    let rows = rows(&cases, terms(video));
    let verdict = verdict(&rows);
    Ok((rows, verdict))
}

/// Every method beside every background, with one camera more at a time.
fn climb(stage: &Stage, set: &Set<'_>, video: &VideoArguments) -> Result<Measured> {
    let steps = methods(video).len() * video.background.len() * set.cameras.len();
    let part = Nanos(span(video.common.seconds).0 / steps as u64);
    let mut progress = stage.progress(video.common.seconds, steps);
    let load = (methods(video), &video.background[..]);
    let (rows, carried) = raise::raise(set, load, terms(video), part, &mut progress)?;
    Ok((rows, raise::verdict(&carried)))
}

fn terms(video: &VideoArguments) -> Terms<'_> {
    let &VideoArguments { ref streams, deadline, tolerance_us, at_once, slow, ref common, .. } = video;
    Terms { kinds: streams, periods: deadline, bulk_bytes: common.bulk_bytes, tolerance_us, at_once, slow }
}

fn methods(video: &VideoArguments) -> &[VideoMethod] {
    if video.methods.is_empty() { &VideoMethod::ALL } else { &video.methods }
}

/// A chunk of bulk that gives way keeps a queue for copies: more of them are needed where pictures tolerate chunks.
fn ask_for_queues(video: &VideoArguments) -> Asked {
    if video.tolerance_us == 0 { queues::ask() } else { queues::ask_with_copies(queues::COPY_QUEUES_OF_CHUNKS) }
}

/// The hardware's queues for kernels.
fn note_of_queues(asked: Asked) -> String {
    let name = environment::MAX_CONNECTIONS;
    match asked {
        Asked::Most => format!("{name}={} was set for this run, as {name} was not set", queues::QUEUES_MAX),
        Asked::Given(queues) => format!("{queues} queues for kernels, as {name} says"),
        Asked::TooLate => format!("{} queues for kernels", queues::kernel_queues()),
    }
}

fn show(video: &VideoArguments, run: Run, verdict: String, queues: String) -> Result<()> {
    let cameras: Vec<String> = video.streams.iter().map(|kind| format!("{} x {}", kind.count, kind.pictures)).collect();
    let summary = format!(
        "{}: up, three kernels, and two thirds of width and height back; {}\n{}",
        cameras.join(", "),
        subtitle(&run),
        verdict
    );
    let notes = vec![
        "a picture's latency runs from the moment that it is due to its result being there; the ratio is that of the \
         p50 to the idle one of the same round; jitter is the mean difference between a latency and the next"
            .to_owned(),
        queues,
    ];
    let shown = Shown { title: "video".into(), summary, table: table(&run), picture: None, svg: None, notes };
    finish(&video.common.output, &run, &shown)?;
    match run.rows.iter().filter_map(|row| row.wrong).sum::<u64>() {
        0 => Ok(()),
        wrong => Err(Failure::Other(format!("{wrong} results have wrong bytes: please report this bug"))),
    }
}

/// Those of the background, and two for each camera: its pictures, and its result.
fn lane_bytes(video: &VideoArguments) -> Result<Vec<u64>> {
    let mut lane_bytes = beside::lane_bytes(&video.background, video.common.bulk_bytes)?.to_vec();
    for kind in &video.streams {
        let (picture, rows) = (kind.pictures.bytes(), kind.pictures.rows());
        // The result is smaller than the picture in colours.
        let result = 4 * u64::from(rows.width) * u64::from(rows.height);
        (0..kind.count).for_each(|_| lane_bytes.extend([SOURCES as u64 * picture, result]));
    }
    Ok(lane_bytes)
}

fn cameras(stage: &Stage, video: &VideoArguments) -> Result<Vec<Camera>> {
    let ground = &stage.shop.ground;
    let mut chance = video.seed;
    let mut cameras: Vec<Camera> = Vec::new();
    for (kind, like) in video.streams.iter().enumerate() {
        for _ in 0..like.count {
            chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let period = like.pictures.period();
            let lanes = [beside::LANES + 2 * cameras.len(), beside::LANES + 2 * cameras.len() + 1];
            let film = Film::reduced(ground, like.pictures)?;
            let shown: Arc<[Vec<u8>]> = match &video.frames {
                Some(path) => frames::read(path, like.pictures)?.into(),
                None if video.check => film.pictures(chance).into(),
                None => Arc::default(),
            };
            let piece = Arc::new(Piece::picture(ground, lanes, film).compare(&shown));
            let phase = Nanos((chance >> 33) % period.0);
            let deadline = Nanos(period.0 * u64::from(video.deadline));
            let behind = video.behind.policy();
            let tolerance = Nanos::from_us(video.tolerance_us);
            let pictures = shown;
            cameras.push(Camera { kind, film, piece, period, deadline, behind, tolerance, phase, pictures });
        }
    }
    Ok(cameras)
}

fn cases(video: &VideoArguments) -> Vec<Case> {
    let idle = Scene { method: VideoMethod::NativePriority, has_pictures: true, background: None };
    let mut cases = vec![Case::new(IDLE, idle)];
    let of_pipelines = methods(video).iter().filter_map(|method| Some((*method, method.idle()?)));
    cases.extend(of_pipelines.map(|(method, name)| Case::new(name, Scene { method, ..idle })));
    for background in video.background.iter().copied().map(Some) {
        let raw = Scene { method: VideoMethod::Native, has_pictures: false, background };
        cases.push(Case::new(RAW, raw));
        let scene = |method| Scene { method, has_pictures: true, background };
        cases.extend(methods(video).iter().map(|method| Case::new(method.name(), scene(*method))));
    }
    cases
}
