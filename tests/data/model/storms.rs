//! Storms in real time, where threads run beside each other, and while a driver call fails, which may be any.

use std::sync::Arc;

use hal::{Code, Driver, Nanos};
use overtake::data::ArrayOptions;

use crate::bed::{self, Bed};
use crate::checks::shared;
use crate::checks::storms::{Beside, storm, storms};
use crate::failure::{Failure, Outcome, ensure};
use crate::faulty::Faulty;
use crate::machine::{self, Held};
use crate::model::{on_real_time, real_time_model};
use crate::prng::Prng;
use crate::rig::Rig;

const PROGRAMS: u64 = 40;
const PROGRAMS_COUNTED: u64 = 24;
/// Objects that the layer makes when it first needs them, and keeps: so many at most, after any number of programs.
const OF_THE_LAYER: usize = 32;
/// Each opens a layer.
const PROGRAMS_FAULTY: u64 = 24;
/// A program makes about as many calls.
const CALLS: u64 = 600;

/// Also while the dispatcher is closed.
pub fn in_real_time() -> Outcome {
    on_real_time(|rig| {
        let bed = bed::open(rig)?;
        storms(rig, &bed.overtake, Beside::Nothing, PROGRAMS)?;
        storms(rig, &bed.overtake, Beside::Close, PROGRAMS)?;
        shared::programs(rig, &bed.overtake, PROGRAMS)
    })
}

/// Everything at once, a program after another, of which no object is left: `STORM_PROGRAMS` is another number of them,
/// and `STORM_FIRST` the first.
pub fn everything() -> Outcome {
    let number = |name, otherwise| match std::env::var(name) {
        Ok(text) => text.parse().map_err(|_| Failure::from_text(format!("{name} is {text}, and no number"))),
        Err(_) => Ok(otherwise),
    };
    let (first, programs): (u64, u64) = (number("STORM_FIRST", 0)?, number("STORM_PROGRAMS", PROGRAMS_COUNTED)?);
    machine::on(real_time_model, |gpu, rig| {
        let bed = bed::open(rig)?;
        counted(rig, &bed, 0)?;
        let before = Held::by(gpu).sum();
        (first..first + programs).try_for_each(|seed| {
            counted(rig, &bed, seed).map_err(|error| Failure::from_text(format!("program {seed}: {error}")))?;
            if seed % 100 == 99 && programs > PROGRAMS_COUNTED {
                println!("{} programs, {} MiB", seed + 1 - first, resident_kib() / 1024);
            }
            // A thread of the library closes the dispatcher that a function has dropped.
            let host = rig.driver().host();
            let end = host.now() + Nanos::from_ms(10_000);
            host.wait_until(Some(end), &mut || Held::by(gpu).sum() <= before + OF_THE_LAYER);
            let left = Held::by(gpu);
            ensure!(left.sum() <= before + OF_THE_LAYER, "program {seed}: {before} objects have become {left:?}");
            Ok(())
        })
    })
}

/// Threads with arrays of their own, beside a close or not, and then with arrays that they share.
fn counted(rig: &Rig, bed: &Bed, seed: u64) -> Outcome {
    let beside = if seed.is_multiple_of(2) { Beside::Close } else { Beside::Nothing };
    storm(rig, &bed.overtake, beside, seed, || ())?;
    shared::program(rig, &bed.overtake, seed)
}

/// The memory of this process.
fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// One call fails, or all do from one on, as when the device is lost.
pub fn calls_fail() -> Outcome {
    let (mut prng, mut failed) = (Prng::new(1), 0);
    for seed in 0..PROGRAMS_FAULTY {
        let nth = 1 + prng.below(CALLS);
        let once = on_real_time(|rig| {
            let faulty = Faulty::new(rig.shared_driver(), Code::INVALID_VALUE);
            let driver: Arc<dyn Driver> = Arc::clone(&faulty) as Arc<dyn Driver>;
            let bed = bed::open_with(rig, &driver, ArrayOptions::default())?;
            let begin = || if seed % 4 == 0 { faulty.fail_for_good(nth) } else { faulty.fail(nth) };
            let end = storm(rig, &bed.overtake, Beside::Faults, seed, begin);
            faulty.fail(0);
            failed += u64::from(faulty.failed().is_some());
            end.map_err(|error| Failure::from_text(format!("after {:?} has failed: {error}", faulty.failed())))
        });
        once.map_err(|error| Failure::from_text(format!("program {seed}, call {nth}: {error}")))?;
    }
    ensure!(failed > PROGRAMS_FAULTY / 2, "a call has failed in {failed} programs only");
    Ok(())
}
