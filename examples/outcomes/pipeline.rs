//! Frames from a producer to a consumer: waits that are in vain, one that is given up, one that fails, and ends that
//! leave. The same program in C, C++ and Python stands beside it; all four print `pipeline.txt`:
//! `cargo run --example outcomes_pipeline`.

use std::error::Error;
use std::time::Duration;

use backend::{Backend, open};
use overtake::copy::Request;
use overtake::heap::{Heap, HeapOptions, Space};
use overtake::pipeline::{self, Consumer, Filling, Pipeline, PipelineOptions, Producer, StageBuffer};
use overtake::task::{Lane, More, WorkResult};
use overtake::{Context, ContextOptions};

const BYTES: u64 = 4096;
const SHORT: Duration = Duration::from_millis(20);
type Ends = (Pipeline<StageBuffer>, Producer<StageBuffer>, Consumer<StageBuffer>);

fn copying(request: Request) -> impl FnMut(&mut Lane<'_>) -> WorkResult<More> + Send + 'static {
    move |lane| {
        // SAFETY: the pipeline keeps the buffer until the frame's tasks have ended.
        unsafe { lane.copy(&request)? };
        Ok(More::Done)
    }
}

fn open_line(context: &Context) -> Result<Ends, Box<dyn Error>> {
    let heap = |space| Heap::open_beside(context.overtake(), space, HeapOptions::default());
    let (pinned, device) = (heap(Space::Pinned)?, heap(Space::Device)?);
    let options = PipelineOptions { name: "camera".to_owned(), stages: 2, ..PipelineOptions::default() };
    let make = |_| Ok(StageBuffer::new(&pinned, &device, BYTES)?);
    Ok(Pipeline::open(context.tasks(), options, make)?)
}

fn next(producer: &mut Producer<StageBuffer>) -> Result<Filling<'_, StageBuffer>, pipeline::Error> {
    Ok(producer.acquire()?.expect("this pipeline keeps every frame"))
}

fn shoot(context: &Context, producer: &mut Producer<StageBuffer>, value: u8) -> Result<(), pipeline::Error> {
    let mut frame = next(producer)?;
    // SAFETY: it is `BYTES` long, and no copy uses it now.
    unsafe { frame.buffer().host().write_bytes(value, BYTES as usize) };
    let upload = frame.buffer().upload();
    frame.task(context.tasks().upload("upload", copying(upload)))?;
    frame.commit()
}

fn view(context: &Context, consumer: &mut Consumer<StageBuffer>) -> Result<(), pipeline::Error> {
    let mut frame = consumer.wait()?;
    let download = frame.buffer().download();
    frame.task(context.tasks().download("download", copying(download)))?.wait()?;
    // SAFETY: it is `BYTES` long, and the copy has ended.
    let last = unsafe { frame.buffer().host().add(BYTES as usize - 1).read() };
    println!("frame {} has {last}", frame.number());
    frame.release()
}

/// # Errors
/// Where something goes wrong that is not to.
pub fn main() -> Result<(), Box<dyn Error>> {
    let driver = open(Backend::from_environment()?)?.driver; // the real driver, else the software GPU
    let context = Context::open_on(&driver, ContextOptions::from_environment()?)?;
    let (_line, mut producer, mut consumer) = open_line(&context)?;

    if consumer.wait_for(SHORT)?.is_none() {
        println!("consumer: no frame within {} ms", SHORT.as_millis());
    }
    shoot(&context, &mut producer, 7)?;
    view(&context, &mut consumer)?;

    drop(next(&mut producer)?); // frame 1 is given up: the consumer never sees it
    shoot(&context, &mut producer, 9)?;
    view(&context, &mut consumer)?;

    for value in [10, 11] {
        shoot(&context, &mut producer, value)?;
    }
    if producer.acquire_for(SHORT)?.is_none() {
        println!("producer: no stage within {} ms", SHORT.as_millis());
    }
    view(&context, &mut consumer)?;
    view(&context, &mut consumer)?;

    let mut frame = next(&mut producer)?;
    frame.task(context.tasks().kernel("shoot", |_: &mut Lane<'_>| Err("the cable is out".into())))?;
    frame.commit()?;
    if let Err(error) = consumer.wait() {
        println!("consumer: {error}"); // the next call is about the next frame
    }

    shoot(&context, &mut producer, 13)?;
    drop(producer);
    view(&context, &mut consumer)?;
    if matches!(consumer.wait(), Err(pipeline::Error::Ended)) {
        println!("consumer: the producer has left");
    }

    let (_line, mut producer, consumer) = open_line(&context)?;
    drop(consumer);
    if let Err(error) = producer.acquire() {
        println!("producer: {error}");
    }
    Ok(())
}
