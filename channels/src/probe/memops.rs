//! Finds out which stream memory operations work. Each is tried with a word that must block the stream, and with one
//! that must not.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use hal::{Driver, Error, MemOp, Nanos, Result, Stream, WaitCondition, Width};

use super::{Rig, STREAM_PRIORITY_DEFAULT};

/// The result of trying an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Support {
    /// It had the effect that it should have.
    Works,
    /// The driver refused it.
    Refused(Error),
    /// The driver accepted it, and it did something else: the text describes it.
    Wrong(&'static str),
}

impl Support {
    /// Whether the operation can be relied on.
    #[must_use]
    pub fn works(&self) -> bool {
        *self == Support::Works
    }
}

/// One kind of wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitSupport {
    /// The comparison.
    pub condition: WaitCondition,
    /// The width of the word.
    pub width: Width,
    /// The result of trying it.
    pub support: Support,
}

/// The results for every stream memory operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemOpSupport {
    /// Every condition at both widths.
    pub waits: Vec<WaitSupport>,
    /// A 32-bit write.
    pub write32: Support,
    /// A 64-bit write.
    pub write64: Support,
    /// Several operations in one call.
    pub batch: Support,
}

impl MemOpSupport {
    /// The result for one kind of wait.
    #[must_use]
    pub fn wait(&self, condition: WaitCondition, width: Width) -> Option<&Support> {
        let found = self.waits.iter().find(|wait| wait.condition == condition && wait.width == width);
        found.map(|wait| &wait.support)
    }
}

/// A stream must stand still for this long before it counts as waiting.
const STANDS: Nanos = Nanos::from_us(500);
/// A stream may take this long to go on.
const GOES_ON: Nanos = Nanos::from_ms(200);

/// The word under test, and the word that shows the stream's progress.
const TESTED: usize = 0;
const MARK: usize = 1;

const CONDITIONS: [WaitCondition; 4] = [WaitCondition::Eq, WaitCondition::Geq, WaitCondition::And, WaitCondition::Nor];

/// The value of a wait, a word that holds the stream, and a word that lets it go.
struct Case {
    value: u64,
    holds_up: u64,
    lets_go: u64,
}

impl Case {
    /// Values in which both halves matter at the wider width.
    fn new(condition: WaitCondition, width: Width) -> Case {
        let high = if width == Width::W64 { 1_u64 << 40 } else { 0 };
        let all = if width == Width::W64 { u64::MAX } else { u64::from(u32::MAX) };
        match condition {
            WaitCondition::Eq => Case { value: high + 5, holds_up: high + 4, lets_go: high + 5 },
            WaitCondition::Geq => Case { value: high + 5, holds_up: high + 4, lets_go: high + 6 },
            WaitCondition::And => Case { value: high | 2, holds_up: 1, lets_go: if high == 0 { 2 } else { high } },
            WaitCondition::Nor => Case { value: all & !1, holds_up: 1, lets_go: 0 },
        }
    }
}

/// Tries every stream memory operation in the current context.
pub fn probe_mem_ops(driver: &Arc<dyn Driver>) -> Result<MemOpSupport> {
    let rig = Rig::new(driver, &[])?;
    let write32 = outcome(write(&rig, Width::W32));
    let write64 = outcome(write(&rig, Width::W64));
    let mut waits = Vec::new();
    for width in [Width::W32, Width::W64] {
        for condition in CONDITIONS {
            waits.push(WaitSupport { condition, width, support: outcome(wait(&rig, condition, width)) });
        }
    }
    let batch = outcome(batch(&rig));
    Ok(MemOpSupport { waits, write32, write64, batch })
}

fn outcome(tried: Result<Option<&'static str>>) -> Support {
    match tried {
        Ok(None) => Support::Works,
        Ok(Some(wrong)) => Support::Wrong(wrong),
        Err(error) => Support::Refused(error),
    }
}

fn address(rig: &Rig, slot: usize, width: Width) -> hal::DevicePtr {
    match width {
        Width::W32 => rig.word_address(slot),
        Width::W64 => rig.wide_word_address(slot),
    }
}

fn store(rig: &Rig, slot: usize, width: Width, value: u64) {
    match width {
        Width::W32 => rig.word(slot).store(value as u32, Ordering::Release),
        Width::W64 => rig.wide_word(slot).store(value, Ordering::Release),
    }
}

fn load(rig: &Rig, slot: usize, width: Width) -> u64 {
    match width {
        Width::W32 => u64::from(rig.word(slot).load(Ordering::Acquire)),
        Width::W64 => rig.wide_word(slot).load(Ordering::Acquire),
    }
}

/// `None` if the write works, else a description of the mistake.
fn write(rig: &Rig, width: Width) -> Result<Option<&'static str>> {
    let value = if width == Width::W64 { 0x1234_5678_9abc_def0 } else { 0x9abc_def0 };
    let stream = rig.stream(STREAM_PRIORITY_DEFAULT)?;
    store(rig, TESTED, width, 0);
    rig.driver().mem_op(stream, MemOp::Write { address: address(rig, TESTED, width), value, width })?;
    let has_arrived = rig.wait_for(GOES_ON, &mut || load(rig, TESTED, width) == value);
    Ok((!has_arrived).then_some("the value did not arrive"))
}

fn wait(rig: &Rig, condition: WaitCondition, width: Width) -> Result<Option<&'static str>> {
    let case = Case::new(condition, width);
    let stream = rig.stream(STREAM_PRIORITY_DEFAULT)?;
    store(rig, TESTED, width, case.holds_up);
    let wait = MemOp::Wait { address: address(rig, TESTED, width), value: case.value, width, condition };
    rig.driver().mem_op(stream, wait)?;
    observe(rig, stream, width, &case)
}

fn batch(rig: &Rig) -> Result<Option<&'static str>> {
    let case = Case::new(WaitCondition::Eq, Width::W32);
    let stream = rig.stream(STREAM_PRIORITY_DEFAULT)?;
    store(rig, TESTED, Width::W32, case.holds_up);
    store(rig, MARK, Width::W32, 0);
    let wait = MemOp::wait32(rig.word_address(TESTED), case.value as u32, WaitCondition::Eq);
    rig.driver().mem_op_batch(stream, &[wait, MemOp::write32(rig.word_address(MARK), 1)])?;
    let observed = observe(rig, stream, Width::W32, &case)?;
    let has_written = rig.wait_for(GOES_ON, &mut || load(rig, MARK, Width::W32) == 1);
    Ok(observed.or((!has_written).then_some("the write of the batch did not arrive")))
}

/// Makes the stream wait for the tested word. It must stand while the word holds it, and go on afterwards.
fn observe(rig: &Rig, stream: Stream, width: Width, case: &Case) -> Result<Option<&'static str>> {
    let stood = !rig.look(&[stream], STANDS)?[0];
    store(rig, TESTED, width, case.lets_go);
    let went_on = rig.look(&[stream], GOES_ON)?[0];
    if !went_on {
        open_by_any_value(rig, stream, width, case)?;
    }
    Ok(match (stood, went_on) {
        (true, true) => None,
        (false, _) => Some("the stream did not wait"),
        (true, false) => Some("the stream did not go on"),
    })
}

/// A wait may compare in a way of its own. One of these values opens it; otherwise the rig leaves its memory
/// allocated.
fn open_by_any_value(rig: &Rig, stream: Stream, width: Width, case: &Case) -> Result<()> {
    for value in [0, u64::MAX, case.value, !case.value, 1, case.value.wrapping_add(1)] {
        store(rig, TESTED, width, value);
        if rig.look(&[stream], GOES_ON)?[0] {
            return Ok(());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_holds_up_and_lets_go() {
        for width in [Width::W32, Width::W64] {
            for condition in CONDITIONS {
                let case = Case::new(condition, width);
                assert!(!condition.holds(case.holds_up, case.value, width), "{condition:?} {width:?}");
                assert!(condition.holds(case.lets_go, case.value, width), "{condition:?} {width:?}");
            }
        }
    }

    #[test]
    fn wide_cases_need_the_high_half() {
        for condition in [WaitCondition::Eq, WaitCondition::Geq, WaitCondition::And] {
            let case = Case::new(condition, Width::W64);
            let narrow = |value: u64| u64::from(value as u32);
            assert_ne!(case.value, narrow(case.value), "{condition:?}");
            assert!(case.lets_go != narrow(case.lets_go), "{condition:?}");
        }
    }
}
