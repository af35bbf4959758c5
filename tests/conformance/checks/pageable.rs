//! Pageable memory: the source has been consumed, or the copy has completed, when the call returns.

use crate::failure::{Outcome, same, same_bytes};
use crate::prng::Prng;
use crate::rig::Rig;

const SIZES: [u64; 6] = [1, 100, 16_384, 65_536, 65_537, 3_000_001];

/// The source of an upload may be overwritten as soon as the call has returned.
pub fn source_is_consumed(rig: &Rig) -> Outcome {
    let (mut prng, stream) = (Prng::new(61), rig.stream()?);
    for bytes in SIZES {
        let sent = prng.bytes(bytes);
        let (mut source, buffer) = (sent.clone(), rig.buffer(bytes + 10)?);
        rig.htod_pageable((buffer, 10), &source, stream)?;
        source.fill(0xee);
        rig.settle(stream)?;
        same_bytes(&format!("{bytes} bytes"), &rig.dtoh_now((buffer, 10), bytes)?, &sent)?;
        drop(source);
    }
    Ok(())
}

/// The same while the stream stands still at the time of the call.
pub fn source_is_consumed_behind_a_gate(rig: &Rig) -> Outcome {
    let (mut prng, stream) = (Prng::new(62), rig.stream()?);
    for bytes in SIZES {
        let sent = prng.bytes(bytes);
        let (mut source, buffer) = (sent.clone(), rig.buffer(bytes)?);
        let gate = rig.gate(stream)?;
        let opener = rig.open_later(&gate);
        rig.htod_pageable((buffer, 0), &source, stream)?;
        source.fill(0xee);
        rig.join(opener)?;
        rig.settle(stream)?;
        same_bytes(&format!("{bytes} bytes"), &rig.dtoh_now((buffer, 0), bytes)?, &sent)?;
        drop(source);
    }
    Ok(())
}

/// The target of a download is complete when the call returns.
pub fn target_is_complete(rig: &Rig) -> Outcome {
    let (mut prng, stream) = (Prng::new(63), rig.stream()?);
    for bytes in SIZES {
        let sent = prng.bytes(bytes);
        let (buffer, mut target) = (rig.buffer_of(&sent)?, vec![0; bytes as usize]);
        rig.dtoh_pageable(&mut target, (buffer, 0), stream)?;
        same_bytes(&format!("{bytes} bytes"), &target, &sent)?;
    }
    Ok(())
}

/// A download waits for the work before it in its stream.
pub fn download_waits_for_its_stream(rig: &Rig) -> Outcome {
    let (stream, mark) = (rig.stream()?, rig.word());
    let (buffer, mut target) = (rig.buffer_of(&[1; 100_000])?, vec![0; 100_000]);
    let gate = rig.gate(stream)?;
    rig.driver().memset_d8_async(buffer.at(0), 8, 100_000, stream)?;
    rig.mark(stream, &mark, 1)?;
    let opener = rig.open_later(&gate);
    rig.dtoh_pageable(&mut target, (buffer, 0), stream)?;
    same("the work before the download", &mark.load(), &1)?;
    same_bytes("the download", &target, &[8; 100_000])?;
    rig.join(opener)
}

/// Uploads from pageable and from pinned memory on one stream keep their order.
pub fn order_with_pinned(rig: &Rig) -> Outcome {
    const BYTES: u64 = 50_000;
    let (mut prng, stream) = (Prng::new(64), rig.stream()?);
    let (first, last) = (prng.bytes(BYTES), prng.bytes(BYTES));
    let (pinned, buffer) = (rig.pinned_of(&first)?, rig.buffer(BYTES)?);
    rig.htod((buffer, 0), (&pinned, 0), BYTES, stream)?;
    rig.htod_pageable((buffer, 0), &last, stream)?;
    same_bytes("pageable last", &rig.download(buffer, stream)?, &last)?;
    rig.htod_pageable((buffer, 0), &last, stream)?;
    rig.htod((buffer, 0), (&pinned, 0), BYTES, stream)?;
    same_bytes("pinned last", &rig.download(buffer, stream)?, &first)
}

/// An upload from pinned memory reads its source when it runs, and does not block the caller.
pub fn pinned_does_not_block(rig: &Rig) -> Outcome {
    const BYTES: u64 = 1 << 20;
    let (stream, pinned, buffer) = (rig.stream()?, rig.pinned_of(&[1; BYTES as usize])?, rig.buffer(BYTES)?);
    let sink = rig.pinned(BYTES)?;
    let gate = rig.gate(stream)?;
    rig.htod((buffer, 0), (&pinned, 0), BYTES, stream)?;
    rig.dtoh((&sink, 0), (buffer, 0), BYTES, stream)?;
    rig.held("copies behind a gate", stream)?;
    pinned.write(0, &[2; BYTES as usize]);
    gate.open();
    rig.settle(stream)?;
    same_bytes("the source as it was when the copy ran", &sink.read_all(), &[2; BYTES as usize])
}
