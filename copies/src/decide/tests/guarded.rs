//! Copies that are guarded, or go by kernel.

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

/// It asks first where the bytes are, which an urgent copy on the engine does not.
#[test]
fn an_urgent_copy_that_goes_by_kernel_does_not_go_early() {
    let request = named(MIB, Direction::HostToDevice);
    let unplaced = |wait_budget| {
        let options = Options { wait_budget, ..Options::default() };
        let (priority, direction) = (at(6), request.direction());
        decide(&Known { priority, direction, placement: None, ..known(&options, &request) })
    };
    assert_eq!(unplaced(hal::Nanos::ZERO), Go(Plan::Urgent));
    assert_eq!(unplaced(WHOLE_BULK_FROM), Ask(Question::Placement));
}
