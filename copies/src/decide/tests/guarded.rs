//! Bulk that is guarded.

use super::*;

#[test]
fn copies_of_the_guarded_size_go_by_kernel_and_urgent_ones_where_asked() {
    let guard = |o: &mut Options| o.profile.guard_bytes_min = Some(2 * MIB);
    assert_eq!(plan(|o, _| guard(o), 2 * MIB, 1), Plan::Kernel { raises: false });
    assert_eq!(plan(|o, _| guard(o), MIB, 1), Plan::Engine { raises: false });
    let urgent_by_kernel = |o: &mut Options| o.profile.urgent_transport = UrgentTransport::Kernel;
    assert_eq!(plan(|o, _| urgent_by_kernel(o), 64 << 10, 6), Plan::UrgentKernel);
    let both = |o: &mut Options| {
        guard(o);
        urgent_by_kernel(o);
    };
    assert_eq!(plan(|o, _| both(o), 64 << 10, 6), Plan::UrgentKernel);
}

/// There is no lull while such a copy is under way.
#[test]
fn native_bulk_is_tracked_where_urgent_copies_go_by_kernel_beside_it() {
    let tracked = |change: fn(&mut Options), bytes, reason| {
        let profile = Profile { lull: true, urgent_transport: UrgentTransport::Kernel, ..Profile::LIBRARY };
        let mut options = Options { profile, ..Options::default() };
        change(&mut options);
        is_tracked(&known(&options, &linear(bytes)), Plan::Native(reason))
    };
    assert!(tracked(|_| {}, MIB, Reason::Asked));
    assert!(!tracked(|_| {}, MIB, Reason::Alone));
    assert!(!tracked(|o| o.profile.lull = false, MIB, Reason::Asked), "no copy asks whether there is a lull");
    assert!(!tracked(|o| o.profile.urgent_transport = UrgentTransport::Engine, MIB, Reason::Asked));
    assert!(tracked(|o| o.profile.gate_bytes_min = MIB, MIB, Reason::Asked));
    assert!(!tracked(|o| o.profile.gate_bytes_min = MIB + 64, MIB, Reason::Asked), "it is soon over");
}
