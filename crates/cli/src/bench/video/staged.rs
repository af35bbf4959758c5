//! The whole stack: a pipeline for each camera, with buffers from heaps, whose tasks go by the dispatcher.
#![allow(unsafe_code)] // tasks copy between the buffers of a frame, and launch kernels on them

use std::sync::Arc;

use hal::{Code, Driver, HostThread, Nanos, Result};
use overtake::dispatch::Dispatcher;
use overtake::heap::{Heap, HeapOptions, Space};
use overtake::pipeline::{
    Behind, Consumer, Dropped, End, Error, Filled, FrameRecord, Pipeline, PipelineOptions, Producer, StageBuffer,
};
use overtake::task::{Handle, Lane, More, Tasks};
use overtake::{Overtake, Priority};

use super::super::film::{Film, SOURCES};
use super::super::ground::Ground;
use super::super::piece::{driver_error, launch_all};
use super::camera::{Footage, Schedule};

/// The stages of a pipeline: one that is worked on, and one for the latest picture.
const STAGES: u8 = 2;
/// The note in the record of a frame whose result has come.
const SEEN: &str = "seen";
/// The same of a frame whose result has been compared, and of one with a wrong byte.
const CHECKED: &str = "checked";
const WRONG: &str = "wrong";

/// The buffers of a frame, and the picture that is in them.
struct Shot {
    buffer: StageBuffer,
    source: usize,
}

/// A camera and its viewer.
pub struct Staged {
    pipeline: Pipeline<Shot>,
    producer: Producer<Shot>,
    viewer: Viewer,
}

struct Viewer {
    consumer: Consumer<Shot>,
    tasks: Tasks,
    film: Film,
    ground: Arc<Ground>,
    result: Arc<StageBuffer>,
    expected: Vec<Vec<u8>>,
}

/// The parts of the stack that are open. They outlive the background: to free memory waits for the device.
pub struct Stack {
    tasks: Tasks,
    priority: Priority,
    pinned: Heap,
    device: Heap,
}

impl Stack {
    pub fn open(overtake: &Arc<Overtake>, dispatcher: &Dispatcher) -> Result<Stack> {
        let open = |space| Heap::open_beside(overtake, space, HeapOptions::default());
        let (pinned, device) = (open(Space::Pinned)?, open(Space::Device)?);
        Ok(Stack { tasks: Tasks::new(dispatcher), priority: overtake.priorities().highest(), pinned, device })
    }
}

impl Staged {
    /// Opens a pipeline of this film, and passes one frame through it: the first use of a kernel is not measured. With
    /// a seed, results are compared.
    pub fn open(
        stack: &Stack,
        ground: &Arc<Ground>,
        film: Film,
        (deadline, behind): (Nanos, Behind),
        seed: Option<u64>,
    ) -> Result<Staged> {
        let Stack { pinned, device, .. } = stack;
        let pictures: Vec<Vec<u8>> = match seed {
            Some(seed) => (0..SOURCES as u64).map(|index| film.picture(seed.wrapping_mul(3) + index)).collect(),
            None => Vec::new(),
        };
        let make = |number: u8| {
            let buffer = StageBuffer::new(pinned, device, film.picture_bytes())?;
            let source = usize::from(number) % SOURCES;
            if let Some(picture) = pictures.get(source) {
                // SAFETY: the buffer has the bytes of a picture, and no copy uses it yet.
                unsafe { buffer.host().as_ptr().copy_from_nonoverlapping(picture.as_ptr(), picture.len()) };
            }
            Ok(Shot { buffer, source })
        };
        let options = PipelineOptions {
            name: "camera".to_owned(),
            stages: STAGES,
            priority: stack.priority,
            behind,
            deadline: Some(deadline),
            records_max: usize::MAX,
            ..PipelineOptions::default()
        };
        let (pipeline, producer, consumer) = Pipeline::open(&stack.tasks, options, make).map_err(as_driver_error)?;
        let expected = pictures.iter().map(|picture| film.result(picture)).collect();
        let result = Arc::new(StageBuffer::new(pinned, device, film.result_bytes())?);
        let (tasks, ground) = (stack.tasks.clone(), Arc::clone(ground));
        let viewer = Viewer { consumer, tasks, film, ground, result, expected };
        let mut staged = Staged { pipeline, producer, viewer };
        let acquired = staged.producer.acquire().map_err(as_driver_error)?;
        acquired.expect("all stages are free").commit().map_err(as_driver_error)?;
        staged.viewer.view_one()?;
        drop(staged.pipeline.take_records());
        Ok(staged)
    }

    /// Begins to shoot.
    pub fn start(self, driver: &Arc<dyn Driver>, schedule: Schedule) -> Result<Shooting> {
        let Staged { pipeline, mut producer, mut viewer } = self;
        let host = Arc::clone(driver);
        let camera = hal::spawn(driver, "camera", move || {
            let host = host.host();
            for due in (0..).map_while(|number| schedule.due(number)) {
                host.sleep(due.since(host.now()));
                let Some(mut frame) = producer.acquire().map_err(as_driver_error)? else { continue };
                frame.captured_at(due);
                frame.commit().map_err(as_driver_error)?;
            }
            Ok(())
        })?;
        let viewer = hal::spawn(driver, "viewer", move || {
            viewer.ground.rig().make_current()?;
            while viewer.view_one()? {}
            Ok(())
        })?;
        Ok(Shooting { pipeline, threads: [camera, viewer], deadline: schedule.deadline })
    }
}

/// A camera and a viewer at work.
pub struct Shooting {
    pipeline: Pipeline<Shot>,
    threads: [HostThread<Result<()>>; 2],
    deadline: Nanos,
}

impl Shooting {
    /// Waits for the last picture.
    pub fn finish(self, driver: &dyn Driver) -> Result<Footage> {
        let Shooting { pipeline, threads, deadline } = self;
        let ended: Vec<Result<()>> = threads.into_iter().map(|thread| thread.join(driver.host())).collect();
        ended.into_iter().collect::<Result<()>>()?;
        let mut footage = Footage::default();
        for record in pipeline.take_records() {
            footage.due += 1;
            count(&mut footage, &record, deadline);
        }
        Ok(footage)
    }
}

fn count(footage: &mut Footage, record: &FrameRecord, deadline: Nanos) {
    let noted = |name| record.notes.iter().find(|note| note.0 == name).map(|note| note.1);
    match record.ended {
        Some((at, End::Delivered)) => {
            let seen = noted(SEEN).unwrap_or(at);
            let is_right = noted(CHECKED).map(|_| noted(WRONG).is_none());
            footage.deliver(seen.since(record.captured), deadline, is_right);
        }
        Some((_, End::Dropped(cause))) => footage.drop(match cause {
            Dropped::Full => "full",
            Dropped::Replaced => "replaced",
            Dropped::Overdue => "overdue",
            Dropped::GivenUp => "given up",
        }),
        Some((_, End::Failed)) | None => footage.drop("failed"),
    }
}

impl Viewer {
    /// Takes a frame, works on it, and waits for its result. `false` if there are no further ones.
    fn view_one(&mut self) -> Result<bool> {
        let Viewer { consumer, tasks, film, ground, result, expected } = self;
        let mut frame = match consumer.wait() {
            Err(Error::Ended) => return Ok(false),
            frame => frame.map_err(as_driver_error)?,
        };
        work(&mut frame, tasks, (*film, ground), result)?.wait().map_err(driver_error)?;
        frame.note(SEEN);
        let source = frame.buffer().source;
        if let Some(expected) = expected.get(source) {
            frame.note(CHECKED);
            // SAFETY: it has the bytes of a result, its download has completed, and this thread submits the next one.
            let found = unsafe { std::slice::from_raw_parts(result.host().as_ptr(), expected.len()) };
            if found != expected {
                frame.note(WRONG);
            }
        }
        frame.release().map_err(as_driver_error)?;
        Ok(true)
    }
}

/// Submits the tasks of a frame: up, kernels, and the result down. Returns the last.
fn work(
    frame: &mut Filled<'_, Shot>,
    tasks: &Tasks,
    (film, ground): (Film, &Arc<Ground>),
    result: &Arc<StageBuffer>,
) -> Result<Handle> {
    let (up, down, source) = {
        let shot = frame.buffer();
        (shot.buffer.upload(), result.download(), shot.buffer.device())
    };
    let upload = tasks.upload("upload", move |lane: &mut Lane<'_>| {
        // SAFETY: the pipeline keeps the buffer until the tasks of its frame have ended.
        unsafe { lane.copy(&up)? };
        Ok(More::Done)
    });
    let upload = frame.task(upload).map_err(as_driver_error)?;
    let (grounds, target) = (Arc::clone(ground), Arc::clone(result));
    let kernels = tasks.kernel("kernels", move |lane: &mut Lane<'_>| {
        let works = film.works(source, target.device());
        // SAFETY: as above; the other pictures are memory of the ground, and frames come one at a time.
        unsafe { launch_all(&grounds, &works, lane.stream())? };
        Ok(More::Done)
    });
    let kernels = frame.task(kernels.after(&upload)).map_err(as_driver_error)?;
    let kept = Arc::clone(result);
    let download = tasks.download("download", move |lane: &mut Lane<'_>| {
        let _until_the_copy_has_ended = &kept;
        // SAFETY: this function, which keeps the result's buffer, lives until the copy has completed.
        unsafe { lane.copy(&down)? };
        Ok(More::Done)
    });
    frame.task(download.after(&kernels)).map_err(as_driver_error)
}

/// The error of a pipeline as one of the driver.
fn as_driver_error(error: Error) -> hal::Error {
    match error {
        Error::Driver(error) => error,
        Error::Task(error) => driver_error(error),
        other => Code::LAUNCH_FAILED.at("overtake pipeline").because(other.to_string()),
    }
}
