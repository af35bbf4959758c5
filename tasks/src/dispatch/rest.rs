//! Waits until lanes are idle.

use copies::PriorityStream;
use hal::{Driver, Nanos, Stream};

/// The time between two looks at a lane that has to come to rest.
pub(crate) const LOOK_SPAN: Nanos = Nanos::from_us(20);
/// A stream that answers with so many errors one after another will not answer otherwise: its device is dead.
const ERRORS_MAX: u32 = 3;

/// Waits until the lanes are at rest. An error is that of a dead device.
pub(crate) fn rest(driver: &dyn Driver, lanes: &[PriorityStream]) -> hal::Result<()> {
    lanes.iter().try_for_each(|lane| {
        while !is_idle(driver, lane.raw())? {
            driver.host().sleep(LOOK_SPAN);
        }
        Ok(())
    })
}

/// Whether the stream has no work left. A single error says nothing.
pub(crate) fn is_idle(driver: &dyn Driver, stream: Stream) -> hal::Result<bool> {
    let mut errors = 0;
    loop {
        match driver.stream_query(stream) {
            Err(_) if errors + 1 < ERRORS_MAX => errors += 1,
            answer => return answer,
        }
    }
}
