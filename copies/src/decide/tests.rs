//! The table row by row, and properties of every decision.

use std::sync::LazyLock;

use channels::{Shape, Side};
use hal::{DevicePtr, MemoryKind};
use priority::{Direction, Priority};
use proptest::prelude::*;
use semaphores::EmulationKind;

use super::*;
use options::{Profile, WHOLE_BULK_FROM};

use crate::cargo::{Cargo, INLINE_BYTES_MAX};
use crate::request::Request;

#[cfg(test)]
mod away;
#[cfg(test)]
mod calm;
#[cfg(test)]
mod guarded;
#[cfg(test)]
mod staged;
#[cfg(test)]
mod tolerated;
#[cfg(test)]
mod tracked;

const MIB: u64 = 1 << 20;

fn at(priority: u8) -> Priority {
    Priority::new(priority).unwrap()
}

fn placement(direction: Direction) -> Placement {
    Placement { direction, kind: Some(MemoryKind::Pinned), seen_by_device: Some(DevicePtr(0x1000)) }
}

/// A copy with all facts known: a pinned one to the device.
fn known<'a>(options: &'a Options, request: &'a Request) -> Known<'a> {
    Known {
        is_enabled: options.enabled,
        leaves_urgent_copies: leaves_urgent_copies(options),
        direction: None,
        is_ready: None,
        is_kernel_there: true,
        company: Some((at(1), at(6))),
        depends: Some(false),
        placement: Some(placement(Direction::HostToDevice)),
        is_captured: Some(false),
        is_within: Some(true),
        budget: Some(Budget::default()),
        ..Known::of(options, Cargo::One(request), at(1))
    }
}

fn linear(bytes: u64) -> Request {
    Request::linear(DevicePtr(0x2000_0000), DevicePtr(0x1000), bytes)
}

/// The same copy, where its caller names the direction as far as that can be named.
fn named(bytes: u64, direction: Direction) -> Request {
    let (target, source) = (DevicePtr(0x2000_0000), DevicePtr(0x1000));
    match direction {
        Direction::HostToDevice => Request::htod(target, source.0 as *const u8, bytes),
        Direction::DeviceToHost => Request::dtoh(target.0 as *mut u8, source, bytes),
        Direction::DeviceToDevice | Direction::Peer => linear(bytes),
    }
}

/// The plan of a copy of so many bytes and this priority, after `change`. It spends no budget.
#[track_caller]
fn plan(change: impl FnOnce(&mut Options, &mut Known<'_>), bytes: u64, priority: u8) -> Plan {
    match decided(change, bytes, priority) {
        Go(plan) => plan,
        other => panic!("{other:?}"),
    }
}

/// The decision on that copy.
fn decided(change: impl FnOnce(&mut Options, &mut Known<'_>), bytes: u64, priority: u8) -> Decision {
    static DEFAULT: LazyLock<Options> = LazyLock::new(Options::default);
    let (mut options, request) = (Options::default(), linear(bytes));
    let mut known = Known { priority: at(priority), ..known(&DEFAULT, &request) };
    change(&mut options, &mut known);
    let (is_enabled, leaves_urgent_copies) = (options.enabled, leaves_urgent_copies(&options));
    decide(&Known { options: &options, is_enabled, leaves_urgent_copies, ..known })
}

#[track_caller]
fn plan_of(known: &Known<'_>) -> Plan {
    way_of(known).0
}

/// The plan, and the budget that it spends.
#[track_caller]
fn way_of(known: &Known<'_>) -> (Plan, Option<Spent>) {
    match decide(known) {
        Go(plan) => (plan, None),
        Spend(spent) => (Plan::Native(Reason::WithinBudget), Some(spent)),
        Ask(question) => panic!("{question:?} was asked, and the answer is known"),
    }
}

#[test]
fn the_table_row_by_row() {
    assert_eq!(plan(|_, _| {}, 64 * MIB, 1), Plan::Kernel { raises: false });
    assert_eq!(plan(|_, _| {}, 64 * MIB, 3), Plan::Kernel { raises: true });
    assert_eq!(plan(|_, _| {}, 128 << 10, 1), Plan::Engine { raises: false });
    assert_eq!(plan(|_, _| {}, 32 << 10, 1), Plan::Native(Reason::WithinBudget));
    assert_eq!(plan(|_, _| {}, 64 << 10, 6), Plan::Urgent);
    assert_eq!(plan(|_, _| {}, 64 * MIB, 6), Plan::Urgent);
    assert_eq!(plan(|_, _| {}, 16 << 10, 6), Plan::Native(Reason::WithinBudget));
    assert_eq!(plan(|o, _| o.profile.urgent_transport = UrgentTransport::Kernel, 64 << 10, 6), Plan::UrgentKernel);
    assert_eq!(plan(|_, k| k.company = Some((at(1), at(1))), 64 * MIB, 1), Plan::Native(Reason::Alone));
    assert_eq!(plan(|o, _| o.profile.transport = Transport::Native, 64 * MIB, 1), Plan::Native(Reason::LeftAlone));
    assert_eq!(plan(|o, _| o.profile.channels = false, 128 << 10, 1), Plan::Native(Reason::NoKernel));
}

#[test]
fn a_batch_goes_by_its_kernel_at_any_priority() {
    let served = |change: fn(&mut Options, &mut Known<'_>), priority| {
        plan(move |o, k| (k.is_served = true, change(o, k)).1, 16 << 10, priority)
    };
    assert_eq!(served(|_, _| {}, 1), Plan::Kernel { raises: false });
    assert_eq!(served(|_, _| {}, 6), Plan::Kernel { raises: true });
    assert_eq!(served(|_, k| k.company = Some((at(1), at(1))), 1), Plan::Kernel { raises: false });
    assert_eq!(served(|o, _| o.profile.guard_bytes_min = Some(2 * MIB), 6), Plan::Kernel { raises: true });
    assert_eq!(served(|_, k| k.is_kernel_there = false, 1), Plan::Native(Reason::NoKernel));
    assert_eq!(served(|o, _| o.profile.transport = Transport::Engine, 1), Plan::Native(Reason::LeftAlone));
    assert_eq!(served(|_, k| k.is_captured = Some(true), 1), Plan::Native(Reason::Capturing));
}

#[test]
fn copies_that_cannot_be_handled_safely_are_passed_on() {
    let placed = |kind, direction| {
        move |_: &mut Options, k: &mut Known<'_>| {
            k.placement = Some(Placement { kind, ..placement(direction) });
        }
    };
    let (to_device, to_host) = (Direction::HostToDevice, Direction::DeviceToHost);
    let pinned = placed(Some(MemoryKind::Pinned), to_host);
    assert_eq!(plan(pinned, 16 << 10, 6), Plan::Urgent, "the driver inlines only towards the device");
    assert_eq!(plan(|_, k| k.is_captured = Some(true), MIB, 1), Plan::Native(Reason::Capturing));
    assert_eq!(plan(|_, k| k.is_passive = true, MIB, 6), Plan::Native(Reason::StoodDown));
    assert_eq!(plan(|o, _| o.enabled = false, MIB, 6), Plan::Native(Reason::Disabled));
    assert_eq!(plan(placed(None, to_device), MIB, 6), Plan::Native(Reason::OtherMemory));
    assert_eq!(plan(placed(Some(MemoryKind::Pageable), to_device), MIB, 6), Plan::Native(Reason::Pageable));
    assert_eq!(plan(placed(Some(MemoryKind::Device), to_device), MIB, 6), Plan::Native(Reason::Pageable));
    assert_eq!(plan(placed(Some(MemoryKind::Managed), to_device), MIB, 6), Plan::Native(Reason::OtherMemory));
    assert_eq!(plan(|_, k| k.is_within = Some(false), MIB, 1), Plan::Native(Reason::OtherMemory));
    assert_eq!(plan(|_, k| k.is_within = Some(false), MIB, 6), Plan::Urgent, "the driver refuses it itself");
}

#[test]
fn only_copies_that_the_kernel_can_make_go_by_kernel() {
    let options = Options::default();
    let way = |shape: Shape| {
        let request = Request { shape, ..linear(0) };
        plan_of(&known(&options, &request))
    };
    let side = |pitch| Side::unified(0x1000).pitched(pitch, 4 * pitch);
    let rows =
        |target, source, rows| Shape { target: side(target), source: side(source), width_bytes: MIB, rows, depth: 1 };
    let (kernel, engine) = (Plan::Kernel { raises: false }, Plan::Engine { raises: false });
    assert_eq!(way(rows(2 * MIB, 3 * MIB, 4)), kernel);
    assert_eq!(way(rows(MIB + 8, MIB + 24, 4)), kernel, "both 8 beyond a multiple of 16");
    assert_eq!(way(rows(MIB + 8, MIB + 12, 4)), engine);
    assert_eq!(way(rows(MIB + 8, 2 * MIB, 4)), engine);
    assert_eq!(way(rows(MIB + 8, 2 * MIB, 1)), kernel, "one row has no distance to the next");
    assert_eq!(way(Shape { depth: 2, ..rows(2 * MIB, 2 * MIB, 2) }), engine);
}

#[test]
fn bounds_of_sizes_belong_to_their_range() {
    let bounds = |o: &mut Options| {
        (o.profile.gate_bytes_min, o.profile.kernel_bytes_min, o.profile.guard_bytes_min) =
            (MIB, 2 * MIB, Some(2 * MIB));
    };
    assert_eq!(plan(|o, _| bounds(o), MIB - 16, 1), Plan::Native(Reason::WithinBudget));
    assert_eq!(plan(|o, _| bounds(o), MIB, 1), Plan::Engine { raises: false }, "it waits at the gate");
    assert_eq!(plan(|o, _| bounds(o), 2 * MIB - 16, 1), Plan::Engine { raises: false });
    assert_eq!(plan(|o, _| bounds(o), 2 * MIB, 1), Plan::Kernel { raises: false });
    let unguarded = |o: &mut Options| {
        bounds(o);
        o.profile.guard_bytes_min = None;
    };
    assert_eq!(plan(|o, _| unguarded(o), 2 * MIB - 16, 1), Plan::Engine { raises: false });
    assert_eq!(plan(|o, _| unguarded(o), 2 * MIB, 1), Plan::Kernel { raises: false });
    assert_eq!(plan(|_, _| {}, INLINE_BYTES_MAX, 6), Plan::Native(Reason::WithinBudget));
    assert_eq!(plan(|_, _| {}, INLINE_BYTES_MAX + 16, 6), Plan::Urgent);
}

#[test]
fn emulations_put_every_copy_on_channels() {
    for kind in [EmulationKind::Bracket, EmulationKind::Atomics] {
        let emulating = |o: &mut Options, _: &mut Known<'_>| o.profile = Profile::emulating(kind);
        assert_eq!(plan(emulating, 64 << 10, 6), Plan::Engine { raises: true });
        assert_eq!(plan(emulating, 64 * MIB, 1), Plan::Engine { raises: false });
    }
    let without_channels = |o: &mut Options| {
        o.profile = Profile { channels: false, ..Profile::emulating(EmulationKind::Bracket) };
    };
    assert_eq!(plan(|o, _| without_channels(o), 64 << 10, 6), Plan::Urgent, "there are none to put it on");
}

#[test]
fn without_the_kernel_no_copy_goes_by_it() {
    let absent = |o: &mut Options, k: &mut Known<'_>| {
        (o.profile.urgent_transport, k.is_kernel_there) = (UrgentTransport::Kernel, false);
    };
    assert_eq!(plan(absent, 64 << 10, 6), Plan::Urgent);
    assert_eq!(plan(absent, 64 * MIB, 1), Plan::Engine { raises: false });
}

#[test]
fn batches_and_copies_that_tried_it_or_cannot_begin_do_not_go_early() {
    let (options, request) = (Options::default(), linear(MIB));
    let direction = Some(Direction::HostToDevice);
    let early = Known { priority: at(6), direction, placement: None, ..known(&options, &request) };
    assert_eq!(decide(&early), Go(Plan::Urgent));
    let setback = Some((Plan::Urgent, Setback::Uncovered));
    assert_eq!(decide(&Known { setback, ..early }), Ask(Question::Placement));
    assert_eq!(decide(&Known { is_together: None, ..early }), Ask(Question::Placement));
    let stated = |is_ready| decide(&Known { is_ready: Some(is_ready), ..early });
    assert_eq!((stated(true), stated(false)), (Go(Plan::Urgent), Ask(Question::Placement)));
    let placed = Known { is_together: None, ..known(&options, &request) };
    assert_eq!(decide(&placed), Ask(Question::Together), "one placement says nothing of the others");
}

#[test]
fn only_a_copy_that_may_go_early_asks_for_its_dependencies_first() {
    let (options, request) = (Options::default(), named(64 << 10, Direction::HostToDevice));
    let asked = |priority: u8, depends: Option<bool>| {
        let direction = Some(Direction::HostToDevice);
        decide(&Known { priority: at(priority), depends, direction, placement: None, ..known(&options, &request) })
    };
    assert!(matches!(asked(6, None), Ask(Question::Dependencies)));
    assert!(matches!(asked(6, Some(false)), Go(Plan::Urgent)), "its placement is never asked for");
    assert!(matches!(asked(1, None), Ask(Question::Placement)), "bulk needs it in any case");
}

#[test]
fn a_plan_that_came_to_nothing_leads_to_the_next() {
    let (engine, kernel) = (Plan::Engine { raises: true }, Plan::Kernel { raises: true });
    let after = |plan_tried, setback| plan(|_, k| k.setback = Some((plan_tried, setback)), MIB, 3);
    assert_eq!(after(engine, Setback::Occupied), kernel);
    assert_eq!(after(kernel, Setback::Occupied), Plan::Native(Reason::Occupied));
    assert_eq!(after(engine, Setback::Failed), Plan::Native(Reason::Failed));
    assert_eq!(after(kernel, Setback::RingFull), Plan::Native(Reason::Occupied));
    assert_eq!(after(Plan::UrgentKernel, Setback::Occupied), Plan::Urgent, "no guard is free");
    let unseen = Placement { seen_by_device: None, ..placement(Direction::HostToDevice) };
    let occupied = |_: &mut Options, k: &mut Known<'_>| {
        (k.setback, k.placement) = (Some((engine, Setback::Occupied)), Some(unseen));
    };
    assert_eq!(plan(occupied, MIB, 3), Plan::Native(Reason::Occupied), "the kernel cannot make it either");
    let uncovered = |_: &mut Options, k: &mut Known<'_>| k.setback = Some((Plan::Urgent, Setback::Uncovered));
    assert_eq!(plan(uncovered, MIB, 6), Plan::Urgent, "with a fence of its own");
}

/// All facts that a decision depends on, for some copy.
#[derive(Clone, Debug)]
struct World {
    options: Options,
    request: Request,
    priority: Priority,
    is_blocking: bool,
    is_passive: bool,
    is_kernel_there: bool,
    company: (Priority, Priority),
    is_ready: Option<bool>,
    depends: bool,
    placement: Placement,
    is_captured: bool,
    is_within: bool,
    budget: Budget,
}

impl World {
    /// The copy with all facts known.
    fn known(&self) -> Known<'_> {
        Known {
            priority: self.priority,
            direction: self.request.direction(),
            is_blocking: self.is_blocking,
            is_passive: self.is_passive,
            is_kernel_there: self.is_kernel_there,
            company: Some(self.company),
            is_ready: self.is_ready,
            depends: Some(self.depends),
            placement: Some(self.placement),
            is_captured: Some(self.is_captured),
            is_within: Some(self.is_within),
            budget: Some(self.budget),
            ..known(&self.options, &self.request)
        }
    }

    /// The copy with no fact known.
    fn asked(&self) -> Known<'_> {
        let (company, depends, placement, is_captured, is_within) = (None, None, None, None, None);
        Known { company, depends, placement, is_captured, is_within, budget: None, ..self.known() }
    }

    fn answer(&self, question: Question, known: &mut Known<'_>) {
        let truth = self.known();
        match question {
            Question::Company => known.company = truth.company,
            Question::Dependencies => known.depends = truth.depends,
            Question::Placement => known.placement = truth.placement,
            Question::Capture => known.is_captured = truth.is_captured,
            Question::Together => known.is_together = truth.is_together,
            Question::Bounds => known.is_within = truth.is_within,
            Question::Budget => known.budget = truth.budget,
        }
    }

    /// The plan after asking for facts one by one, and the questions on the way.
    fn ask(&self) -> (Plan, Vec<Question>) {
        let (mut known, mut questions) = (self.asked(), Vec::new());
        loop {
            match decide(&known) {
                Go(plan) => return (plan, questions),
                Spend(_) => return (Plan::Native(Reason::WithinBudget), questions),
                Ask(question) => {
                    assert!(!questions.contains(&question), "{question:?} is asked twice");
                    questions.push(question);
                    self.answer(question, &mut known);
                }
            }
        }
    }

    /// The same copy, with pinned memory and in a stream without a capture.
    fn as_supposed(&self) -> World {
        let kind = Some(MemoryKind::Pinned);
        let direction = self.request.direction().unwrap_or(self.placement.direction);
        World { placement: Placement { kind, direction, ..self.placement }, is_captured: false, ..self.clone() }
    }
}

fn options() -> impl Strategy<Value = Options> {
    let transport = prop::sample::select(Transport::ALL.to_vec());
    let urgent = prop::sample::select(UrgentTransport::ALL.to_vec());
    let guard = prop::sample::select(vec![None, Some(MIB)]);
    let switches = (prop::bool::weighted(0.9), any::<bool>(), any::<bool>(), prop::bool::weighted(0.2));
    let peer_gbps = prop::sample::select(vec![None, Some(50)]);
    (switches, transport, urgent, guard.clone(), guard, peer_gbps).prop_map(
        |((enabled, channels, lull, is_whole), transport, urgent_transport, guard_bytes_min, calm, peer_gbps)| {
            let calm = calm::up_to(calm);
            let profile =
                Profile { transport, urgent_transport, guard_bytes_min, calm, channels, lull, ..Profile::LIBRARY };
            let wait_budget = if is_whole { WHOLE_BULK_FROM } else { hal::Nanos::ZERO };
            Options { enabled, peer_gbps, wait_budget, profile, ..Options::default() }
        },
    )
}

fn worlds() -> impl Strategy<Value = World> {
    let directions = [Direction::HostToDevice, Direction::DeviceToHost, Direction::DeviceToDevice, Direction::Peer];
    let kinds = [MemoryKind::Pageable, MemoryKind::Pinned, MemoryKind::Managed, MemoryKind::Device];
    let kind = prop_oneof![Just(None), prop::sample::select(kinds.to_vec()).prop_map(Some)];
    let placement = (prop::sample::select(directions.to_vec()), kind, any::<bool>());
    let bytes = prop::sample::select(vec![0, 8, INLINE_BYTES_MAX, INLINE_BYTES_MAX + 8, 64 << 10, MIB, 64 * MIB]);
    let levels = (1..=3_u8, 1..=3_u8, 1..=3_u8);
    let likely = prop::bool::weighted;
    let ready = prop_oneof![Just(None), any::<bool>().prop_map(Some)];
    let facts = (likely(0.2), likely(0.2), any::<bool>(), likely(0.3), likely(0.3), likely(0.8), ready);
    let flags = (any::<bool>(), any::<bool>(), tolerated::turns());
    (options(), bytes, flags, placement, levels, facts).prop_map(
        |(options, bytes, (is_named, is_calm, budget), (direction, kind, is_seen), levels, facts)| {
            let (is_blocking, is_passive, is_kernel_there, depends, is_captured, is_within, is_ready) = facts;
            let priority = at(levels.0);
            World {
                options,
                request: if is_named { named(bytes, direction) } else { linear(bytes) },
                priority,
                is_blocking,
                is_passive,
                is_kernel_there,
                company: (priority.min(at(levels.1)), priority.max(at(levels.2))),
                is_ready,
                depends,
                placement: Placement { direction, kind, seen_by_device: is_seen.then_some(DevicePtr(0x9000)) },
                is_captured,
                is_within,
                budget: Budget { is_calm, ..budget },
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 20 } else { 4096 }))]

    /// Asking for facts one by one gives the same plan as all of them together. If the driver was not asked, it gives
    /// the plan for pinned memory and a stream without a capture.
    #[test]
    fn an_early_decision_is_the_full_one_under_the_facts_that_it_supposes(world in worlds()) {
        let (plan, questions) = world.ask();
        if questions.contains(&Question::Placement) {
            prop_assert_eq!(plan, plan_of(&world.known()));
        }
        let supposed = world.as_supposed();
        if questions == [Question::Company, Question::Dependencies] {
            prop_assert_eq!(plan, Plan::Urgent);
            prop_assert_eq!(plan, plan_of(&supposed.known()));
        }
        prop_assert!(questions.len() <= 6 && questions.first().is_none_or(|first| *first == Question::Company));
    }

    /// If the supposed facts are wrong, the driver still gets the program's call, with the word raised or not.
    #[test]
    fn an_early_decision_leaves_the_copy_to_the_driver(world in worlds()) {
        let (plan, questions) = world.ask();
        if !questions.contains(&Question::Placement) {
            let is_native = matches!(plan, Plan::Urgent | Plan::Native(_));
            prop_assert!(is_native, "{plan:?}");
            let is_held_up = world.is_blocking || world.depends || world.is_ready == Some(false);
            prop_assert!(plan != Plan::Urgent || !(is_held_up || world.is_passive));
        }
    }

    /// After any failure of a plan asking leads to another plan, and after at most three the driver has the copy.
    #[test]
    fn setbacks_end_with_the_driver(world in worlds(), setbacks in prop::collection::vec(0..3_usize, 5)) {
        let mut known = world.known();
        let mut tried = Vec::new();
        for setback in setbacks {
            let (plan, spent) = way_of(&known);
            if matches!(plan, Plan::Native(_)) && !is_tracked(&known, plan, spent) {
                break;
            }
            prop_assert!(!tried.contains(&plan), "{plan:?} is tried again");
            tried.push(plan);
            let setback = [Setback::RingFull, Setback::Occupied, Setback::Failed][setback];
            known.setback = Some((plan, setback));
        }
        prop_assert!(tried.len() <= 3, "{tried:?}");
        let (last, spent) = way_of(&known);
        prop_assert!(matches!(last, Plan::Native(_)) && !is_tracked(&known, last, spent));
    }
}
