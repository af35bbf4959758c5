//! Sets of the program, beside copies and kernels.

use hal::Nanos;

use crate::bed;
use crate::checks::guard;
use crate::failure::{Outcome, ensure, same_bytes};
use crate::rig::Rig;

/// A set is a kernel: on a full device it waits for a multiprocessor.
pub fn wait_for_room(rig: &Rig) -> Outcome {
    let overtake = bed::open(rig, guard::options())?;
    let filled = guard::Filled::new(rig, &overtake)?;
    let (buffer, stream, word) = (rig.buffer_of(&[0; 64])?, rig.stream()?, rig.word());
    // A first set may wait for the whole device, in its call.
    rig.driver().memset_d8_async(buffer.at(0), 1, 64, stream)?;
    rig.settle(stream)?;
    filled.begin_until(word.address, 0, 0)?;
    rig.driver().memset_d8_async(buffer.at(0), 2, 64, stream)?;
    rig.driver().host().sleep(Nanos::from_ms(2));
    let is_done = rig.driver().stream_query(stream)?;
    word.store(1);
    filled.end(0)?;
    ensure!(!is_done, "a set on a full device");
    rig.settle(stream)?;
    same_bytes("the set", &rig.download(buffer, stream)?, &[2; 64])
}
