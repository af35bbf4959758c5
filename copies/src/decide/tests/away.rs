//! Copies without a host side.

use super::*;

/// A bulk copy and an urgent one without a host side, where their option has this transport, and all others another.
fn without_host(direction: Direction, transport: Transport) -> [Plan; 2] {
    let away = |o: &mut Options, k: &mut Known<'_>| {
        o.transport = Transport::Native;
        let path = if direction == Direction::Peer { &mut o.peer } else { &mut o.on_device };
        path.transport = transport;
        k.placement = Some(Placement { kind: Some(MemoryKind::Device), ..placement(direction) });
    };
    [plan(away, 64 * MIB, 1), plan(away, 64 << 10, 6)]
}

#[test]
fn copies_without_a_host_side_go_by_their_own_option() {
    for direction in [Direction::DeviceToDevice, Direction::Peer] {
        let gated = |transport| without_host(direction, transport);
        assert_eq!(gated(Transport::Auto), [Plan::Kernel { raises: false }, Plan::Urgent]);
        assert_eq!(gated(Transport::Kernel), [Plan::Kernel { raises: false }, Plan::Urgent]);
        assert_eq!(gated(Transport::Engine), [Plan::Engine { raises: false }, Plan::Urgent]);
    }
    assert_eq!(without_host(Direction::DeviceToDevice, Transport::Native), [Plan::Native(Reason::OnDevice); 2]);
    assert_eq!(without_host(Direction::Peer, Transport::Native), [Plan::Native(Reason::BetweenDevices); 2]);
    let unseen = |o: &mut Options, k: &mut Known<'_>| {
        o.peer.transport = Transport::Auto;
        let away = Placement { kind: Some(MemoryKind::Device), seen_by_device: None, ..placement(Direction::Peer) };
        k.placement = Some(away);
    };
    assert_eq!(plan(unseen, 64 * MIB, 1), Plan::Engine { raises: false }, "no kernel reaches the other device");
}
