//! Bulk gives way while a more urgent copy is expected, and only then.

use overtake::copy::{Plan, Reason};
use overtake::options::Transport;
use overtake::{Direction, Expected, PriorityStream};

use crate::bed::{self, DIRECTIONS};
use crate::failure::{Failure, Outcome, ensure, same};
use crate::lane::level;
use crate::raw;
use crate::rig::Rig;
use crate::streams::Streams;

const BULK_BYTES: u64 = 512 << 10;
const URGENT_BYTES: u64 = 64 << 10;
const ALONE: Plan = Plan::Native(Reason::Alone);
const BY_KERNEL: Plan = Plan::Kernel { raises: false };

/// The urgent stream is quiet.
fn streams(rig: &Rig, transport: Transport) -> Result<Streams<'_>, Failure> {
    let overtake = bed::open(rig, bed::transport(transport))?;
    let urgent = overtake.adopt_quiet(rig.stream()?, level(3))?;
    Streams::new(rig, overtake, urgent, BULK_BYTES)
}

impl Streams<'_> {
    fn expect(&self, priority: u8, direction: Option<Direction>) -> Result<Expected, Failure> {
        Ok(self.overtake.expect(level(priority), direction)?)
    }

    /// The plans of two copies, to the device and to the host.
    fn plans(&self, stream: &PriorityStream, bytes: u64) -> Result<[Plan; 2], Failure> {
        let plans = [
            raw::htod(stream, self.device, &self.host, bytes)?.plan(),
            raw::dtoh(stream, &self.host, self.device, bytes)?.plan(),
        ];
        stream.synchronize()?;
        bed::at_rest(self.rig, &self.overtake)?;
        Ok(plans)
    }

    fn bulk_goes(&self, when: &str, plans: [Plan; 2]) -> Outcome {
        same(when, &self.plans(&self.bulk, BULK_BYTES)?, &plans)
    }
}

/// Bulk is alone before the first expectation and after the last, in each order in which two owners end.
pub fn two_owners(rig: &Rig) -> Outcome {
    for (transport, armed) in [(Transport::Kernel, BY_KERNEL), (Transport::Engine, Plan::Engine { raises: false })] {
        let bed = streams(rig, transport)?;
        for ends_in_order in [true, false] {
            bed.bulk_goes("bulk beside a quiet stream", [ALONE; 2])?;
            let owners = (bed.expect(3, None)?, bed.expect(2, None)?);
            bed.bulk_goes("bulk with two expectations", [armed; 2])?;
            let (first, last) = if ends_in_order { owners } else { (owners.1, owners.0) };
            drop(first);
            bed.bulk_goes("bulk with one of them", [armed; 2])?;
            drop(last);
        }
        bed.bulk_goes("bulk after the last", [ALONE; 2])?;
    }
    Ok(())
}

/// An expectation one way leaves bulk the other way alone. One between devices concerns none.
pub fn by_direction(rig: &Rig) -> Outcome {
    let bed = streams(rig, Transport::Kernel)?;
    for (direction, plans) in DIRECTIONS.into_iter().zip([[BY_KERNEL, ALONE], [ALONE, BY_KERNEL]]) {
        let expected = bed.expect(3, Some(direction))?;
        bed.bulk_goes("bulk while copies one way are expected", plans)?;
        let both = bed.expect(3, None)?;
        bed.bulk_goes("bulk while copies both ways are expected", [BY_KERNEL; 2])?;
        drop(both);
        bed.bulk_goes("bulk while copies one way are still expected", plans)?;
        drop(expected);
        bed.bulk_goes("bulk when none is expected", [ALONE; 2])?;
    }
    let _peer = bed.expect(3, Some(Direction::Peer))?;
    bed.bulk_goes("bulk while copies between devices are expected", [ALONE; 2])
}

/// A copy that was not expected is made as an urgent one, and arms no bulk after it. Bulk on a quiet stream is beside
/// an urgent copy only as its owner says.
pub fn quiet_streams(rig: &Rig) -> Outcome {
    let bed = streams(rig, Transport::Kernel)?;
    let urgent = "urgent copies that nothing expects";
    same(urgent, &bed.plans(&bed.urgent, URGENT_BYTES)?, &[Plan::Urgent; 2])?;
    same(urgent, &bed.plans(&bed.urgent, URGENT_BYTES)?, &[Plan::Urgent; 2])?;
    bed.bulk_goes("bulk after them", [ALONE; 2])?;
    let quiet = bed.overtake.quiet_stream(level(1))?;
    drop(bed.bulk);
    let bed = Streams { bulk: quiet, ..bed };
    same("urgent copies beside no other stream", &bed.plans(&bed.urgent, URGENT_BYTES)?, &[ALONE; 2])?;
    let _bulk = bed.expect(1, None)?;
    bed.bulk_goes("bulk that is expected, beside nothing", [ALONE; 2])?;
    same("urgent copies beside that", &bed.plans(&bed.urgent, URGENT_BYTES)?, &[Plan::Urgent; 2])?;
    let _urgent = bed.expect(3, None)?;
    bed.bulk_goes("bulk with both expected", [BY_KERNEL; 2])?;
    drop(bed.overtake.adopt(rig.stream()?, level(3))?);
    bed.bulk_goes("bulk after an announcing stream has closed", [BY_KERNEL; 2])
}

/// Only priorities that exist can be expected.
pub fn unknown_priorities(rig: &Rig) -> Outcome {
    let bed = streams(rig, Transport::Kernel)?;
    let refused = bed.overtake.expect(level(4), None).err().map(|error| error.code());
    same("an expectation of priority 4 of 3", &refused, &Some(hal::Code::INVALID_VALUE))?;
    ensure!(bed.overtake.quiet_stream(level(4)).is_err(), "a quiet stream has a priority that does not exist");
    bed.bulk_goes("bulk after that", [ALONE; 2])
}
