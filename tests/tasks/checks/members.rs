//! Several members fill a frame of a pipeline, and several empty it.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use hal::Nanos;
use overtake::heap::{Heap, HeapOptions, Space};
use overtake::pipeline::{Behind, Error, Member, Pipeline, PipelineOptions, Refused, Role, StageBuffer};
use overtake::task::{Lane, More, Tasks};

use crate::bed::{self, Bed, Kernels};
use crate::failure::{Failure, Outcome, ensure, same};
use crate::raw;
use crate::rig::Rig;

const BYTES: u64 = 4 << 10;
const FRAMES: u64 = 12;

fn options(stages: u8) -> PipelineOptions {
    PipelineOptions { name: "wall".to_owned(), stages, ..PipelineOptions::default() }
}

/// The tasks and kernels of a part.
#[derive(Clone)]
struct Tools {
    tasks: Tasks,
    kernels: Kernels,
    is_handed_over: bool,
}

/// The word of a frame that one producer writes.
fn value(frame: u64, part: usize) -> u32 {
    frame as u32 * 100 + part as u32
}

/// One part of a frame: a word goes up, behind a kernel that takes a while.
fn fill(member: &mut Member<StageBuffer>, part: usize, tools: &Tools) -> Result<u64, Failure> {
    let mut frame = member.acquire()?;
    let number = frame.number();
    raw::nth_word(&frame.buffer(), part).store(value(number, part), Ordering::Release);
    let (request, spin) = (raw::word_of(&frame.buffer(), part).0, tools.kernels.spin.clone());
    frame.task(tools.tasks.upload("upload", move |lane: &mut Lane<'_>| {
        raw::spin(lane, &spin, Nanos::from_us(30 * part as u64))?;
        raw::frame(lane, &request)?;
        Ok(More::Done)
    }))?;
    if tools.is_handed_over {
        frame.hand_over()?
    } else {
        frame.commit()?
    }
    Ok(number)
}

/// One consumer's part: 50 more on the device, and back.
fn empty(member: &mut Member<StageBuffer>, part: usize, tools: &Tools) -> Result<u64, Error> {
    let mut frame = member.wait()?;
    let (number, at) = (frame.number(), frame.buffer().device().offset(4 * part as u64));
    let (request, add) = (raw::word_of(&frame.buffer(), part).1, tools.kernels.add.clone());
    let add = frame.task(tools.tasks.kernel("add", move |lane: &mut Lane<'_>| {
        raw::word(lane, &add, at, 50)?;
        Ok(More::Done)
    }))?;
    let down = tools.tasks.download("download", move |lane: &mut Lane<'_>| {
        raw::frame(lane, &request)?;
        Ok(More::Done)
    });
    frame.task(down.after(&add))?.wait()?;
    let seen = raw::nth_word(&frame.buffer(), part).load(Ordering::Acquire);
    assert_eq!(seen, value(number, part) + 50, "word {part} of frame {number}");
    frame.release()?;
    Ok(number)
}

/// The frames of one member until there are none any more, as both of its roles.
fn works(mut member: Member<StageBuffer>, part: usize, parts: usize, tools: &Tools) -> Outcome {
    let role = member.role();
    for number in 0..FRAMES {
        if role.produces() {
            same("the frame that is filled", &fill(&mut member, part, tools)?, &number)?;
        }
        if role.consumes() {
            // A member of both roles looks at the word of another one.
            let part = if role == Role::Both { (part + 1) % parts } else { part };
            same("the frame that is emptied", &empty(&mut member, part, tools)?, &number)?;
        }
    }
    if role == Role::Consumer {
        ensure!(matches!(member.wait(), Err(Error::Ended)), "all producers have gone");
    }
    Ok(())
}

fn tools(bed: &Bed, is_handed_over: bool) -> Tools {
    Tools { tasks: bed.tasks.clone(), kernels: bed.kernels.clone(), is_handed_over }
}

fn heaps(bed: &Bed) -> Result<[Heap; 2], Failure> {
    let heap = |space| Heap::open_beside(&bed.overtake, space, HeapOptions::default());
    Ok([heap(Space::Pinned)?, heap(Space::Device)?])
}

/// Frames of members with these roles come with all their words, and are counted once.
fn carry(rig: &Rig, roles: &[Role], stages: u8, is_handed_over: bool) -> Outcome {
    let bed = bed::open(rig)?;
    let [pinned, device] = heaps(&bed)?;
    let make = |_| Ok(StageBuffer::new(&pinned, &device, BYTES)?);
    let (pipeline, members) = Pipeline::with_members(&bed.tasks, options(stages), roles, make)?;
    let (mut parts, mut threads) = ([0, 0], Vec::new());
    for member in members {
        let own = &mut parts[usize::from(member.role() == Role::Consumer)];
        let (part, all, tools) = (*own, roles.len(), tools(&bed, is_handed_over));
        *own += 1;
        threads.push(rig.spawn("member", move |_| works(member, part, all, &tools)));
    }
    threads.into_iter().try_for_each(|thread| rig.join(thread))?;
    bed.tasks.wait()?;
    let counts = pipeline.statistics();
    same("frames", &(counts.frames, counts.delivered, counts.under_way()), &(FRAMES, FRAMES, 0))?;
    let numbers: Vec<u64> = pipeline.take_records().iter().map(|record| record.number).collect();
    same("the order of the records", &numbers, &(0..FRAMES).collect())
}

pub fn partitioned(rig: &Rig) -> Outcome {
    use Role::{Consumer, Producer};
    carry(rig, &[Producer, Producer, Producer, Consumer, Consumer, Consumer], 2, false)?;
    carry(rig, &[Producer, Producer, Consumer], 1, true)
}

pub fn unified(rig: &Rig) -> Outcome {
    carry(rig, &[Role::Both; 3], 2, false)?;
    carry(rig, &[Role::Both; 2], 1, true)
}

/// The tasks of a consumer come after those of all producers that have handed the frame over.
pub fn handed_over(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let roles = [Role::Producer, Role::Producer, Role::Consumer];
    let (_pipeline, members) = Pipeline::with_members(&bed.tasks, options(1), &roles, |_| Ok(()))?;
    let [mut slow, mut quick, mut viewer] = <[_; 3]>::try_from(members).expect("three");
    let spin = |member: &mut Member<()>, span| {
        let (mut part, spin) = (member.acquire()?, bed.kernels.spin.clone());
        let task = part.task(bed.tasks.kernel("spin", move |lane: &mut Lane<'_>| {
            raw::spin(lane, &spin, span)?;
            Ok(More::Done)
        }))?;
        part.hand_over()?;
        Ok::<_, Error>(task)
    };
    let (long, _short) = (spin(&mut slow, Nanos::from_ms(2))?, spin(&mut quick, Nanos::ZERO)?);
    let (mut frame, seen) = (viewer.wait()?, Arc::new(Mutex::new(None)));
    ensure!(!long.is_done(), "the frame came late");
    let at = Arc::clone(&seen);
    let view = bed.tasks.host("view", move || {
        *hal::locks::lock(&at) = Some(long.is_done());
        Ok(())
    });
    frame.task(view)?.wait()?;
    same("whether the long kernel had ended", &*hal::locks::lock(&seen), &Some(true))
}

/// A frame is delivered when all consumers have released it, and its stage is free then.
pub fn released_by_all(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let roles = [Role::Producer, Role::Consumer, Role::Consumer];
    let (pipeline, members) = Pipeline::with_members(&bed.tasks, options(1), &roles, |_| Ok(()))?;
    let [mut producer, mut first, mut second] = <[_; 3]>::try_from(members).expect("three");
    producer.acquire()?.commit()?;
    first.wait()?.release()?;
    ensure!(producer.try_acquire()?.is_none(), "the second has not released it");
    same("delivered", &pipeline.statistics().delivered, &0)?;
    second.wait()?.release()?;
    same("delivered", &pipeline.statistics().delivered, &1)?;
    // The same where the release of the first comes with the end of a task.
    producer.acquire()?.commit()?;
    let mut frame = first.wait()?;
    frame.task(bed.tasks.host("view", || Ok(())))?;
    frame.release()?;
    bed.tasks.wait()?;
    same("delivered", &pipeline.statistics().delivered, &1)?;
    second.wait()?.release()?;
    same("delivered", &pipeline.statistics().delivered, &2)?;
    // A part that is given up comes again, and a member that goes is waited for no more.
    drop(producer.acquire()?);
    let part = producer.acquire()?;
    same("the same frame", &part.number(), &2)?;
    part.commit()?;
    first.wait()?.release()?;
    same("delivered", &pipeline.statistics().delivered, &2)?;
    drop(second);
    same("delivered", &pipeline.statistics().delivered, &3)?;
    producer.acquire()?.commit()?;
    same("given up", &pipeline.statistics().given_up, &0)?;
    drop(first);
    ensure!(matches!(producer.acquire(), Err(Error::Ended)), "all consumers have gone");
    Ok(())
}

/// Each peer hears of a failure, and goes on with the next frame.
pub fn failures(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let roles = [Role::Producer, Role::Producer, Role::Consumer, Role::Consumer];
    let (pipeline, members) = Pipeline::with_members(&bed.tasks, options(2), &roles, |_| Ok(()))?;
    let [mut one, mut other, mut first, mut second] = <[_; 4]>::try_from(members).expect("four");
    for has_failed in [true, false] {
        let mut part = one.acquire()?;
        if has_failed {
            part.task(bed.tasks.upload("upload", |_: &mut Lane<'_>| Err("the cable is out".into())))?;
        }
        part.commit()?;
        other.acquire()?.commit()?;
    }
    for member in [&mut first, &mut second] {
        let error = member.wait().unwrap_err().to_string();
        let expected = "frame 0 of pipeline \"wall\" failed: task \"upload\" failed: the cable is out";
        same("the error", &error.as_str(), &expected)?;
    }
    let mut frame = first.wait()?;
    frame.task(bed.tasks.kernel("infer", |_: &mut Lane<'_>| Err("no model".into())))?;
    frame.release()?;
    second.wait()?.release()?;
    for member in [&mut one, &mut other] {
        member.acquire()?.commit()?;
    }
    for member in [&mut one, &mut other] {
        let error = member.acquire().unwrap_err().to_string();
        same("the error", &error.as_str(), &"frame 1 of pipeline \"wall\" failed: task \"infer\" failed: no model")?;
        member.acquire()?.commit()?;
    }
    for number in [2, 3] {
        for member in [&mut first, &mut second] {
            let frame = member.wait()?;
            same("the frame", &frame.number(), &number)?;
            frame.release()?;
        }
    }
    let counts = pipeline.statistics();
    same("counts", &(counts.frames, counts.delivered, counts.failed, counts.under_way()), &(4, 2, 2, 0))
}

/// Calls that make no sense change nothing.
pub fn refused(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let drops = PipelineOptions { behind: Behind::LatestOnly, ..options(2) };
    let error = Pipeline::with_members(&bed.tasks, drops, &[Role::Both], |_| Ok(())).unwrap_err().to_string();
    ensure!(error.contains("Behind::Block"), "{error}");
    let roles = [Role::Producer, Role::Both];
    let (_pipeline, members) = Pipeline::with_members(&bed.tasks, options(1), &roles, |_| Ok(()))?;
    let [mut producer, mut both] = <[_; 2]>::try_from(members).expect("two");
    let is = |answer: Result<(), Error>, refused| matches!(answer, Err(Error::Refused(why)) if why == refused);
    ensure!(is(producer.wait().map(drop), Refused::NotConsumer), "a producer waits");
    ensure!(is(both.wait().map(drop), Refused::OwnCommit), "it waits for itself");
    both.acquire()?.commit()?;
    ensure!(is(both.try_acquire().map(drop), Refused::OwnRelease), "it waits for itself");
    producer.acquire()?.commit()?;
    both.wait()?.release()?;
    Ok(())
}

/// The waits of members end in time, and their futures wake.
pub fn futures(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let roles = [Role::Producer, Role::Producer, Role::Consumer];
    let (_pipeline, members) = Pipeline::with_members(&bed.tasks, options(1), &roles, |_| Ok(()))?;
    let [mut one, mut other, mut viewer] = <[_; 3]>::try_from(members).expect("three");
    let span = Nanos::from_us(300);
    ensure!(viewer.wait_for(span.into())?.is_none() && viewer.try_wait()?.is_none(), "there is no frame");
    let driver = Arc::clone(rig.shared_driver());
    let camera = rig.spawn("camera", move |_| {
        for number in 0..FRAMES {
            // In turn the future finds a stage that the other has begun with, and waits for one that is not free.
            if number % 2 == 0 {
                one.acquire()?.commit()?;
                driver.host().sleep(Nanos::from_us(50));
            }
            super::pipelines::block_on(&*driver, other.acquire_async())?.commit()?;
            if number % 2 == 1 {
                one.acquire()?.commit()?;
            }
        }
        Ok(())
    });
    for number in 0..FRAMES {
        let frame = super::pipelines::block_on(rig.driver(), viewer.wait_async())?;
        same("the frame's number", &frame.number(), &number)?;
        frame.release()?;
    }
    rig.join(camera)?;
    ensure!(matches!(viewer.wait_for(span.into()), Err(Error::Ended)), "all producers have gone");
    Ok(())
}
