//! Pageable copies, with staging.

use super::*;

/// The plan of a pageable copy that may be staged, with these facts changed.
fn staged(change: impl FnOnce(&mut Known<'_>)) -> Decision {
    let (options, request) = (Options::default(), linear(MIB));
    let mut known = known(&options, &request);
    known.may_stage = true;
    known.placement = Some(Placement { kind: Some(MemoryKind::Pageable), ..placement(Direction::HostToDevice) });
    change(&mut known);
    decide(&known)
}

#[test]
fn pageable_copies_are_staged_in_any_company() {
    assert_eq!(staged(|_| {}), Go(Plan::Staged { raises: false }));
    assert_eq!(staged(|k| k.company = Some((at(1), at(1)))), Go(Plan::Staged { raises: false }), "alone");
    assert_eq!(staged(|k| k.priority = at(6)), Go(Plan::Staged { raises: true }));
    assert_eq!(staged(|k| k.is_blocking = true), Go(Plan::Staged { raises: false }));
}

#[test]
fn others_are_not() {
    let natively = |reason| Go(Plan::Native(reason));
    assert_eq!(staged(|k| k.may_stage = false), natively(Reason::Pageable));
    assert_eq!(staged(|k| k.is_enabled = false), natively(Reason::Disabled));
    assert_eq!(staged(|k| k.is_passive = true), natively(Reason::StoodDown));
    assert_eq!(staged(|k| k.is_captured = Some(true)), natively(Reason::Capturing));
    let of = |kind, direction| staged(|k| k.placement = Some(Placement { kind, ..placement(direction) }));
    assert_eq!(of(Some(MemoryKind::Pinned), Direction::HostToDevice), Go(Plan::Kernel { raises: false }));
    assert_eq!(of(Some(MemoryKind::Managed), Direction::HostToDevice), natively(Reason::OtherMemory));
    assert_eq!(of(Some(MemoryKind::Pageable), Direction::DeviceToDevice), natively(Reason::NoHostSide));
    assert_eq!(of(None, Direction::HostToDevice), natively(Reason::OtherMemory));
}

#[test]
fn memory_and_capture_are_asked_for_first() {
    assert_eq!(staged(|k| k.company = None), Ask(Question::Company));
    assert_eq!(staged(|k| k.placement = None), Ask(Question::Placement));
    assert_eq!(staged(|k| k.is_captured = None), Ask(Question::Capture));
}

#[test]
fn a_copy_that_is_not_staged_after_all_goes_to_the_driver() {
    let after = |setback| {
        let setback = Some((Plan::Staged { raises: true }, setback));
        staged(|k| (k.setback = setback, k.priority = at(6)).1)
    };
    assert_eq!(after(Setback::Unstaged), Go(Plan::Native(Reason::Unstaged)));
    assert_eq!(after(Setback::Failed), Go(Plan::Native(Reason::Failed)));
}
