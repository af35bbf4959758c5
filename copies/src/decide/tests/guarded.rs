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
