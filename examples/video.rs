//! Two cameras beside a background that never rests: each picture goes up, is turned into colours, and comes back
//! before the next one, checked byte by byte: `cargo run --example video`.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use backend::{Backend, open_with};
use overtake::dispatch::{DispatchOptions, Dispatcher};
use overtake::hal::{self, Device, HostAllocFlags, Nanos, spawn};
use overtake::heap::{Heap, HeapOptions, Space};
use overtake::pipeline::{self, Behind, Filled, Pipeline, PipelineOptions, StageBuffer};
use overtake::task::{Lane, More, Tasks};
use overtake::{Options, Overtake, Priority};
use workloads::{Kernels, Picture, Rows, Work, reference, register};

/// The failure of a thread.
type Failure = Box<dyn Error + Send + Sync>;

const CAMERAS: u64 = 2;
const PICTURES: u64 = 30;
const PERIOD: Nanos = Nanos(1_000_000_000 / 60);
/// NV12 of 640 x 360, and the same in colours.
const PLAIN: Rows = Rows { pitch_bytes: 640, width: 640, height: 360 };
const COLOURED: Rows = Rows { pitch_bytes: 4 * 640, ..PLAIN };
const BULK_BYTES: u64 = 8 << 20;

/// The buffers of a stage: the picture, and its colours.
struct Shot {
    plain: StageBuffer,
    coloured: StageBuffer,
}

/// Fills the picture, as a camera's driver would.
fn expose(shot: &Shot, number: u64) {
    for at in 0..PLAIN.nv12_bytes() {
        // SAFETY: the buffer has as many bytes, and no task uses it while the camera has it.
        unsafe { shot.plain.host().add(at as usize).write((at * 7 + number * 31) as u8) };
    }
}

/// Whether the colours are those that the processor makes.
fn is_right(shot: &Shot) -> bool {
    // SAFETY: the buffers have as many bytes, and the frame's tasks have ended.
    let bytes = |buffer: &StageBuffer, count: u64| unsafe {
        std::slice::from_raw_parts(buffer.host().as_ptr(), count as usize)
    };
    let mut expected = vec![0; COLOURED.rgba_bytes() as usize];
    reference::colour(bytes(&shot.plain, PLAIN.nv12_bytes()), PLAIN.pitch_bytes, &mut expected, COLOURED);
    bytes(&shot.coloured, COLOURED.rgba_bytes()) == expected
}

/// The work on a frame: up, colours, down. Returns when the result is there.
fn develop(frame: &mut Filled<'_, Shot>, tasks: &Tasks, kernels: Kernels) -> Result<(), pipeline::Error> {
    let (up, down, source, target) = {
        let shot = frame.buffer();
        (shot.plain.upload(), shot.coloured.download(), shot.plain.device(), shot.coloured.device())
    };
    let upload = frame.task(tasks.upload("upload", move |lane: &mut Lane<'_>| {
        // SAFETY: the pipeline keeps the buffers until the frame's tasks have ended.
        unsafe { lane.copy(&up)? };
        Ok(More::Done)
    }))?;
    let colour = tasks.kernel("colour", move |lane: &mut Lane<'_>| {
        let target = Picture { at: target, rows: COLOURED };
        let work = Work::Colour { source, source_pitch_bytes: PLAIN.pitch_bytes, target };
        // SAFETY: as above.
        unsafe { kernels.launch(&**lane.driver(), &work, lane.stream())? };
        Ok(More::Done)
    });
    let colour = frame.task(colour.after(&upload))?;
    let download = tasks.download("download", move |lane: &mut Lane<'_>| {
        // SAFETY: as above.
        unsafe { lane.copy(&down)? };
        Ok(More::Done)
    });
    Ok(frame.task(download.after(&colour))?.wait()?)
}

/// The parts that all cameras share. Heaps outlive the background: to free their memory waits for the device.
struct Studio {
    overtake: Arc<Overtake>,
    tasks: Tasks,
    kernels: Kernels,
    pinned: Heap,
    device: Heap,
}

impl Studio {
    /// A camera, which fills a frame in every period, and a viewer, which works on the latest one.
    fn film(&self) -> Result<String, Failure> {
        let Studio { overtake, tasks, kernels, pinned, device } = self;
        let driver = overtake.driver();
        driver.context_set_current(Some(overtake.context()))?;
        let options = PipelineOptions {
            name: "camera".to_owned(),
            priority: overtake.priorities().highest(),
            behind: Behind::LatestOnly,
            deadline: Some(PERIOD),
            ..PipelineOptions::default()
        };
        let (pipeline, mut producer, mut consumer) = Pipeline::open(tasks, options, |_| {
            let plain = StageBuffer::new(pinned, device, PLAIN.nv12_bytes())?;
            Ok(Shot { plain, coloured: StageBuffer::new(pinned, device, COLOURED.rgba_bytes())? })
        })?;
        let host = Arc::clone(driver);
        let camera = spawn(driver, "camera", move || {
            let start = host.host().now();
            for number in 0..PICTURES {
                host.host().sleep(Nanos(start.0 + number * PERIOD.0).since(host.host().now()));
                if let Some(mut frame) = producer.acquire()? {
                    expose(&frame.buffer_mut(), number);
                    frame.commit()?;
                }
            }
            Ok::<(), pipeline::Error>(())
        })?;
        let mut wrong = 0;
        loop {
            let mut frame = match consumer.wait() {
                Err(pipeline::Error::Ended) => break, // the camera has gone, and its last frame has come
                frame => frame?,
            };
            develop(&mut frame, tasks, *kernels)?;
            wrong += u64::from(!is_right(&frame.buffer()));
            frame.release()?;
        }
        camera.join(driver.host())?;
        let counts = pipeline.statistics();
        if wrong > 0 {
            return Err(format!("{wrong} pictures are wrong").into());
        }
        Ok(format!("{} of {} pictures, {} late", counts.delivered, counts.frames, counts.late))
    }
}

/// The background: copies both ways, until the cameras have ended.
fn copy_bulk(overtake: &Overtake, is_over: &AtomicBool) -> hal::Result<u64> {
    let driver = overtake.driver();
    driver.context_set_current(Some(overtake.context()))?;
    let (host, there) = (driver.host_alloc(BULK_BYTES, HostAllocFlags::PORTABLE)?, driver.mem_alloc(BULK_BYTES)?);
    let stream = overtake.stream(Priority::LOWEST)?;
    let mut copied = 0;
    while !is_over.load(Ordering::Acquire) {
        // SAFETY: both sides have as many bytes, and live as long as the program.
        unsafe { stream.memcpy_htod_async(there, host, BULK_BYTES)? };
        // SAFETY: as above.
        unsafe { stream.memcpy_dtoh_async(host, there, BULK_BYTES)? };
        stream.synchronize()?;
        copied += 2 * BULK_BYTES;
    }
    Ok(copied)
}

fn main() -> Result<(), Failure> {
    overtake::queues::ask();
    let opened = open_with(Backend::from_environment()?, register)?;
    let overtake = Arc::new(Overtake::open(&opened.driver, Device(0), Options::from_environment()?)?);
    let driver = overtake.driver();
    let dispatcher = Dispatcher::open(&overtake, DispatchOptions::default())?;
    let open = |space| Heap::open_beside(&overtake, space, HeapOptions::default());
    let (pinned, device) = (open(Space::Pinned)?, open(Space::Device)?);
    let (tasks, kernels) = (Tasks::new(&dispatcher), Kernels::load(&**driver)?);
    let studio = Arc::new(Studio { overtake: Arc::clone(&overtake), tasks, kernels, pinned, device });

    let is_over = Arc::new(AtomicBool::new(false));
    let (above, ends) = (Arc::clone(&overtake), Arc::clone(&is_over));
    let background = spawn(driver, "background", move || copy_bulk(&above, &ends))?;
    let viewer = |_| {
        let studio = Arc::clone(&studio);
        spawn(driver, "viewer", move || studio.film())
    };
    let viewers = (0..CAMERAS).map(viewer).collect::<Result<Vec<_>, _>>()?;
    let told: Vec<_> = viewers.into_iter().map(|viewer| viewer.join(driver.host())).collect();
    is_over.store(true, Ordering::Release);
    let copied = background.join(driver.host())?;
    for counts in told {
        println!("{}", counts?);
    }
    println!("every byte is right, beside {} MiB of bulk", copied >> 20);
    Ok(())
}
