//! Frames come through a pipeline in order, with their bytes, and each failure reaches the other end.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use hal::{Driver, Nanos};
use overtake::heap::{Heap, HeapOptions, Space};
use overtake::pipeline::{Consumer, Error, Filled, Filling, Pipeline, PipelineOptions, Producer, Refused, StageBuffer};
use overtake::task::{Handle, Kernel, Lane, More};

use crate::bed::{self, Bed};
use crate::failure::{Failure, Outcome, ensure, same};
use crate::raw;
use crate::rig::Rig;

const BYTES: u64 = 64 << 10;
const FRAMES: u32 = 20;

/// A pipeline whose buffers are of two heaps.
struct Line {
    bed: Bed,
    /// Blocks go back to them.
    heaps: [Heap; 2],
}

type Frame<'p> = Filling<'p, StageBuffer>;
type Ends = (Pipeline<StageBuffer>, Producer<StageBuffer>, Consumer<StageBuffer>);

impl Line {
    fn new(rig: &Rig) -> Result<Line, Failure> {
        let bed = bed::open(rig)?;
        let heap = |space| Heap::open_beside(&bed.overtake, space, HeapOptions::default());
        let heaps = [heap(Space::Pinned)?, heap(Space::Device)?];
        Ok(Line { bed, heaps })
    }

    fn open(&self, stages: u8) -> Result<Ends, Failure> {
        let options = PipelineOptions { name: "line".to_owned(), stages, ..PipelineOptions::default() };
        let [pinned, device] = &self.heaps;
        Ok(Pipeline::open(&self.bed.tasks, options, |_| Ok(StageBuffer::new(pinned, device, BYTES)?))?)
    }

    /// A task of the frame that takes some time.
    fn spin(&self, frame: &mut Filling<'_, StageBuffer>, span: Nanos) -> Result<Handle, Failure> {
        let spin = self.bed.kernels.spin.clone();
        Ok(frame.task(self.bed.tasks.kernel("spin", move |lane: &mut Lane<'_>| {
            raw::spin(lane, &spin, span)?;
            Ok(More::Done)
        }))?)
    }
}

/// The producer's part of a frame: the word of its number goes up, behind a kernel that takes a while.
fn upload(bed: &overtake::task::Tasks, spin: &Kernel, frame: &mut Frame<'_>, value: u32) -> Result<(), Failure> {
    raw::first_word(&frame.buffer()).store(value, Ordering::Release);
    let (request, spin) = (frame.buffer().upload(), spin.clone());
    frame.task(bed.upload("upload", move |lane: &mut Lane<'_>| {
        raw::spin(lane, &spin, Nanos::from_us(100))?;
        raw::frame(lane, &request)?;
        Ok(More::Done)
    }))?;
    Ok(())
}

/// The consumer's part: 1000 more, and back.
fn download(bed: &Bed, frame: &mut Filled<'_, StageBuffer>) -> Result<Handle, Failure> {
    let (request, at, add) = (frame.buffer().download(), frame.buffer().device(), bed.kernels.add.clone());
    let add = frame.task(bed.tasks.kernel("add", move |lane: &mut Lane<'_>| {
        raw::word(lane, &add, at, 1000)?;
        Ok(More::Done)
    }))?;
    let down = bed.tasks.download("download", move |lane: &mut Lane<'_>| {
        raw::frame(lane, &request)?;
        Ok(More::Done)
    });
    Ok(frame.task(down.after(&add))?)
}

fn passes(rig: &Rig, is_handed_over: bool) -> Outcome {
    let line = Line::new(rig)?;
    let (pipeline, mut producer, mut consumer) = line.open(2)?;
    let (tasks, spin) = (line.bed.tasks.clone(), line.bed.kernels.spin.clone());
    let camera = rig.spawn("camera", move |_| {
        for number in 0..FRAMES {
            let mut frame = producer.acquire()?.ok_or_else(|| Failure::new("it keeps every frame"))?;
            upload(&tasks, &spin, &mut frame, number)?;
            if is_handed_over { frame.hand_over()? } else { frame.commit()? }
        }
        Ok(())
    });
    for number in 0..FRAMES {
        let mut frame = consumer.wait()?;
        same("the frame's number", &frame.number(), &u64::from(number))?;
        download(&line.bed, &mut frame)?.wait()?;
        same("the word", &raw::first_word(&frame.buffer()).load(Ordering::Acquire), &(number + 1000))?;
        frame.release()?;
    }
    ensure!(matches!(consumer.wait(), Err(Error::Ended)), "the producer has gone");
    rig.join(camera)?;
    line.bed.tasks.wait()?;
    let statistics = pipeline.statistics();
    same("frames", &(statistics.frames, statistics.delivered, statistics.under_way()), &(20, 20, 0))?;
    let records = pipeline.take_records();
    same(
        "the order of the records",
        &records.iter().map(|record| record.number).collect(),
        &(0..20).collect::<Vec<_>>(),
    )?;
    let is_in_order = |record: &overtake::pipeline::FrameRecord| {
        let times = [Some(record.captured), record.committed, record.taken, record.ended.map(|(at, _)| at)];
        times.iter().all(Option::is_some) && times.is_sorted()
    };
    ensure!(records.iter().all(is_in_order), "the times of a record: {records:?}");
    drop((pipeline, consumer));
    let [pinned, device] = line.heaps;
    ensure!(pinned.close().is_clean() && device.close().is_clean(), "a buffer has not come back to its heap");
    Ok(())
}

pub fn bytes(rig: &Rig) -> Outcome {
    passes(rig, false)
}

pub fn handed_over(rig: &Rig) -> Outcome {
    passes(rig, true)
}

/// A frame that was handed over before its tasks have ended keeps its stage until then, even if the consumer only looks
/// at it.
pub fn handed_over_and_passed(rig: &Rig) -> Outcome {
    let line = Line::new(rig)?;
    let (_pipeline, mut producer, mut consumer) = line.open(1)?;
    for waits in [false, true] {
        let mut frame = producer.acquire()?.ok_or_else(|| Failure::new("it is free"))?;
        let slow = line.spin(&mut frame, Nanos::from_ms(1))?;
        frame.hand_over()?;
        let frame = consumer.wait()?;
        ensure!(!slow.is_done(), "the frame came late");
        if waits {
            frame.complete()?;
            ensure!(slow.is_done(), "the contents are not there");
        }
        frame.release()?;
        producer.acquire_for(crate::rig::span(rig.driver()).into())?.ok_or_else(|| Failure::new("it is free"))?;
        ensure!(slow.is_done(), "the stage came while a kernel used it");
    }
    Ok(())
}

pub fn timeouts(rig: &Rig) -> Outcome {
    let line = Line::new(rig)?;
    let (pipeline, mut producer, mut consumer) = line.open(1)?;
    let span = Nanos::from_us(300);
    let begin = rig.driver().host().now();
    ensure!(consumer.wait_for(span.into())?.is_none() && consumer.try_wait()?.is_none(), "there is no frame");
    ensure!(rig.driver().host().now().since(begin) >= span, "the wait was too short");
    producer.acquire()?.ok_or_else(|| Failure::new("it is free"))?.commit()?;
    ensure!(producer.acquire_for(span.into())?.is_none() && producer.try_acquire()?.is_none(), "there is no stage");
    same("frames that have begun", &pipeline.statistics().frames, &1)?;
    let frame = consumer.wait_for(crate::rig::span(rig.driver()).into())?.ok_or_else(|| Failure::new("it is there"))?;
    frame.release()?;
    ensure!(producer.acquire_for(crate::rig::span(rig.driver()).into())?.is_some(), "it is free again");
    Ok(())
}

pub fn ends(rig: &Rig) -> Outcome {
    let line = Line::new(rig)?;
    let (_pipeline, mut producer, mut consumer) = line.open(2)?;
    for number in 0..2 {
        let mut frame = producer.acquire()?.ok_or_else(|| Failure::new("it is free"))?;
        upload(&line.bed.tasks, &line.bed.kernels.spin, &mut frame, number)?;
        frame.commit()?;
    }
    drop(producer);
    consumer.wait()?.release()?;
    consumer.wait()?.release()?;
    ensure!(matches!(consumer.wait(), Err(Error::Ended)), "the producer has gone");

    let (_pipeline, mut producer, consumer) = line.open(1)?;
    producer.acquire()?.ok_or_else(|| Failure::new("it is free"))?.commit()?;
    let host = Arc::clone(rig.shared_driver());
    let viewer = rig.spawn("viewer", move |_| {
        host.host().sleep(Nanos::from_us(200));
        drop(consumer);
        Ok(())
    });
    ensure!(matches!(producer.acquire(), Err(Error::Ended)), "the consumer has gone");
    rig.join(viewer)?;
    let none = |stages| line.open(stages).is_err();
    ensure!(none(0) && none(255), "a pipeline of 0 or 255 stages");
    same("the most stages", &line.open(1).is_ok(), &true)
}

/// A copy of the frame fails: the consumer is told the frame and the cause, and gets the next one.
pub fn a_task_fails(rig: &Rig) -> Outcome {
    let line = Line::new(rig)?;
    let (pipeline, mut producer, mut consumer) = line.open(2)?;
    for number in 0..4 {
        let mut frame = producer.acquire()?.ok_or_else(|| Failure::new("it is free"))?;
        if number == 1 {
            frame.task(line.bed.tasks.upload("upload", |_: &mut Lane<'_>| Err("the cable is out".into())))?;
        } else {
            upload(&line.bed.tasks, &line.bed.kernels.spin, &mut frame, number)?;
        }
        frame.commit()?;
        match consumer.wait() {
            Ok(frame) => same("the frame", &frame.number(), &u64::from(number))?,
            Err(error) => {
                let text = error.to_string();
                let expected = "frame 1 of pipeline \"line\" failed: task \"upload\" failed: the cable is out";
                same("the error", &(number, text.as_str()), &(1, expected))?;
            }
        }
    }
    let mut frame = producer.acquire()?.ok_or_else(|| Failure::new("it is free"))?;
    upload(&line.bed.tasks, &line.bed.kernels.spin, &mut frame, 4)?;
    frame.commit()?;
    // The consumer's own task fails: the producer is told, and goes on.
    let mut frame = consumer.wait()?;
    frame.task(line.bed.tasks.kernel("infer", |_: &mut Lane<'_>| Err("no model".into())))?;
    frame.release()?;
    let mut told = 0;
    for _ in 0..3 {
        match producer.acquire() {
            Ok(frame) => frame.ok_or_else(|| Failure::new("it is free"))?.commit()?,
            Err(error) => {
                ensure!(error.to_string().contains("frame 4 of pipeline \"line\" failed: task \"infer\""), "{error}");
                told += 1;
                continue;
            }
        }
        consumer.wait()?.release()?;
    }
    let statistics = pipeline.statistics();
    same("errors, failures, frames under way", &(told, statistics.failed, statistics.under_way()), &(1, 2, 0))
}

/// One task of a frame fails while another one still uses the buffer: the stage does not come back before that.
pub fn one_fails_beside_another(rig: &Rig) -> Outcome {
    let line = Line::new(rig)?;
    let (_pipeline, mut producer, mut consumer) = line.open(1)?;
    for (is_first, has_ended) in [(false, false), (true, false), (true, true)] {
        let mut frame = producer.acquire()?.ok_or_else(|| Failure::new("it is free"))?;
        let fails = |frame: &mut Filling<'_, StageBuffer>| {
            frame.task(line.bed.tasks.upload("upload", |_: &mut Lane<'_>| Err("the cable is out".into())))
        };
        if is_first {
            let failed = fails(&mut frame)?;
            ensure!(!has_ended || failed.wait().is_err(), "it fails");
        }
        let slow = line.spin(&mut frame, Nanos::from_ms(1))?;
        if !is_first {
            fails(&mut frame)?;
        }
        frame.commit()?;
        ensure!(matches!(consumer.wait(), Err(Error::Failed(_))), "a task of the frame has failed");
        ensure!(slow.is_done(), "the stage came while a kernel used it");
    }
    Ok(())
}

/// One is cancelled while another one still uses the buffer, before the end of the frame or behind it.
pub fn one_is_cancelled_beside_another(rig: &Rig) -> Outcome {
    let line = Line::new(rig)?;
    let (_pipeline, mut producer, mut consumer) = line.open(1)?;
    for is_late in [false, true] {
        let mut frame = producer.acquire()?.ok_or_else(|| Failure::new("it is free"))?;
        let slow = line.spin(&mut frame, Nanos::from_ms(1))?;
        let next = frame.task(line.bed.tasks.kernel("next", |_: &mut Lane<'_>| Ok(More::Done)).held())?;
        let last = frame.task(line.bed.tasks.host("last", || Ok(())).after(&next))?;
        if is_late {
            frame.commit()?;
            ensure!(next.cancel()?, "it is held");
        } else {
            ensure!(next.cancel()?, "it is held");
            frame.commit()?;
        }
        let error = consumer.wait().map(drop).expect_err("a task of the frame was not run").to_string();
        ensure!(error.contains("task \"next\" was not run: it was cancelled"), "{error}");
        ensure!(slow.is_done(), "the stage came while a kernel used it");
        ensure!(last.wait().is_err(), "it comes after the cancelled one");
    }
    Ok(line.bed.tasks.wait()?)
}

/// The other end is told, and the thread that panicked can go on.
pub fn panics(rig: &Rig) -> Outcome {
    let line = Line::new(rig)?;
    let (pipeline, mut producer, mut consumer) = line.open(2)?;
    let quietly = |body: &mut dyn FnMut()| std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)).is_err();
    ensure!(
        quietly(&mut || {
            let _frame = producer.acquire();
            std::panic::resume_unwind(Box::new("a camera fails"));
        }),
        "it has panicked"
    );
    let error = consumer.wait().map(drop).unwrap_err().to_string();
    ensure!(error.starts_with("frame 0 of pipeline \"line\" failed: its thread panicked"), "{error}");
    producer.acquire()?.ok_or_else(|| Failure::new("it is free"))?.commit()?;
    ensure!(
        quietly(&mut || {
            let _frame = consumer.wait();
            std::panic::resume_unwind(Box::new("a viewer fails"));
        }),
        "it has panicked"
    );
    // Stage 0 is free; stage 1 is the one that the viewer has failed with.
    producer.acquire()?.ok_or_else(|| Failure::new("it is free"))?.commit()?;
    same("the next frame", &consumer.wait()?.number(), &2)?;
    let error = producer.acquire().map(drop).unwrap_err().to_string();
    ensure!(error.starts_with("frame 1 of pipeline \"line\" failed: its thread panicked"), "{error}");
    producer.acquire()?.ok_or_else(|| Failure::new("it is free"))?.commit()?;
    same("the next frame", &consumer.wait()?.number(), &3)?;
    same("failed frames", &pipeline.statistics().failed, &2)
}

/// A frame that its producer gives up is counted, and its stage is used for the next one.
pub fn given_up(rig: &Rig) -> Outcome {
    let line = Line::new(rig)?;
    let (pipeline, mut producer, mut consumer) = line.open(1)?;
    drop(producer.acquire()?);
    producer.acquire()?.ok_or_else(|| Failure::new("it is free"))?.commit()?;
    same("the frame", &consumer.wait()?.number(), &1)?;
    let mut frame = producer.acquire()?.ok_or_else(|| Failure::new("it is free"))?;
    let slow = line.spin(&mut frame, Nanos::from_ms(1))?;
    drop(frame);
    ensure!(matches!(consumer.wait(), Err(Error::Failed(_))), "its tasks have used the stage");
    ensure!(slow.is_done(), "the stage came while a kernel used it");
    let statistics = pipeline.statistics();
    same("counts", &(statistics.given_up, statistics.failed, statistics.under_way()), &(1, 1, 0))?;
    let refused = Error::from(Refused::Quit).to_string();
    same("a refusal's text", &refused.as_str(), &"this member has quit")
}

#[derive(Default)]
struct Woken(AtomicBool, AtomicU32);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.1.fetch_add(1, Ordering::AcqRel);
        self.0.store(true, Ordering::Release);
    }
}

/// Polls only when it is woken, and sleeps in the host's time meanwhile.
pub fn block_on<T>(driver: &dyn Driver, future: impl Future<Output = T>) -> T {
    let (woken, mut future) = (Arc::new(Woken::default()), pin!(future));
    let waker = Waker::from(Arc::clone(&woken));
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return value;
        }
        driver.host().wait_until(None, &mut || woken.0.swap(false, Ordering::AcqRel));
    }
}

pub fn futures(rig: &Rig) -> Outcome {
    let line = Line::new(rig)?;
    let (_pipeline, mut producer, mut consumer) = line.open(1)?;
    let (tasks, spin) = (line.bed.tasks.clone(), line.bed.kernels.spin.clone());
    let host = Arc::clone(rig.shared_driver());
    let camera = rig.spawn("camera", move |_| {
        for number in 0..FRAMES {
            host.host().sleep(Nanos::from_us(50));
            let mut frame = producer.acquire()?.ok_or_else(|| Failure::new("it keeps every frame"))?;
            upload(&tasks, &spin, &mut frame, number)?;
            frame.commit()?;
        }
        Ok(producer)
    });
    for number in 0..FRAMES {
        let frame = block_on(rig.driver(), consumer.wait_async())?;
        same("the frame's number", &frame.number(), &u64::from(number))?;
        frame.release()?;
    }
    let mut producer = rig.join(camera)?;
    block_on(rig.driver(), producer.acquire_async())?.ok_or_else(|| Failure::new("it is free"))?.commit()?;
    same("the last", &block_on(rig.driver(), consumer.wait_async())?.number(), &u64::from(FRAMES))
}
