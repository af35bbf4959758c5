//! Pipelines in virtual time: a camera that is faster than its viewer, deadlines, and calls of the driver that fail.

use std::num::NonZeroU32;
use std::sync::Arc;

use hal::{Code, Driver, HostThread, Nanos};
use overtake::Priority;
use overtake::dispatch::DispatchOptions;
use overtake::pipeline::{Admission, Behind, Consumer, Dropped, End, Error, FrameRecord, Pipeline, PipelineOptions};
use overtake::pipeline::{PipelineStatistics, Producer};
use overtake::task::{Lane, More};
use softgpu::{Fault, SoftGpu};

use super::{on, on_real_time};
use crate::bed;
use crate::failure::{Failure, Outcome, ensure, same};
use crate::faulty::Faulty;
use crate::memory::Pinned;
use crate::place::Buffer;
use crate::raw;
use crate::rig::Rig;

const PERIOD: Nanos = Nanos::from_ms(1);
/// The viewer takes this long for a frame.
const VIEW: Nanos = Nanos::from_us(3_500);
const FRAMES: u64 = 40;
/// Virtual time passes in calls too.
const SLACK: Nanos = Nanos::from_us(50);

fn options(behind: Behind, deadline: Option<Nanos>) -> PipelineOptions {
    let work_span = VIEW + SLACK;
    PipelineOptions { name: "camera".to_owned(), stages: 3, behind, deadline, work_span, ..PipelineOptions::default() }
}

/// The records of all frames in the order of their ends, and the counts.
fn overload(rig: &Rig, options: PipelineOptions) -> Result<(Vec<FrameRecord>, PipelineStatistics), Failure> {
    let bed = bed::open(rig)?;
    let (pipeline, mut producer, mut consumer) = Pipeline::open(&bed.tasks, options, |_| Ok(0_u64))?;
    let driver = Arc::clone(rig.shared_driver());
    let camera: HostThread<Result<(), Failure>> = rig.spawn("camera", move |_| {
        let (host, start) = (driver.host(), driver.host().now());
        for number in 0..FRAMES {
            host.sleep((start + Nanos(PERIOD.0 * number)).since(host.now()));
            let Some(mut frame) = producer.acquire()? else { continue };
            same("the frame's number", &frame.number(), &number)?;
            *frame.buffer_mut() = number;
            frame.commit()?;
        }
        Ok(())
    });
    loop {
        let frame = match consumer.wait() {
            Err(Error::Ended) => break,
            frame => frame?,
        };
        same("the contents of its buffer", &*frame.buffer(), &frame.number())?;
        rig.driver().host().sleep(VIEW);
        same("the contents afterwards", &*frame.buffer(), &frame.number())?;
        frame.release()?;
    }
    rig.join(camera)?;
    let statistics = pipeline.statistics();
    same("frames, and those under way", &(statistics.frames, statistics.under_way()), &(FRAMES, 0))?;
    Ok((pipeline.take_records(), statistics))
}

fn delivered(records: &[FrameRecord]) -> Vec<&FrameRecord> {
    records.iter().filter(|record| matches!(record.ended, Some((_, End::Delivered)))).collect()
}

/// The time from its capture until the viewer had it.
fn age(record: &FrameRecord) -> Nanos {
    record.taken.unwrap_or(Nanos::MAX).since(record.captured)
}

fn numbers(records: &[&FrameRecord]) -> Vec<u64> {
    records.iter().map(|record| record.number).collect()
}

/// Every frame comes, in order.
pub fn block_keeps_every_frame() -> Outcome {
    on(|rig| {
        let (records, counts) = overload(rig, options(Behind::Block, Some(Nanos::from_ms(5))))?;
        same("the frames", &numbers(&delivered(&records)), &(0..FRAMES).collect())?;
        ensure!(counts.late > 0, "a camera that waits is not late: {counts:?}");
        same("delivered", &counts.delivered, &FRAMES)
    })
}

/// In real time threads sleep until the other end wakes them.
pub fn sleepers_are_woken() -> Outcome {
    on_real_time(|rig| {
        let (records, counts) = overload(rig, options(Behind::Block, None))?;
        same("the frames", &numbers(&delivered(&records)), &(0..FRAMES).collect())?;
        same("delivered", &counts.delivered, &FRAMES)
    })
}

/// The frames that come while all stages are in use are dropped, and no others.
pub fn the_newest_is_dropped() -> Outcome {
    on(|rig| {
        let (records, counts) = overload(rig, options(Behind::DropNewest, None))?;
        let seen = delivered(&records);
        ensure!(seen.iter().map(|record| record.number).is_sorted(), "out of order: {records:?}");
        same("the first", &numbers(&seen)[..3].to_vec(), &vec![0, 1, 2])?;
        let dropped = records.iter().filter(|record| matches!(record.ended, Some((_, End::Dropped(Dropped::Full)))));
        same("dropped", &(dropped.count() as u64, counts.replaced, counts.overdue), &(counts.full, 0, 0))?;
        ensure!(counts.full >= FRAMES / 2, "the viewer is three times slower: {counts:?}");
        Ok(())
    })
}

/// The viewer gets the frames that have waited longest among the newest: as many as there are stages besides its own.
pub fn the_oldest_is_dropped() -> Outcome {
    on(|rig| {
        let (records, counts) = overload(rig, options(Behind::DropOldest, None))?;
        let seen = delivered(&records);
        ensure!(seen.iter().map(|record| record.number).is_sorted(), "out of order: {:?}", numbers(&seen));
        same("the last frames are kept", &numbers(&seen)[seen.len() - 2..].to_vec(), &vec![38, 39])?;
        ensure!(counts.replaced >= FRAMES / 2 && counts.full == 0, "{counts:?}");
        let oldest = seen[..seen.len() - 2].iter().map(|record| age(record)).max();
        ensure!(oldest <= Some(PERIOD + PERIOD + SLACK), "the queue has two frames: {oldest:?}");
        Ok(())
    })
}

/// Each frame that the viewer gets is the newest, and the drops are spread evenly.
pub fn only_the_latest_is_kept() -> Outcome {
    on(|rig| {
        let (records, counts) = overload(rig, options(Behind::LatestOnly, Some(Nanos::from_ms(8))))?;
        let seen = delivered(&records);
        // No newer frame comes after the last.
        let oldest = seen[..seen.len() - 1].iter().map(|record| age(record)).max();
        ensure!(oldest <= Some(PERIOD + SLACK), "a newer frame was there: {oldest:?}");
        let gaps = seen[..seen.len() - 1].windows(2).map(|pair| pair[1].number - pair[0].number);
        ensure!(gaps.clone().all(|gap| (3..=4).contains(&gap)), "uneven: {:?}", numbers(&seen));
        same("late, full, overdue", &(counts.late, counts.full, counts.overdue), &(0, 0, 0))?;
        same("the last", &numbers(&seen).last().copied(), &Some(FRAMES - 1))
    })
}

/// A frame that cannot be on time any more is dropped before its work begins; those that are delivered are on time.
pub fn the_overdue_is_dropped() -> Outcome {
    on(|rig| {
        for behind in [Behind::DropNewest, Behind::DropOldest] {
            let (records, counts) = overload(rig, options(behind, Some(Nanos::from_ms(5))))?;
            ensure!(counts.overdue > 0 && counts.late == 0, "{behind:?}: {counts:?}");
            let begun = records.iter().filter(|record| record.taken.is_some()).count() as u64;
            same("frames whose work began", &begun, &counts.delivered)?;
        }
        Ok(())
    })
}

/// A frame near its deadline has the next priority, and no more than that; without the option, its own.
pub fn a_deadline_raises() -> Outcome {
    on(|rig| {
        let bed = bed::open(rig)?;
        let at = |number| Priority::new(number).expect("a priority");
        for (own, within, expected) in [(3, Some(PERIOD), 4), (3, None, 3), (8, Some(PERIOD), 8)] {
            let options = PipelineOptions {
                priority: at(own),
                deadline: Some(Nanos::from_ms(5)),
                raise_within: within,
                ..PipelineOptions::default()
            };
            let (_pipeline, mut producer, mut consumer) = Pipeline::open(&bed.tasks, options, |_| Ok(()))?;
            let mut frame = producer.acquire()?.ok_or_else(|| Failure::new("it is free"))?;
            same("at first", &frame.priority(), &at(own))?;
            frame.captured_at(rig.driver().host().now());
            frame.commit()?;
            let frame = consumer.wait()?;
            rig.driver().host().sleep(Nanos::from_us(4_200));
            same("near its deadline", &frame.priority(), &at(expected))?;
            rig.driver().host().sleep(Nanos::from_ms(2));
            same("after its deadline", &frame.priority(), &at(expected))?;
        }
        Ok(())
    })
}

/// Cameras at random phases, of whose frames the places can do two thirds: drops are spread evenly over them, however
/// long they run, and each frame is the newest of its camera when it is admitted.
pub fn an_admission_drops_evenly() -> Outcome {
    let mut chance = 1_u64;
    let mut phase = |_| {
        chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        Nanos((chance >> 33) % PERIOD.0)
    };
    for (cameras, places) in [(4, 1), (5, 2), (8, 3), (16, 4)].repeat(3) {
        let phases: Vec<Nanos> = (0..cameras).map(&mut phase).collect();
        on(|rig| admit(rig, places, &phases))?;
    }
    Ok(())
}

/// Cameras that begin after these times share so many places.
fn admit(rig: &Rig, places: u32, phases: &[Nanos]) -> Outcome {
    let cameras = phases.len() as u64;
    let view = Nanos(PERIOD.0 * u64::from(places) * 3 / (2 * cameras));
    let (bed, admission) = (bed::open(rig)?, Admission::new(NonZeroU32::new(places).expect("some")));
    let mut working = Vec::new();
    for phase in phases.iter().copied() {
        let options = PipelineOptions { admission: Some(Arc::clone(&admission)), ..options(Behind::LatestOnly, None) };
        let (pipeline, mut producer, mut consumer) = Pipeline::open(&bed.tasks, options, |_| Ok(0_u64))?;
        let camera: HostThread<Outcome> = rig.spawn("camera", move |driver| {
            let (host, start) = (driver.host(), driver.host().now() + PERIOD + phase);
            for number in 0..FRAMES {
                host.sleep((start + Nanos(PERIOD.0 * number)).since(host.now()));
                producer.acquire()?.ok_or_else(|| Failure::new("the newest has a buffer"))?.commit()?;
            }
            Ok(())
        });
        let viewer: HostThread<Outcome> = rig.spawn("viewer", move |driver| {
            loop {
                match consumer.wait() {
                    Err(Error::Ended) => return Ok(()),
                    frame => {
                        let frame = frame?;
                        driver.host().sleep(view);
                        frame.release()?;
                    }
                }
            }
        });
        working.push((pipeline, camera, viewer));
    }
    let mut all = Vec::new();
    for (pipeline, camera, viewer) in working {
        rig.join(camera)?;
        rig.join(viewer)?;
        let records = pipeline.take_records();
        let oldest = delivered(&records).iter().map(|record| age(record)).max();
        // The last frame of a camera is not replaced, and waits for one of each of the others.
        ensure!(oldest <= Some(PERIOD + PERIOD + SLACK), "a newer frame was there: {oldest:?}");
        all.push(pipeline.statistics().delivered);
    }
    let (least, most) = (all.iter().min(), all.iter().max());
    ensure!(most.zip(least).is_some_and(|(most, least)| most - least <= 1), "uneven: {all:?}");
    let (delivered, most): (u64, u64) = (all.iter().sum(), cameras * FRAMES * 2 / 3);
    // Less at the beginning, while the cameras begin, and more at the end, when the last frames are still there.
    ensure!(delivered.abs_diff(most) <= 2 * cameras, "{delivered} of {most} that the places can do");
    Ok(())
}

/// A frame that a newer one may replace has no tasks before the viewer has it.
pub fn no_work_too_early() -> Outcome {
    on(|rig| {
        let bed = bed::open_with(rig, DispatchOptions::default())?;
        let (_pipeline, mut producer, _consumer) =
            Pipeline::open(&bed.tasks, options(Behind::LatestOnly, None), |_| Ok(()))?;
        let mut frame = producer.acquire()?.ok_or_else(|| Failure::new("it is free"))?;
        let refused = frame.task(bed.tasks.join("upload"));
        ensure!(matches!(refused, Err(Error::WorkTooEarly)), "{refused:?}");
        Ok(())
    })
}

/// An end waits for one whose thread the model does not know, or for itself: the error has the cure.
pub fn a_wait_without_end_is_told() -> Outcome {
    on(|rig| {
        let bed = bed::open(rig)?;
        let (_pipeline, _producer, mut consumer) =
            Pipeline::open(&bed.tasks, options(Behind::Block, None), |_| Ok(()))?;
        let told = consumer.wait().map(drop);
        ensure!(matches!(told, Err(Error::Stuck)), "{told:?}");
        ensure!(told.unwrap_err().to_string().contains("start it by hal::spawn"), "the cure");
        Ok(())
    })
}

/// One frame up, a kernel, and back, each as a task of the frame. Returns the errors that the two ends saw.
fn pass_frames(bed: &bed::Bed, line: &mut Line, memory: &Memory) -> Result<Vec<Error>, Failure> {
    let mut errors = Vec::new();
    let mut keep = |result: Result<(), Error>| match result {
        Err(Error::Stuck | Error::Ended) => Err(Failure::new("an end waits for ever, or has gone")),
        result => {
            errors.extend(result.err());
            Ok(())
        }
    };
    let device = memory.0;
    for _ in 0..4 {
        let add = bed.kernels.add.clone();
        let fill = |producer: &mut Producer<()>| {
            let Some(mut frame) = producer.try_acquire()? else { return Ok(()) };
            let source = Arc::clone(&memory.1);
            let upload = bed.tasks.upload("upload", move |lane: &mut Lane<'_>| {
                raw::upload(lane, device, &source, 4096)?;
                Ok(More::Done)
            });
            frame.task(upload)?;
            frame.commit()
        };
        keep(fill(&mut line.1))?;
        let empty = |consumer: &mut Consumer<()>| {
            let Some(mut frame) = consumer.wait_for(Nanos::from_ms(20).into())? else { return Ok(()) };
            let kernel = bed.tasks.kernel("add", move |lane: &mut Lane<'_>| {
                raw::word(lane, &add, device.at(0), 1)?;
                Ok(More::Done)
            });
            frame.task(kernel)?;
            frame.release()
        };
        keep(empty(&mut line.2))?;
    }
    bed.tasks.wait()?;
    Ok(errors)
}

type Memory = (Buffer, Arc<Pinned>);
type Line = (Pipeline<()>, Producer<()>, Consumer<()>);

/// Each call of the driver fails once while frames pass, and the device goes on or is lost: both ends go on or are
/// told, and every frame ends.
pub fn every_call_fails() -> Outcome {
    for is_lost in [false, true] {
        let (mut last, mut nth) = (1, 0);
        while nth <= last {
            let gpu = SoftGpu::builder().build();
            let driver: Arc<dyn Driver> = Arc::new(gpu.clone());
            let rig = Rig::new(&driver)?;
            let faulty = Faulty::new(&driver, if is_lost { Code::UNKNOWN } else { Code::OUT_OF_MEMORY });
            if is_lost {
                faulty.on_failure(move || gpu.inject(Fault::LoseDevice { device: 0 }));
            }
            let stand_in: Arc<dyn Driver> = Arc::clone(&faulty) as Arc<dyn Driver>;
            let bed = bed::open_on(&rig, &stand_in, DispatchOptions::default())?;
            let mut line = Pipeline::open(&bed.tasks, PipelineOptions::default(), |_| Ok(()))?;
            let memory = (rig.buffer(4096)?, rig.pinned(4096)?);
            faulty.fail(nth);
            let errors = pass_frames(&bed, &mut line, &memory);
            let calls = faulty.calls();
            faulty.fail(0);
            let told = |error: Failure| Failure::from_text(format!("call {nth}, {:?}: {error}", faulty.failed()));
            let errors = errors.map_err(told)?;
            last = if nth == 0 { calls } else { last };
            ensure!(nth > 0 || errors.is_empty(), "no call has failed: {errors:?}");
            // A frame whose task is not run ends with the function of that task, a moment after the task.
            let text = format!("call {nth}, {:?}", faulty.failed());
            bed::eventually(&rig, &text, || line.0.statistics().under_way() == 0)?;
            nth += 1;
        }
        ensure!(last > 20, "the frames make {last} calls only");
    }
    Ok(())
}
