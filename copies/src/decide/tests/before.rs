//! The decision before the wait budget, as an oracle, and each difference of the one that has it.

use hal::Nanos;
use options::CalmOptions;

use super::*;

/// The plan of a copy, or the question to answer first.
///
/// For a caller that knows few facts the compiler removes all but the first rows.
fn decide_before(known: &Known<'_>) -> Decision {
    if let Some(decision) = decide_alone(known) {
        return decision;
    }
    // It is known by now.
    let (lowest, highest) = known.company.unwrap_or((known.priority, known.priority));
    let Some(placement) = known.placement else {
        return match known.depends {
            None if may_go_early(known, highest) => Ask(Question::Dependencies),
            Some(false) if may_go_early(known, highest) && !is_inlined(known) => Go(Plan::Urgent),
            _ => Ask(Question::Placement),
        };
    };
    decide_placed(known, placement, (lowest, highest))
}

/// The rows up to that of a copy that meets no other priority; `None` if others decide.
fn decide_alone(known: &Known<'_>) -> Option<Decision> {
    if !known.is_enabled {
        return Some(natively(Reason::Disabled));
    }
    let Some((lowest, highest)) = known.company else { return Some(Ask(Question::Company)) };
    if known.is_passive {
        return Some(natively(Reason::StoodDown));
    }
    if known.may_stage
        && let Some(decision) = decide_staged(known, lowest)
    {
        return Some(decision);
    }
    // A batch shares a launch even if it is alone, because that makes it fast.
    (lowest == highest && !known.is_served).then_some(natively(Reason::Alone))
}

/// The decision on a copy that is staged if its host side is pageable; `None` if that is not.
fn decide_staged(known: &Known<'_>, lowest: Priority) -> Option<Decision> {
    let Some(placement) = known.placement else { return Some(Ask(Question::Placement)) };
    if placement.kind != Some(MemoryKind::Pageable) || !placement.direction.has_host_side() {
        return None;
    }
    Some(match (known.is_captured, known.setback) {
        (None, _) => Ask(Question::Capture),
        (Some(true), _) => natively(Reason::Capturing),
        (_, Some((_, Setback::Failed))) => natively(Reason::Failed),
        (_, Some(_)) => natively(Reason::Unstaged),
        _ => Go(Plan::Staged { raises: known.priority > lowest }),
    })
}

/// Whether a copy with this plan has a ticket, so that its completion is seen.
fn is_tracked_before(known: &Known<'_>, plan: Plan) -> bool {
    match plan {
        // Other copies count on its turn until it has completed.
        Plan::Native(Reason::Tolerated) => true,
        // There is no lull until it has completed, so that urgent copies go by kernel beside it.
        Plan::Native(Reason::Asked) if is_passed_by_kernels(known) => true,
        // The write of its ticket would be a node of the program's graph.
        Plan::Native(_) if known.is_captured == Some(true) => false,
        // The copies that it depends on are boosted while it is pending.
        Plan::Native(_) => known.depends == Some(true) && !has_failed(known),
        Plan::Staged { .. } => false,
        Plan::Urgent | Plan::UrgentKernel | Plan::Kernel { .. } | Plan::Engine { .. } => true,
    }
}

/// Whether urgent copies that meet the copy go by kernel, and those that meet none natively.
fn is_passed_by_kernels(known: &Known<'_>) -> bool {
    let options = known.options;
    let is_short = known.cargo.bytes() < options.gate_bytes_min;
    options.lull && options.urgent_transport == UrgentTransport::Kernel && !is_short
}

fn natively(reason: Reason) -> Decision {
    Go(Plan::Native(reason))
}

/// Whether the copy can be urgent before its placement and its stream's capture are known. A copy whose early plan has
/// failed asks for both.
fn may_go_early(known: &Known<'_>, highest: Priority) -> bool {
    known.priority == highest
        && !known.is_blocking
        && known.leaves_urgent_copies
        && known.setback.is_none()
        && known.is_ready != Some(false)
        && known.is_together == Some(true)
        && known.direction.is_some_and(Direction::has_host_side)
}

/// Whether the driver inlines the copy, if it is pinned.
fn is_inlined(known: &Known<'_>) -> bool {
    known.direction.is_some_and(|direction| known.cargo.is_inlined(direction))
}

/// The rows that depend on the placement.
fn decide_placed(known: &Known<'_>, placement: Placement, company: Company) -> Decision {
    if known.depends.is_none() {
        return Ask(Question::Dependencies);
    }
    match known.is_captured {
        None => return Ask(Question::Capture),
        Some(true) => return natively(Reason::Capturing),
        Some(false) => {}
    }
    if let Some(plan) = plan_after_setback(known) {
        return Go(plan);
    }
    if known.is_together.is_none() {
        return Ask(Question::Together);
    }
    let plan = match obstacle(known.options, &placement) {
        Some(reason) => Plan::Native(reason),
        None => plan_among(known, &placement, company),
    };
    let (may_be_calm, may_be_tolerated) =
        (may_be_calm(known, plan), may_be_tolerated(known, plan, placement.direction));
    let plan = match known.budget {
        _ if !may_be_calm && !may_be_tolerated => plan,
        None => return Ask(Question::Budget),
        Some(turn) if may_be_calm && turn.is_calm => Plan::Native(Reason::Calm),
        Some(turn) if may_be_tolerated => plan_in_turn(known, plan, &turn),
        Some(_) => plan,
    };
    match (plan, known.is_within) {
        (Plan::Native(_) | Plan::Urgent, _) | (_, Some(true)) => Go(plan),
        (_, None) => Ask(Question::Bounds),
        // Only the driver can tell its fault.
        (_, Some(false)) => natively(Reason::Unknown),
    }
}

/// Whether the copy goes natively if its engine is calm: it is bulk that no other copy yields to.
fn may_be_calm(known: &Known<'_>, plan: Plan) -> bool {
    let fits = known.options.calm.bytes_max.is_some_and(|bytes_max| known.cargo.bytes() <= bytes_max);
    fits && plan == Plan::Kernel { raises: false } && !known.is_served
}

/// Whether the copy may keep the engine for longer if all above it tolerate that.
fn may_be_tolerated(known: &Known<'_>, plan: Plan, direction: Direction) -> bool {
    let options = known.options;
    let is_free = options.transport_of(direction) == Transport::Auto && options.channels && direction.has_host_side();
    is_free && !known.is_served && matches!(plan, Plan::Kernel { .. } | Plan::Engine { raises: false })
}

/// The plan of such a copy, as far as all above it tolerate a wait.
fn plan_in_turn(known: &Known<'_>, plan: Plan, turn: &Budget) -> Plan {
    // A copy that holds others off would pass none of them in its turn. Where urgent copies go through channels, the
    // writes around each wait for turns too.
    let may_be_whole = matches!(plan, Plan::Kernel { raises: false } | Plan::Engine { raises: false })
        && known.options.emulation == Kind::Hold;
    // Another thread has taken the turn if the copy has tried that.
    let is_refused = known.setback.is_some_and(|(tried, _)| tried == Plan::Native(Reason::Tolerated));
    match plan {
        _ if may_be_whole && !is_refused && known.cargo.is_row() && turn.admits_whole() => {
            Plan::Native(Reason::Tolerated)
        }
        Plan::Kernel { raises } if turn.admits_chunks(known.options.blocking_max) => Plan::Engine { raises },
        _ => plan,
    }
}

fn has_failed(known: &Known<'_>) -> bool {
    known.setback.is_some_and(|(_, setback)| setback != Setback::Uncovered)
}

/// The next plan after one that failed.
fn plan_after_setback(known: &Known<'_>) -> Option<Plan> {
    let (tried, setback) = known.setback?;
    let reason = match (tried, setback) {
        (_, Setback::Uncovered) => return None,
        (Plan::Native(Reason::Tolerated), Setback::Occupied) => return None,
        (_, Setback::RingFull) => Reason::RingFull,
        (_, Setback::Failed) => Reason::Failed,
        (_, Setback::Unstaged) => Reason::Unstaged,
        (Plan::Engine { raises }, Setback::Occupied) if can_yield(known) => {
            return Some(Plan::Kernel { raises });
        }
        (Plan::UrgentKernel, Setback::Occupied) => return Some(Plan::Urgent),
        (Plan::Kernel { .. }, Setback::Occupied) => Reason::Unguarded,
        (_, Setback::Occupied) => Reason::Unready,
    };
    Some(Plan::Native(reason))
}

/// The reason to go natively at any priority, if there is one.
fn obstacle(options: &Options, placement: &Placement) -> Option<Reason> {
    let is_native = options.transport_of(placement.direction) == Transport::Native;
    match placement.kind {
        None => Some(Reason::Unknown),
        Some(MemoryKind::Managed) => Some(Reason::Managed),
        Some(_) if placement.direction == Direction::DeviceToDevice && is_native => Some(Reason::OnDevice),
        Some(_) if placement.direction == Direction::Peer && is_native => Some(Reason::BetweenDevices),
        Some(MemoryKind::Device) if !placement.direction.has_host_side() => None,
        Some(MemoryKind::Pinned) => None,
        Some(MemoryKind::Pageable | MemoryKind::Device) => Some(Reason::Pageable),
    }
}

/// The plan of a copy that meets other priorities on its engine.
fn plan_among(known: &Known<'_>, placement: &Placement, (lowest, highest): Company) -> Plan {
    let (waits, raises) = (known.priority < highest, known.priority > lowest);
    let (options, bytes) = (known.options, known.cargo.bytes());
    let transport = options.transport_of(placement.direction);
    if known.is_served {
        return served_plan(known, transport, raises);
    }
    if waits && bytes >= options.gate_bytes_min && transport != Transport::Native {
        return gated_plan(known, transport, raises);
    }
    if !raises {
        return Plan::Native(match transport {
            Transport::Native => Reason::Asked,
            _ => Reason::Small,
        });
    }
    urgent_plan(known, placement)
}

/// The plan of a batch of the copy service: at any priority by its kernel, where one may copy.
fn served_plan(known: &Known<'_>, transport: Transport, raises: bool) -> Plan {
    match transport {
        Transport::Auto | Transport::Kernel if can_yield(known) => Plan::Kernel { raises },
        Transport::Auto | Transport::Kernel => Plan::Native(Reason::Unserved),
        Transport::Engine | Transport::Native => Plan::Native(Reason::Asked),
    }
}

fn gated_plan(known: &Known<'_>, transport: Transport, raises: bool) -> Plan {
    let (options, bytes) = (known.options, known.cargo.bytes());
    let fits = can_yield(known) && options.guard_bytes_min.is_none_or(|bytes_min| bytes >= bytes_min);
    let by_kernel = match transport {
        Transport::Kernel => fits,
        Transport::Auto => fits && bytes >= options.kernel_bytes_min,
        Transport::Engine | Transport::Native => false,
    };
    match by_kernel {
        true => Plan::Kernel { raises },
        false if options.channels => Plan::Engine { raises },
        false => Plan::Native(Reason::Unchannelled),
    }
}

fn urgent_plan(known: &Known<'_>, placement: &Placement) -> Plan {
    let options = known.options;
    if known.cargo.is_inlined(placement.direction) {
        return Plan::Native(Reason::Inlined);
    }
    if options.emulation != Kind::Hold && options.channels {
        return Plan::Engine { raises: true };
    }
    if options.urgent_transport == UrgentTransport::Kernel && kernel_can(known) {
        return Plan::UrgentKernel;
    }
    Plan::Urgent
}

/// Whether a copy kernel can make the copy and yield.
fn can_yield(known: &Known<'_>) -> bool {
    kernel_can(known) && known.options.emulation == Kind::Hold
}

/// Whether the copy kernel moves it at full speed: the device sees both sides, and rows are aligned alike.
fn kernel_can(known: &Known<'_>) -> bool {
    let is_seen = known.placement.is_some_and(|placement| placement.seen_by_device.is_some());
    known.is_kernel_there && is_seen && known.cargo.is_aligned()
}

/// The settings that are shipped: of the library and of the drop-in, each with whole bulk too.
fn shipped() -> impl Strategy<Value = Options> {
    let library = Options::default();
    let drop_in = Options {
        channels: false,
        kernel_bytes_min: MIB,
        guard_bytes_min: Some(MIB),
        calm: CalmOptions { bytes_max: Some(8 * MIB), ..CalmOptions::default() },
        lull: true,
        staging: true,
        ..Options::default()
    };
    let whole = |options: &Options| Options {
        transport: Transport::Native,
        urgent_transport: UrgentTransport::Kernel,
        ..options.clone()
    };
    prop::sample::select(vec![whole(&library), whole(&drop_in), library, drop_in])
}

/// Sizes on both sides of each bound, and any.
fn sizes() -> impl Strategy<Value = u64> {
    let bounds = vec![16 << 10, 64 << 10, 256 << 10, MIB, 4 * MIB, 8 * MIB, 64 * MIB];
    let near = (prop::sample::select(bounds), 0..130_u64).prop_map(|(bound, more)| bound - 65 + more);
    prop_oneof![near, 1..128 * MIB]
}

fn budgets() -> impl Strategy<Value = Budget> {
    let times = || prop_oneof![Just(0), 1..400_000_u64].prop_map(Nanos);
    let others = (0..4_u64, times(), 0..3_u64, times()).prop_map(|(streams, longest, whole_streams, longest_whole)| {
        Others { streams, longest, whole_streams: whole_streams.min(streams), longest_whole }
    });
    (times(), any::<bool>(), others, 0..4_u64, 0..4_u64, 1..17_u64).prop_map(
        |(stated, is_calm, others, channels, urgent_streams, queues)| Budget {
            stated,
            is_calm,
            cost: Nanos::ZERO,
            others,
            channels,
            urgent_streams,
            queues,
        },
    )
}

/// Why the plans of a copy differ. Each reason is one of those that were meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Why {
    /// Copies are compared by their time, in whole nanoseconds: up to 41 bytes make none.
    Rounded,
    /// A stated wait lets bulk go whole where there are no channels too. The queues are those of CUDA's variable.
    WithoutChannels,
}

fn why(known: &Known<'_>, [before, now]: [Plan; 2]) -> Option<Why> {
    let (options, bytes) = (known.options, known.cargo.bytes());
    let is_near = |bound: u64| bytes.abs_diff(bound) < 42;
    let [small, asked, calm] = [Reason::Small, Reason::Asked, Reason::Calm].map(Plan::Native);
    match () {
        () if before == small && now != small && is_near(options.gate_bytes_min) => Some(Why::Rounded),
        // Such a copy has a ticket as longer ones.
        () if [before, now] == [asked; 2] && is_near(options.gate_bytes_min) => Some(Why::Rounded),
        () if now == calm && options.calm.bytes_max.is_some_and(is_near) => Some(Why::Rounded),
        () if now == Plan::Native(Reason::Tolerated) && !options.channels => Some(Why::WithoutChannels),
        () => None,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 20 } else { 20_000 }))]

    #[test]
    fn each_difference_has_its_reason(
        world in worlds(),
        options in shipped(),
        (bytes, budget, is_calm) in (sizes(), budgets(), any::<bool>()),
        staged in any::<bool>(),
    ) {
        let options = Options { wait_budget: Nanos::ZERO, ..options };
        let direction = world.request.direction();
        let request = direction.map_or_else(|| linear(bytes), |direction| named(bytes, direction));
        let budget = Budget { cost: cost(bytes), is_calm, ..budget };
        let world = World { request, budget, options, ..world };
        let known = Known { may_stage: staged && world.options.staging, ..world.known() };
        let (Go(before), Go(now)) = (decide_before(&known), decide(&known)) else {
            panic!("all facts are known");
        };
        let is_same = before == now && is_tracked_before(&known, before) == is_tracked(&known, now);
        prop_assert!(is_same || why(&known, [before, now]).is_some(), "{before:?} has become {now:?}");
        let idle = Known { budget: Some(Budget { is_calm, ..Budget::default() }), ..known };
        let (Go(before), Go(now)) = (decide_before(&idle), decide(&idle)) else { panic!("all facts are known") };
        prop_assert!(before == now || why(&idle, [before, now]) == Some(Why::Rounded), "nothing is stated");
    }
}

#[test]
fn each_reason_has_a_difference() {
    let plans = |options: &Options, bytes, budget| {
        let (request, budget) = (linear(bytes), Some(budget));
        let known = Known { budget, ..known(options, &request) };
        let (Go(before), Go(now)) = (decide_before(&known), decide(&known)) else { panic!("all facts are known") };
        (before, now, why(&known, [before, now]))
    };
    let (default, kernel) = (Options::default(), Plan::Kernel { raises: false });
    let short = plans(&default, (64 << 10) - 1, Budget::default());
    assert_eq!(short, (Plan::Native(Reason::Small), Plan::Engine { raises: false }, Some(Why::Rounded)));
    let calm = Options { calm: calm::up_to(Some(8 * MIB)), ..Options::default() };
    let long = plans(&calm, 8 * MIB + 1, Budget { is_calm: true, ..Budget::default() });
    assert_eq!(long, (kernel, Plan::Native(Reason::Calm), Some(Why::Rounded)));
    let without = plans(&Options { channels: false, ..default }, MIB, tolerated::whole());
    assert_eq!(without, (kernel, Plan::Native(Reason::Tolerated), Some(Why::WithoutChannels)));
}
