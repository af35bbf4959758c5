//! Storms in real time, where threads run beside each other, and while a driver call fails, which may be any.

use std::sync::Arc;

use hal::{Code, Driver};
use overtake::data::ArrayOptions;

use crate::bed;
use crate::checks::shared;
use crate::checks::storms::{Beside, storm, storms};
use crate::failure::{Failure, Outcome, ensure};
use crate::faulty::Faulty;
use crate::model::on_real_time;
use crate::prng::Prng;

const PROGRAMS: u64 = 40;
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
