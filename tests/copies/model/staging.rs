//! Staged copies while driver calls fail: no hang, no leak, no wrong byte, no slot that is used twice.

use std::sync::Arc;

use hal::{Code, Device, Driver};
use overtake::copy::{Plan, Reason};
use overtake::{Overtake, PriorityStream};
use softgpu::SoftGpu;

use crate::bed;
use crate::checks::staging::{staging, warm_up};
use crate::failure::{Failure, Outcome, ensure, same, same_bytes};
use crate::faulty::{Faulty, INJECTED};
use crate::lane::level;
use crate::model::{Held, on};
use crate::place::Buffer;
use crate::prng::Prng;
use crate::raw;
use crate::rig::Rig;

const BYTES: u64 = 300_000;
/// A program that makes more calls never ends.
const CALLS_MAX: u64 = 2_000;

/// Copies there and back, once at each priority. A copy that has not failed has moved all its bytes.
fn program(streams: &[PriorityStream; 2], buffer: Buffer, prng: &mut Prng) -> Outcome {
    for stream in streams {
        let sent = prng.bytes(BYTES);
        let mut source = sent.clone();
        let there = raw::htod_pageable(stream, (buffer, 0), &source);
        source.fill(0x5a);
        let mut target = vec![0; BYTES as usize];
        let back = raw::dtoh_pageable(stream, &mut target, (buffer, 0));
        match (there, back) {
            (Ok(_), Ok(_)) => same_bytes("the bytes that came back", &target, &sent)?,
            (there, back) => {
                let errors = [there.err(), back.err()];
                let is_injected = |error: &hal::Error| error.to_string().contains(INJECTED);
                ensure!(errors.iter().flatten().all(is_injected), "{errors:?}");
            }
        }
    }
    Ok(())
}

/// Runs the program while the `nth` call fails, and again afterwards. Returns the number of calls.
fn once(gpu: &SoftGpu, rig: &Rig, nth: u64) -> Result<u64, Failure> {
    let faulty = Faulty::new(rig.shared_driver(), Code::OUT_OF_MEMORY);
    let driver: Arc<dyn Driver> = Arc::clone(&faulty) as Arc<dyn Driver>;
    let (own, buffer, mut prng) = ([rig.stream()?, rig.stream()?], rig.buffer(BYTES)?, Prng::new(50));
    let held = Held::by(gpu);
    let overtake = Overtake::open(&driver, Device(0), staging())?;
    warm_up(rig, &overtake, (own[0], buffer))?;
    let streams = [overtake.adopt(own[0], level(1))?, overtake.adopt(own[1], level(3))?];
    faulty.fail(nth);
    program(&streams, buffer, &mut prng)?;
    let calls = faulty.calls();
    faulty.fail(0);
    let at = |failure: Failure| Failure::from_text(format!("call {nth} ({:?}) failed: {failure}", faulty.failed()));
    program(&streams, buffer, &mut prng).map_err(at)?;
    bed::at_rest(rig, &overtake).map_err(at)?;
    drop((streams, overtake));
    rig.driver().context_synchronize()?;
    same("the objects after closing", &Held::by(gpu), &held).map_err(at)?;
    Ok(calls)
}

/// Fails every call of the program in turn, each on a new machine.
pub fn every_call() -> Outcome {
    let (mut calls, mut nth) = (CALLS_MAX, 0);
    while nth <= calls {
        let run = |gpu: &SoftGpu, rig: &Rig| {
            let made = once(gpu, rig, nth)?;
            calls = if nth == 0 { made } else { calls };
            Ok(())
        };
        on(|builder| builder, run)?;
        nth += 1;
    }
    ensure!((40..CALLS_MAX).contains(&calls), "the program makes {calls} calls");
    Ok(())
}

/// The device is lost at each call of the program in turn: no hang, and the driver's error.
pub fn device_is_lost() -> Outcome {
    let (mut lost, mut nth) = (true, 1);
    while lost && nth < CALLS_MAX {
        let run = |_: &SoftGpu, rig: &Rig| {
            let faulty = Faulty::new(rig.shared_driver(), Code::ILLEGAL_ADDRESS);
            let driver: Arc<dyn Driver> = Arc::clone(&faulty) as Arc<dyn Driver>;
            let (own, buffer, mut prng) = ([rig.stream()?, rig.stream()?], rig.buffer(BYTES)?, Prng::new(52));
            let overtake = Overtake::open(&driver, Device(0), staging())?;
            // Every other time the slots are being made meanwhile.
            let is_warm = nth % 2 == 1;
            if is_warm {
                warm_up(rig, &overtake, (own[0], buffer))?;
            }
            let streams = [overtake.adopt(own[0], level(1))?, overtake.adopt(own[1], level(3))?];
            faulty.fail_for_good(nth);
            let at = |failure: Failure| Failure::from_text(format!("call {nth} ({:?}): {failure}", faulty.failed()));
            program(&streams, buffer, &mut prng).map_err(at)?;
            lost = !is_warm || faulty.failed().is_some();
            drop((streams, overtake));
            Ok(())
        };
        on(|builder| builder, run)?;
        nth += 3;
    }
    ensure!(nth > 40, "the program makes {nth} calls");
    Ok(())
}

/// Where no memory can be pinned, the driver makes every copy, and the reason is counted.
pub fn nothing_can_be_pinned() -> Outcome {
    on(
        |builder| builder,
        |_, rig| {
            let faulty = Faulty::new(rig.shared_driver(), Code::OUT_OF_MEMORY);
            let driver: Arc<dyn Driver> = Arc::clone(&faulty) as Arc<dyn Driver>;
            let overtake = Overtake::open(&driver, Device(0), staging())?;
            let stream = overtake.adopt(rig.stream()?, level(1))?;
            faulty.refuse(&["host_register"]);
            let (buffer, sent) = (rig.buffer(BYTES)?, Prng::new(51).bytes(BYTES));
            for _ in 0..3 {
                let handle = raw::htod_pageable(&stream, (buffer, 0), &sent)?;
                same("the plan", &handle.plan(), &Plan::Native(Reason::Unstaged))?;
                let mut target = vec![0; BYTES as usize];
                raw::dtoh_pageable(&stream, &mut target, (buffer, 0))?;
                same_bytes("there and back", &target, &sent)?;
            }
            let expected = registered_to_open(rig)?;
            bed::eventually(rig, "it is asked for", || faulty.made()["host_register"] >= expected)?;
            raw::htod_pageable(&stream, (buffer, 0), &sent)?;
            same("asked for once", &faulty.made()["host_register"], &expected)?;
            same("copies counted", &overtake.statistics().native[&Reason::Unstaged].copies, &7)
        },
    )
}

/// The registrations of a layer that stages nothing, and one more.
fn registered_to_open(rig: &Rig) -> Result<u64, Failure> {
    let faulty = Faulty::new(rig.shared_driver(), Code::OUT_OF_MEMORY);
    let driver: Arc<dyn Driver> = Arc::clone(&faulty) as Arc<dyn Driver>;
    drop(Overtake::open(&driver, Device(0), staging())?);
    Ok(faulty.made()["host_register"] + 1)
}
