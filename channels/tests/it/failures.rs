//! The order of a copy and its stream, whichever driver call of a submission fails.

use hal::{Code, Driver};
use overtake_channels::{ChannelOptions, Refusal};
use priority::Priority;
use semaphores::EmulationKind;
use softgpu::Fault;

use crate::support::{Bed, CHUNK_BYTES};

const CHUNKS: u64 = 64;
const BYTES: u64 = CHUNKS * CHUNK_BYTES;

/// The driver calls of a submission.
const CALLS: [&str; 6] = [
    "cuEventRecord",
    "cuStreamWaitEvent",
    "cuMemcpyHtoDAsync_v2",
    "cuStreamWaitValue32_v2",
    "cuStreamWriteValue32_v2",
    "cuStreamBatchMemOp_v2",
];

/// Whatever has been submitted by then, later work of the stream comes behind it; the words are as before, and the next
/// copy is made.
fn once(kind: EmulationKind, name: &str, nth: u64) -> Result<(), Refusal> {
    let bed = Bed::new(ChannelOptions::default(), CHUNKS);
    let at = format!("{kind:?}: call {nth} of {name}");
    bed.gpu.inject(Fault::Call { name: name.to_owned(), nth, code: Code::OUT_OF_MEMORY });
    let submitted = bed.submit(kind);
    bed.gpu.memset_d8_async(bed.target, 8, BYTES, bed.stream).unwrap();
    bed.gpu.context_synchronize().unwrap();
    assert!(bed.bytes().iter().all(|byte| *byte == 8), "{at}: later work of the stream has overtaken the copy");
    assert_eq!(bed.bank.gate_word(Priority::LOWEST), 0, "{at}");
    // A call that the first copy has not come to fails now.
    bed.submit(kind).or_else(|_| bed.submit(kind)).unwrap();
    bed.gpu.context_synchronize().unwrap();
    assert!(bed.bytes().iter().all(|byte| *byte == 0), "{at}: the next copy");
    submitted
}

#[test]
fn later_work_of_the_stream_never_overtakes_the_copy() {
    for kind in [EmulationKind::Hold, EmulationKind::Bracket] {
        once(kind, "none", 1).unwrap();
        let mut refused = 0;
        for name in CALLS {
            let failed = (1..=CHUNKS + 4).filter(|nth| once(kind, name, *nth).is_err());
            refused += failed.count();
        }
        assert!(refused > CHUNKS as usize, "{kind:?}: {refused} submissions were refused");
    }
}

/// The copy fails when its count is up, or will be once the device has come to it, and the driver does not take the
/// write that lowers it.
#[test]
fn a_count_that_the_stream_cannot_lower_is_lowered_by_the_host() {
    let (bed, urgent) = (Bed::new(ChannelOptions::default(), CHUNKS), Priority::new(2).unwrap());
    for (name, nth) in [("cuMemcpyHtoDAsync_v2", 1), ("cuStreamWriteValue32_v2", 2)] {
        bed.gpu.inject(Fault::Call { name: name.to_owned(), nth, code: Code::OUT_OF_MEMORY });
    }
    let Err(Refusal::Failed(error)) = bed.submit_at(urgent, EmulationKind::Bracket) else {
        panic!("the copy was to fail")
    };
    assert_eq!(error.call(), "cuMemcpyHtoDAsync_v2");
    bed.gpu.context_synchronize().unwrap();
    assert!(!bed.bank.is_raised());
    bed.submit(EmulationKind::Bracket).unwrap();
    bed.gpu.context_synchronize().unwrap();
}
