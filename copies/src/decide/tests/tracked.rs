//! Native copies that have a fence of their own.

use super::*;

/// A native copy that comes after bulk boosts that bulk, unless the layer must leave the copy alone.
#[test]
fn native_copies_are_tracked_while_they_lift_others() {
    let (options, request) = (Options::default(), linear(MIB));
    let tracked = |depends, reason, setback| {
        is_tracked(&Known { depends, setback, ..known(&options, &request) }, Plan::Native(reason), None)
    };
    assert!(tracked(Some(true), Reason::Pageable, None));
    assert!(!tracked(Some(false), Reason::Pageable, None));
    assert!(!tracked(None, Reason::StoodDown, None), "it has not been asked");
    let captured = Known { is_captured: Some(true), depends: Some(true), ..known(&options, &request) };
    assert!(
        !is_tracked(&captured, Plan::Native(Reason::Alone), None),
        "a write would be a node of the program's graph"
    );
    assert!(!tracked(Some(true), Reason::Occupied, Some((Plan::Urgent, Setback::RingFull))));
    assert!(tracked(Some(true), Reason::Pageable, Some((Plan::Urgent, Setback::Uncovered))), "its own fence is next");
}

/// There is no lull while such a copy is under way.
#[test]
fn native_bulk_is_tracked_where_urgent_copies_go_by_kernel_beside_it() {
    let tracked = |change: fn(&mut Options), bytes, reason| {
        let profile = Profile { lull: true, urgent_transport: UrgentTransport::Kernel, ..Profile::LIBRARY };
        let mut options = Options { profile, ..Options::default() };
        change(&mut options);
        is_tracked(&known(&options, &linear(bytes)), Plan::Native(reason), None)
    };
    assert!(tracked(|_| {}, MIB, Reason::LeftAlone));
    assert!(!tracked(|_| {}, MIB, Reason::Alone));
    assert!(!tracked(|o| o.profile.lull = false, MIB, Reason::LeftAlone), "no copy asks whether there is a lull");
    assert!(!tracked(|o| o.profile.urgent_transport = UrgentTransport::Engine, MIB, Reason::LeftAlone));
    assert!(tracked(|o| o.profile.gate_bytes_min = MIB, MIB, Reason::LeftAlone));
    assert!(!tracked(|o| o.profile.gate_bytes_min = MIB + 64, MIB, Reason::LeftAlone), "it is soon over");
}
