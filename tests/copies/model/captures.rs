//! A driver that fails to tell whether a stream captures.

use std::sync::Arc;

use hal::{Code, Device, Driver};
use overtake::Overtake;
use overtake::copy::{Plan, Reason};

use crate::checks::guard;
use crate::failure::{Outcome, ensure, same, same_bytes};
use crate::faulty::Faulty;
use crate::lane::level;
use crate::model::on;
use crate::raw;

const BYTES: u64 = 512 << 10;
/// More calls than a copy makes before its question.
const CALLS_MAX: u64 = 20;

/// Only the answer "not capturing" permits a copy to go another way than the program's. Any error does not: asking
/// about the legacy stream while another captures is an error, and so is a copy there.
pub fn doubt_is_a_capture() -> Outcome {
    on(
        |builder| builder,
        |_, rig| {
            let faulty = Faulty::new(rig.shared_driver(), Code::STREAM_CAPTURE_IMPLICIT);
            let driver: Arc<dyn Driver> = Arc::clone(&faulty) as Arc<dyn Driver>;
            let overtake = Overtake::open(&driver, Device(0), guard::options())?;
            let (low, _high) = (overtake.adopt(rig.stream()?, level(1))?, overtake.adopt(rig.stream()?, level(3))?);
            let (host, device) = (rig.pinned_of(&[6; BYTES as usize])?, rig.buffer(BYTES)?);
            for nth in 1..=CALLS_MAX {
                faulty.fail(nth);
                let copy = raw::htod(&low, device, &host, BYTES);
                faulty.fail(0);
                if faulty.failed() == Some("stream_capture_status") {
                    same("the plan", &copy?.plan(), &Plan::Native(Reason::Capturing))?;
                    return same_bytes("the bytes", &rig.download(device, low.raw())?, &[6; BYTES as usize]);
                }
                low.synchronize()?;
            }
            ensure!(false, "no copy asked whether its stream captures");
            Ok(())
        },
    )
}
