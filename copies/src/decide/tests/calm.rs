//! Bulk on a calm engine.

use options::CalmOptions;

use super::*;

/// The options of a calm that has room for so many bytes.
pub(super) fn up_to(bytes_max: Option<u64>) -> CalmOptions {
    CalmOptions { bytes_max, ..Profile::LIBRARY.calm }
}

fn calm(o: &mut Options, k: &mut Known<'_>) {
    (o.profile.calm, k.budget) = (up_to(Some(4 * MIB)), Some(Budget { is_calm: true, ..Budget::default() }));
}

const CALM: Decision = Spend(Spent::Idle);
const KERNEL: Plan = Plan::Kernel { raises: false };

#[test]
fn bulk_that_would_go_by_kernel_goes_natively() {
    assert_eq!(decided(calm, 4 * MIB, 1), CALM);
    assert_eq!(decided(|o, k| (calm(o, k), k.is_within = None).1, 4 * MIB, 1), CALM, "the driver judges its range");
    assert_eq!(plan(|o, k| (calm(o, k), k.budget = Some(Budget::default())).1, 4 * MIB, 1), KERNEL);
    assert_eq!(plan(calm, 4 * MIB + 64, 1), KERNEL, "more than an urgent copy may wait for");
    assert_eq!(plan(|o, k| (calm(o, k), o.profile.calm = up_to(None)).1, MIB, 1), KERNEL, "the option is off");
}

#[test]
fn all_others_go_their_way() {
    assert_eq!(plan(calm, 4 * MIB, 3), Plan::Kernel { raises: true }, "others yield to it");
    assert_eq!(plan(calm, 4 * MIB, 6), Plan::Urgent);
    assert_eq!(plan(calm, 128 << 10, 1), Plan::Engine { raises: false });
    assert_eq!(plan(|o, k| (calm(o, k), k.is_served = true).1, MIB, 1), KERNEL, "a batch of the copy service");
    assert_eq!(plan(|o, k| (calm(o, k), k.is_captured = Some(true)).1, MIB, 1), Plan::Native(Reason::Capturing));
}

/// A copy that might spend the idle budget may not spend a stated one for that.
#[test]
fn a_copy_that_may_not_spend_what_is_stated_goes_by_kernel_outside_a_calm() {
    let stated = |o: &mut Options, k: &mut Known<'_>| {
        calm(o, k);
        (o.profile.transport, k.budget) = (Transport::Kernel, Some(tolerated::in_chunks()));
    };
    assert_eq!(plan(stated, 4 * MIB, 1), KERNEL, "the user asked for that");
    let whole = |o: &mut Options, k: &mut Known<'_>| (stated(o, k), k.budget = Some(tolerated::whole())).1;
    assert_eq!(plan(whole, 4 * MIB, 1), KERNEL);
}

#[test]
fn the_engine_is_asked_only_about_copies_that_would_go_by_kernel() {
    let off = Options { profile: Profile { transport: Transport::Kernel, ..Profile::LIBRARY }, ..Options::default() };
    let profile = Profile { calm: up_to(Some(MIB)), ..off.profile };
    let (options, request) = (Options { profile, ..off.clone() }, linear(MIB));
    let unknown = |options| Known { budget: None, ..known(options, &request) };
    assert_eq!(decide(&unknown(&options)), Ask(Question::Budget));
    assert_eq!(decide(&unknown(&off)), Go(KERNEL));
    assert_eq!(decide(&Known { priority: at(6), ..unknown(&options) }), Go(Plan::Urgent));
}
