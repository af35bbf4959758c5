//! Storms in real time while a driver call fails, which may be any.

use std::sync::Arc;

use hal::{Code, Driver};
use overtake::data::ArrayOptions;

use crate::bed;
use crate::checks::storms::{Beside, storm};
use crate::failure::{Failure, Outcome, ensure};
use crate::faulty::Faulty;
use crate::model::on_real_time;
use crate::prng::Prng;

/// Each opens a layer.
const PROGRAMS_FAULTY: u64 = 24;
/// A program makes about as many calls.
const CALLS: u64 = 600;

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
            let end = storm(rig, &bed.overtake, Beside::Faults, &Arc::default(), seed, begin);
            faulty.fail(0);
            failed += u64::from(faulty.failed().is_some());
            end.map_err(|error| Failure::from_text(format!("after {:?} has failed: {error}", faulty.failed())))
        });
        once.map_err(|error| Failure::from_text(format!("program {seed}, call {nth}: {error}")))?;
    }
    ensure!(failed > PROGRAMS_FAULTY / 2, "a call has failed in {failed} programs only");
    Ok(())
}
