//! The whole stack: a pipeline for each camera, with buffers from heaps, whose tasks go by the dispatcher.
#![allow(unsafe_code)] // tasks copy between the buffers of a frame, and launch kernels on them

use std::sync::Arc;

use hal::{Code, DevicePtr, Driver, HostThread, Nanos, Result};
use measure::ground::Ground;
use overtake::copy::Request;
use overtake::dispatch::Dispatcher;
use overtake::heap::{Heap, HeapOptions, Space};
use overtake::pipeline::{
    Admission, Consumer, Dropped, End, Error, Filled, FrameRecord, Pipeline, PipelineOptions, Producer, StageBuffer,
};
use overtake::task::{Handle, Lane, More, Recording, Tasks, Template, WorkResult};
use overtake::{Overtake, Priority};

use super::camera::{Footage, Schedule};
use super::course::{Course, Seen};
use super::slice::{Camera, Set};
use crate::film::{Film, SOURCES};
use crate::piece::{driver_error, launch_all};

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
    worker: Worker,
    template: Option<Template<Shown>>,
    expected: Vec<Vec<u8>>,
    seen: Vec<Seen>,
}

/// The work of a camera's frames.
struct Worker {
    tasks: Tasks,
    film: Film,
    ground: Arc<Ground>,
    result: Arc<StageBuffer>,
    /// Where the slowest frames are asked for.
    course: Option<Arc<Course>>,
}

/// The frame that a replay is for.
struct Shown {
    up: Request,
    source: DevicePtr,
}

/// The parts of the stack that are open. They outlive the background: to free memory waits for the device.
pub struct Stack {
    tasks: Tasks,
    priority: Priority,
    pinned: Heap,
    device: Heap,
    /// That of all pipelines, if there is one.
    admission: Option<Arc<Admission>>,
    /// Whether the tasks of a frame are the replay of a template.
    replays: bool,
    /// Whether the course of each frame is noted.
    has_courses: bool,
}

impl Stack {
    pub fn open(overtake: &Arc<Overtake>, dispatcher: &Dispatcher, replays: bool, set: &Set<'_>) -> Result<Stack> {
        let open = |space| Heap::open_beside(overtake, space, HeapOptions::default());
        let (pinned, device) = (open(Space::Pinned)?, open(Space::Device)?);
        let tasks = Tasks::new(dispatcher);
        let priority = overtake.priorities().highest();
        let (admission, has_courses) = (set.at_once.map(Admission::new), set.has_courses);
        Ok(Stack { tasks, priority, pinned, device, admission, replays, has_courses })
    }
}

impl Staged {
    /// Opens the pipeline of this camera, and passes one frame through it: the first use of a kernel is not measured.
    /// With a seed, results are compared.
    pub fn open(stack: &Stack, ground: &Arc<Ground>, camera: &Camera) -> Result<Staged> {
        let Stack { pinned, device, .. } = stack;
        let &Camera { film, period, deadline, behind, tolerance, ref pictures, .. } = camera;
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
            period: Some(period),
            deadline: Some(deadline),
            tolerance: Some(tolerance),
            admission: stack.admission.clone(),
            records_max: usize::MAX,
            ..PipelineOptions::default()
        };
        let (pipeline, producer, consumer) = Pipeline::open(&stack.tasks, options, make).map_err(as_driver_error)?;
        let expected = pictures.iter().map(|picture| film.result(picture)).collect();
        let result = Arc::new(StageBuffer::new(pinned, device, film.result_bytes())?);
        let course = stack.has_courses.then(|| Course::new(ground.driver())).transpose()?.map(Arc::new);
        let worker = Worker { tasks: stack.tasks.clone(), film, ground: Arc::clone(ground), result, course };
        let template = stack.replays.then(|| worker.record()).transpose()?;
        let viewer = Viewer { consumer, worker, template, expected, seen: Vec::new() };
        let mut staged = Staged { pipeline, producer, viewer };
        let acquired = staged.producer.acquire().map_err(as_driver_error)?;
        acquired.expect("all stages are free").commit().map_err(as_driver_error)?;
        staged.viewer.view_one()?;
        drop(staged.pipeline.take_records());
        staged.viewer.seen.clear();
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
            viewer.worker.ground.rig().make_current()?;
            while viewer.view_one()? {}
            Ok(viewer.seen)
        })?;
        Ok(Shooting { pipeline, camera, viewer, deadline: schedule.deadline })
    }
}

/// A camera and a viewer at work.
pub struct Shooting {
    pipeline: Pipeline<Shot>,
    camera: HostThread<Result<()>>,
    viewer: HostThread<Result<Vec<Seen>>>,
    deadline: Nanos,
}

impl Shooting {
    /// Waits for the last picture.
    pub fn finish(self, driver: &dyn Driver) -> Result<Footage> {
        let Shooting { pipeline, camera, viewer, deadline } = self;
        let (shot, seen) = (camera.join(driver.host()), viewer.join(driver.host()));
        shot?;
        let mut seen = seen?.into_iter().peekable();
        let mut footage = Footage::default();
        for record in pipeline.take_records() {
            footage.due += 1;
            count(&mut footage, &record, deadline);
            footage.courses.extend(seen.next_if(|seen| seen.number == record.number).map(|seen| seen.ends(&record)));
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
        let Viewer { consumer, worker, template, expected, seen } = self;
        let mut frame = match consumer.wait() {
            Err(Error::Ended) => return Ok(false),
            frame => frame.map_err(as_driver_error)?,
        };
        let last = match template {
            Some(template) => worker.replay(&mut frame, template)?,
            None => worker.work(&mut frame)?,
        };
        last.wait().map_err(driver_error)?;
        frame.note(SEEN);
        if let Some(course) = &worker.course {
            seen.push(course.seen(frame.number(), worker.ground.driver().host().now())?);
        }
        let source = frame.buffer().source;
        if let Some(expected) = expected.get(source) {
            frame.note(CHECKED);
            // SAFETY: it has the bytes of a result, its download has completed, and this thread submits the next one.
            let found = unsafe { std::slice::from_raw_parts(worker.result.host().as_ptr(), expected.len()) };
            if found != expected {
                frame.note(WRONG);
            }
        }
        frame.release().map_err(as_driver_error)?;
        Ok(true)
    }
}

/// The parts of a frame that its tasks submit. The pipeline keeps the frame's buffer until they have ended.
impl Worker {
    fn shown(frame: &Filled<'_, Shot>) -> Shown {
        let buffer = &frame.buffer().buffer;
        Shown { up: buffer.upload(), source: buffer.device() }
    }

    fn upload(&self) -> impl Fn(&mut Lane<'_>, &Shown) -> WorkResult<More> + Send + Sync + 'static {
        let course = self.course.clone();
        move |lane, shown| {
            // SAFETY: the pipeline keeps the buffer until the tasks of its frame have ended.
            unsafe { lane.copy(&shown.up)? };
            submitted(&course, 0, lane)?;
            Ok(More::Done)
        }
    }

    fn kernels(&self) -> impl Fn(&mut Lane<'_>, &Shown) -> WorkResult<More> + Send + Sync + 'static {
        let (film, ground, target) = (self.film, Arc::clone(&self.ground), Arc::clone(&self.result));
        let course = self.course.clone();
        move |lane, shown| {
            let works = film.works(shown.source, target.device());
            // SAFETY: as above; the other pictures are memory of the ground, and frames come one at a time.
            unsafe { launch_all(&ground, &works, lane.stream())? };
            submitted(&course, 1, lane)?;
            Ok(More::Done)
        }
    }

    fn download(&self) -> impl Fn(&mut Lane<'_>, &Shown) -> WorkResult<More> + Send + Sync + 'static {
        let (kept, down) = (Arc::clone(&self.result), self.result.download());
        let course = self.course.clone();
        move |lane, _| {
            let _until_the_copy_has_ended = &kept;
            // SAFETY: this function, which keeps the result's buffer, lives until the copy has completed.
            unsafe { lane.copy(&down)? };
            submitted(&course, 2, lane)?;
            Ok(More::Done)
        }
    }

    /// Submits the tasks of a frame: up, kernels, and the result down. Returns the last.
    fn work(&self, frame: &mut Filled<'_, Shot>) -> Result<Handle> {
        let shown = Arc::new(Worker::shown(frame));
        let (up, kernels, down) = (self.upload(), self.kernels(), self.download());
        let [first, second, third] = [(); 3].map(|()| Arc::clone(&shown));
        let upload = self.tasks.upload("upload", move |lane: &mut Lane<'_>| up(lane, &first));
        let upload = frame.task(upload).map_err(as_driver_error)?;
        let kernels = self.tasks.kernel("kernels", move |lane: &mut Lane<'_>| kernels(lane, &second));
        let kernels = frame.task(kernels.after(&upload)).map_err(as_driver_error)?;
        let download = self.tasks.download("download", move |lane: &mut Lane<'_>| down(lane, &third));
        frame.task(download.after(&kernels)).map_err(as_driver_error)
    }

    /// The same tasks as a template.
    fn record(&self) -> Result<Template<Shown>> {
        let mut recording = Recording::new();
        let upload = recording.upload("upload", &[], self.upload());
        let kernels = recording.kernel("kernels", &[upload], self.kernels());
        recording.download("download", &[kernels], self.download());
        recording.finish().map_err(driver_error)
    }

    fn replay(&self, frame: &mut Filled<'_, Shot>, template: &Template<Shown>) -> Result<Handle> {
        let shown = Worker::shown(frame);
        frame.replay(template.replay(&self.tasks, shown)).map_err(as_driver_error)
    }
}

/// A function has submitted its part of a frame to its lane.
fn submitted(course: &Option<Arc<Course>>, part: usize, lane: &Lane<'_>) -> Result<()> {
    course.as_ref().map_or(Ok(()), |course| course.submitted(part, lane.stream()))
}

/// The error of a pipeline as one of the driver.
fn as_driver_error(error: Error) -> hal::Error {
    match error {
        Error::Driver(error) => error,
        Error::Task(error) => driver_error(error),
        other => Code::LAUNCH_FAILED.at("overtake pipeline").because(other.to_string()),
    }
}
