//! Bulk beside copies that tolerate a wait.

use super::*;

fn tolerated(_: &mut Options, k: &mut Known<'_>) {
    k.is_tolerated = Some(true);
}

const KERNEL: Plan = Plan::Kernel { raises: false };
const CHUNKS: Plan = Plan::Engine { raises: false };

#[test]
fn bulk_that_would_go_by_kernel_goes_in_chunks() {
    assert_eq!(plan(tolerated, 64 * MIB, 1), CHUNKS);
    assert_eq!(plan(tolerated, 64 * MIB, 3), Plan::Engine { raises: true }, "others yield to it");
    assert_eq!(plan(|_, k| k.is_tolerated = Some(false), 64 * MIB, 1), KERNEL);
    assert_eq!(plan(|o, k| (tolerated(o, k), o.channels = false).1, 64 * MIB, 1), KERNEL, "there are no channels");
    let by_kernel = |o: &mut Options, k: &mut Known<'_>| (tolerated(o, k), o.transport = Transport::Kernel).1;
    assert_eq!(plan(by_kernel, 64 * MIB, 1), KERNEL, "the user asked for that");
    assert_eq!(plan(|o, k| (tolerated(o, k), k.is_served = true).1, 16 << 10, 1), KERNEL, "a batch of the service");
    let occupied = |o: &mut Options, k: &mut Known<'_>| {
        tolerated(o, k);
        k.setback = Some((CHUNKS, Setback::Occupied));
    };
    assert_eq!(plan(occupied, 64 * MIB, 1), KERNEL, "another stream has the channel");
}

#[test]
fn urgent_copies_go_their_way() {
    assert_eq!(plan(tolerated, 64 * MIB, 6), Plan::Urgent);
    assert_eq!(plan(|o, k| (tolerated(o, k), k.is_captured = Some(true)).1, MIB, 1), Plan::Native(Reason::Capturing));
}

#[test]
fn the_engine_is_asked_only_about_copies_that_would_go_by_kernel() {
    let (options, off) = (Options::default(), Options { channels: false, ..Options::default() });
    let request = linear(MIB);
    let unknown = |options| Known { is_tolerated: None, ..known(options, &request) };
    assert_eq!(decide(&unknown(&options)), Ask(Question::Tolerance));
    assert_eq!(decide(&unknown(&off)), Go(KERNEL));
    assert_eq!(decide(&Known { priority: at(6), ..unknown(&options) }), Go(Plan::Urgent));
}
