//! One method for a while: pictures and bulk at once.

use std::sync::Arc;

use channels::probe::STREAM_PRIORITY_DEFAULT;
use hal::{HostThread, Nanos, Result};
use overtake::task::Tasks;

use super::super::args::VideoMethod;
use super::super::bulk::Throughput;
use super::super::catalogue::Workshop;
use super::super::flow::{Cargo, Flow};
use super::super::line::{Line, Way};
use super::super::piece::Piece;
use super::super::yard::{BOTH, Fed, Parts, Yard};
use super::pipeline::{BEAT, Footage, shoot};

/// A pipeline waits this long before its first picture.
const LEAD: Nanos = Nanos::from_ms(2);
/// Pictures of a pipeline in a slice, at least.
const LEAST_PICTURES: u64 = 6;

/// The work of a slice.
#[derive(Clone, Copy, Debug)]
pub struct Scene {
    pub method: VideoMethod,
    pub has_pictures: bool,
    pub has_bulk: bool,
}

impl Scene {
    fn parts(self) -> Parts {
        match self.method {
            VideoMethod::Native | VideoMethod::NativePriority => Parts::Nothing,
            VideoMethod::Copies => Parts::Copies,
            VideoMethod::Dispatcher => Parts::Dispatcher,
        }
    }

    /// The transport of bulk, as rows name it.
    pub fn transport(self) -> &'static str {
        if self.parts() == Parts::Nothing { "engine" } else { "kernel" }
    }

    /// The emulation of semaphores, as rows name it.
    pub fn emulation(self) -> &'static str {
        if self.parts() == Parts::Nothing { "none" } else { "hold" }
    }
}

/// The measurements of a slice.
#[derive(Clone, Debug, Default)]
pub struct Slice {
    pub latencies_ns: Vec<u64>,
    pub due: u64,
    pub missed: u64,
    /// Of each direction; empty without bulk.
    pub bulk: Vec<Throughput>,
    pub rescues: u64,
}

/// Runs a scene.
pub fn film(shop: &Workshop, pieces: &[Arc<Piece>], scene: &Scene, bulk_bytes: u64, span: Nanos) -> Result<Slice> {
    let mut yard = Yard::open(shop, scene.parts())?;
    let mut lines = Vec::new();
    if scene.has_pictures {
        for (index, piece) in pieces.iter().enumerate() {
            lines.push(Arc::new(Line {
                piece: Arc::clone(piece),
                way: way(&mut yard, scene.method)?,
                word: 1 + index,
            }));
        }
        // The first use of a stream or a kernel is not measured.
        lines.iter().try_for_each(|line| line.run())?;
    }
    let flows = if scene.has_bulk { bulk(&mut yard, scene.method, bulk_bytes, 1 + pieces.len())? } else { Vec::new() };
    let measured = measure(&yard, &lines, &flows, span);
    drop((lines, flows));
    let rescues = yard.overtake.as_ref().map_or(0, |overtake| overtake.statistics().rescues);
    // The error of the pictures comes first: closing fails after it, most likely for the same reason.
    let slice = measured?;
    yard.close()?;
    Ok(Slice { rescues, ..slice })
}

fn way(yard: &mut Yard, method: VideoMethod) -> Result<Way> {
    let (greatest, highest) = (yard.range.greatest, yard.highest());
    Ok(match (method, &yard.dispatcher) {
        (VideoMethod::Dispatcher, Some(dispatcher)) => Way::Tasks(Tasks::new(dispatcher), highest),
        (VideoMethod::Native, _) => Way::Stream(yard.stream(STREAM_PRIORITY_DEFAULT)?),
        _ => {
            let stream = yard.stream(greatest)?;
            match &yard.overtake {
                Some(overtake) => Way::Through(yard.ground.adopt(overtake, stream, highest)?),
                None => Way::Stream(stream),
            }
        }
    })
}

fn bulk(yard: &mut Yard, method: VideoMethod, bytes: u64, word: usize) -> Result<Vec<Arc<dyn Flow>>> {
    let least = if method == VideoMethod::Native { STREAM_PRIORITY_DEFAULT } else { yard.range.least };
    let flow = |(lane, direction)| yard.bulk(Cargo { direction, lane, bytes, word: word + lane }, least);
    BOTH.into_iter().enumerate().map(flow).collect()
}

fn measure(yard: &Yard, lines: &[Arc<Line>], flows: &[Arc<dyn Flow>], span: Nanos) -> Result<Slice> {
    let host = yard.ground.driver().host();
    let fed = Fed::start(flows)?;
    let first = host.now() + LEAD;
    let end = first + Nanos(span.0.max(LEAST_PICTURES * BEAT.0));
    // The beats of the pipelines are spread, as those of cameras are.
    let beats = |index: usize| Nanos(first.0 + BEAT.0 * index as u64 / lines.len() as u64);
    let pipelines: Result<Vec<HostThread<Result<Footage>>>> =
        lines.iter().enumerate().map(|(index, line)| pipeline(line, beats(index), end)).collect();
    let footage: Vec<Result<Footage>> = match pipelines {
        Ok(pipelines) => pipelines.into_iter().map(|pipeline| pipeline.join(host)).collect(),
        Err(error) => vec![Err(error)],
    };
    if lines.is_empty() {
        host.sleep(end.since(host.now()));
    }
    let _is_enough = yard.ground.rig().wait_for(Nanos::from_ms(10_000), &mut || fed.have_completed(4));
    let mut slice = Slice { bulk: fed.stop()?, ..Slice::default() };
    for footage in footage {
        let footage = footage?;
        slice.latencies_ns.extend(footage.latencies_ns);
        slice.due += footage.due;
        slice.missed += footage.missed;
    }
    Ok(slice)
}

fn pipeline(line: &Arc<Line>, first: Nanos, end: Nanos) -> Result<HostThread<Result<Footage>>> {
    let line = Arc::clone(line);
    let driver = Arc::clone(line.piece.ground().driver());
    let shared = Arc::clone(&driver);
    hal::spawn(&driver, "pipeline", move || {
        line.piece.ground().rig().make_current()?;
        shoot(shared.host(), first, end, &mut || line.run())
    })
}
