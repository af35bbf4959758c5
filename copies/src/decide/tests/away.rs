//! Copies without a host side.

use super::*;

/// A bulk copy and an urgent one without a host side, where those between devices have priorities or not.
fn without_host(direction: Direction, peer_gbps: Option<u32>, transport: Transport) -> [Plan; 2] {
    let away = |o: &mut Options, k: &mut Known<'_>| {
        (o.peer_gbps, o.profile.transport) = (peer_gbps, transport);
        k.placement = Some(Placement { kind: Some(MemoryKind::Device), ..placement(direction) });
    };
    [plan(away, 64 * MIB, 1), plan(away, 64 << 10, 6)]
}

#[test]
fn copies_between_devices_have_priorities_where_their_rate_is_given() {
    let between = |transport| without_host(Direction::Peer, Some(50), transport);
    assert_eq!(between(Transport::Auto), [Plan::Kernel { raises: false }, Plan::Urgent]);
    assert_eq!(between(Transport::Kernel), [Plan::Kernel { raises: false }, Plan::Urgent]);
    assert_eq!(between(Transport::Engine), [Plan::Engine { raises: false }, Plan::Urgent]);
    let natively = [Plan::Native(Reason::LeftAlone), Plan::Urgent];
    assert_eq!(between(Transport::Native), natively, "as between host and device");
    for transport in Transport::ALL {
        let on_device = without_host(Direction::DeviceToDevice, Some(50), transport);
        assert_eq!(on_device, [Plan::Native(Reason::NoHostSide); 2]);
        assert_eq!(without_host(Direction::Peer, None, transport), [Plan::Native(Reason::NoHostSide); 2]);
    }
    let unseen = |o: &mut Options, k: &mut Known<'_>| {
        o.peer_gbps = Some(50);
        let away = Placement { kind: Some(MemoryKind::Device), seen_by_device: None, ..placement(Direction::Peer) };
        k.placement = Some(away);
    };
    assert_eq!(plan(unseen, 64 * MIB, 1), Plan::Engine { raises: false }, "no kernel reaches the other device");
}

#[test]
fn whole_bulk_between_devices_is_native_and_passed_by_kernels() {
    let whole = |peer_gbps| {
        let away = |o: &mut Options, k: &mut Known<'_>| {
            (o.peer_gbps, o.wait_budget) = (peer_gbps, WHOLE_BULK_FROM);
            k.placement = Some(Placement { kind: Some(MemoryKind::Device), ..placement(Direction::Peer) });
        };
        [plan(away, 64 * MIB, 1), plan(away, 64 << 10, 6)]
    };
    assert_eq!(whole(Some(50)), [Plan::Native(Reason::LeftAlone), Plan::UrgentKernel]);
    assert_eq!(whole(None), [Plan::Native(Reason::NoHostSide); 2]);
}
