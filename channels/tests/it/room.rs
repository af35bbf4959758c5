//! The number of operations that a channel lets stand in its stream, at any value of its count.

use hal::Code;
use overtake_channels::{ChannelOptions, Refusal};
use priority::Priority;
use semaphores::EmulationKind;

use crate::support::Bed;

const QUEUED_MAX: u32 = 100;
const CHUNKS: u64 = 400;

/// A channel that stands still takes no more than its limit, and a moving one takes everything.
#[test]
fn no_more_stands_there_than_may_wherever_the_count_wraps() {
    for counted_from in [0, 0x7fff_ffff - 50, 0x7fff_ffff, u32::MAX - 50, u32::MAX] {
        let bed = Bed::new(ChannelOptions { queued_max: QUEUED_MAX, counted_from }, CHUNKS);
        let held = bed.bank.raise(Priority::new(2).unwrap());
        let refused = bed.submit(EmulationKind::Hold);
        assert!(matches!(&refused, Err(Refusal::Failed(error)) if error.code() == Code::LAUNCH_TIMEOUT), "{refused:?}");
        let standing = bed.gpu.live().operations as u32;
        assert!(
            (QUEUED_MAX / 2..QUEUED_MAX + 64).contains(&standing),
            "from {counted_from:#x}: {standing} stand there"
        );
        bed.bank.lower(held);
        bed.channel.synchronize().unwrap();
        bed.submit(EmulationKind::Hold).unwrap();
        bed.channel.synchronize().unwrap();
        assert_eq!(bed.gpu.live().operations, 0);
    }
}
