//! Random programs in processes of their own, with everything at once: threads whose functions own handles, submit and
//! fail; accesses that time out; ends; forks; signals; and in the last program of each process an exit, with all of
//! that pending. Nothing hangs, no object is left, and the bytes are right.

use std::sync::Arc;
use std::time::Instant;

use hal::{Driver, Nanos};
use overtake::Overtake;
use softgpu::SoftGpu;
use testkit::alone::{again, is_here};
use testkit::fixture::signals::Signals;

use crate::arm::Arm;
use crate::bed;
use crate::checks::moments::{self, CODE, Moments};
use crate::checks::shared;
use crate::checks::storms::{Beside, storm};
use crate::failure::{Failure, Outcome, ensure};
use crate::machine::{self, Held};
use crate::rig::Rig;

/// `STORM_PROGRAMS` is another number of them, and `STORM_FIRST` the first.
const PROGRAMS: u64 = 48;
const PROGRAMS_REAL: u64 = 16;
const A_PROCESS: u64 = 8;
/// Objects that the layer makes when it first needs them, and keeps: so many at most, after any number of programs.
const OF_THE_LAYER: u64 = 32;
/// The same in bytes of a real device's memory, of which others may have some.
const BYTES_OF_THE_LAYER: u64 = 64 << 20;

fn number(name: &str, otherwise: u64) -> Result<u64, Failure> {
    match std::env::var(name) {
        Ok(text) => text.parse().map_err(|_| Failure::from_text(format!("{name} is {text}, and no number"))),
        Err(_) => Ok(otherwise),
    }
}

pub fn end_at_any_time(rig: &Rig) -> Outcome {
    let arm = Arm::from_environment().map_err(Failure::from_text)?;
    let test = format!("{}::processes::end_at_any_time", arm.name());
    let usual = if arm == Arm::Soft { PROGRAMS } else { PROGRAMS_REAL };
    let (first, programs) = (number("STORM_FIRST", 0)?, number("STORM_PROGRAMS", usual)?);
    if is_here(&test) {
        return match arm {
            Arm::Soft => {
                machine::on(crate::model::real_time_model, |gpu, rig| process(rig, Some(gpu), first, programs))
            }
            Arm::Cuda => process(rig, None, first, programs),
        };
    }
    let (start, mut figures) = (Instant::now(), [0; 2]);
    for begin in (first..first + programs).step_by(A_PROCESS as usize) {
        let count = A_PROCESS.min(first + programs - begin).to_string();
        let (end, said) = again(&test, &[("STORM_FIRST", &begin.to_string()), ("STORM_PROGRAMS", &count)]);
        ensure!(end.is_some_and(|end| end.code() == Some(CODE)), "programs from {begin} on: {end:?}\n{said}");
        figures_of(&said, &mut figures);
        let done = begin + A_PROCESS - first;
        if programs > usual && done.is_multiple_of(25 * A_PROCESS) {
            let [forks, signals] = figures;
            println!("{done} programs, {forks} forks, {signals} signals, {} s", start.elapsed().as_secs());
        }
    }
    ensure!(figures.iter().all(|figure| *figure > 0), "no fork or no signal: {figures:?}");
    Ok(())
}

/// Adds the figures that a process has told.
fn figures_of(said: &str, figures: &mut [u64; 2]) {
    let line = said.lines().rfind(|line| line.ends_with(" signals")).unwrap_or_default();
    let told = line.split_whitespace().filter_map(|word| word.parse::<u64>().ok());
    figures.iter_mut().zip(told).for_each(|(figure, told)| *figure += told);
}

/// So many programs, of which the last exits in the middle.
fn process(rig: &Rig, gpu: Option<&SoftGpu>, first: u64, programs: u64) -> Outcome {
    let bed = bed::open(rig)?;
    let signals = Signals::start(first);
    program(rig, &bed.overtake, first, &Moments::default().into())?;
    let before = held(rig.driver(), gpu)?;
    for seed in first..first + programs {
        let moments = Arc::new(Moments::of(seed, seed + 1 == first + programs));
        let end = program(rig, &bed.overtake, seed, &moments).and_then(|()| nothing_is_left(rig, gpu, before));
        end.map_err(|error| Failure::from_text(format!("program {seed}: {error}")))?;
    }
    drop(signals);
    moments::exit(None)
}

/// Threads with arrays of their own, beside a close or not, and then with arrays that they share.
fn program(rig: &Rig, overtake: &Arc<Overtake>, seed: u64, moments: &Arc<Moments>) -> Outcome {
    let beside = if seed.is_multiple_of(2) { Beside::Close } else { Beside::Nothing };
    storm(rig, overtake, beside, moments, seed, || ())?;
    shared::program(rig, overtake, seed, moments)?;
    moments.outcome()
}

/// The objects of a model, or the bytes of a device that are in use.
fn held(driver: &dyn Driver, gpu: Option<&SoftGpu>) -> Result<u64, Failure> {
    match gpu {
        Some(gpu) => Ok(Held::by(gpu).sum() as u64),
        None => {
            let (free, all) = driver.mem_info()?;
            Ok(all - free)
        }
    }
}

fn nothing_is_left(rig: &Rig, gpu: Option<&SoftGpu>, before: u64) -> Outcome {
    let most = before + if gpu.is_some() { OF_THE_LAYER } else { BYTES_OF_THE_LAYER };
    // A thread of the library closes the dispatcher that a function has dropped.
    let (driver, host) = (rig.driver(), rig.driver().host());
    let mut is_gone = || held(driver, gpu).is_ok_and(|now| now <= most);
    host.wait_until(Some(host.now() + Nanos::from_ms(10_000)), &mut is_gone);
    let now = held(driver, gpu)?;
    ensure!(now <= most, "{before} objects or bytes have become {now}: {:?}", gpu.map(Held::by));
    Ok(())
}
