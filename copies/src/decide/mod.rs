//! The decision which way a copy goes. It is pure: it calls no driver, reads no clock and changes nothing.
//!
//! [`decide`] gets the facts that are [`Known`] about a copy. It returns a [`Plan`], or the [`Question`] whose answer
//! it needs first; `submit/` finds the answer and decides again. It asks as late as possible, because on a thread that
//! has slept for a while a question to the driver costs a quarter of the copy.
//!
//! In a lull, while no bulk is in flight on the engine, an urgent copy has nothing to overtake (`records/traffic.rs`).
//! The first matching row decides:
//!
//! | a copy | goes |
//! |---|---|
//! | while `enabled` is off | natively |
//! | while the layer has stood down | natively |
//! | with large pageable memory on the host's side, if `staging` is on | *staged*, see below |
//! | that meets no other priority in other streams on its engine | natively: one copy at full speed |
//! | that may go *early*, see below | urgently |
//! | whose stream is being captured | natively |
//! | whose last plan came to nothing | natively; by kernel, if a channel was occupied and the kernel can |
//! | whose memory is unknown, managed or pageable | natively |
//! | on one device, or between two where `peer_gbps` is off | natively |
//! | that is below another and costs more than the *floor* | *gated*, see below |
//! | that is below another and above none | natively: no urgent copy notices it |
//! | to the device, of `INLINE_BYTES_MAX` at most | natively: it meets no engine |
//! | where semaphores are emulated (`emulated.rs`) | in chunks through a channel |
//! | with a budget that leaves bulk whole, if the kernel can | by a kernel that waits for nothing; guarded if bulk is |
//! | that is left | urgently |
//!
//! *Urgently* means natively in its own stream, with its word raised until the copy has completed.
//!
//! A copy may keep the engine for as long as the copies above it accept to wait: its wait budget (`budget.rs`). A copy
//! that goes whole costs the time of all its bytes.
//!
//! | a gated copy | goes |
//! |---|---|
//! | for a kernel, above none, in a calm, that costs no more than the *idle* budget | natively, at full speed |
//! | of one row, above none, whose turn and those of others cost no more than is *stated* | natively, with a word |
//! | for a kernel, where what is stated has room for chunks | in chunks that cost their share of it |
//! | of `kernel_bytes_min` and `guard_bytes_min`, if the kernel can: it is for a kernel | by kernel, yielding |
//! | while there are channels | in chunks, through the first of its channels in which no other stream waits |
//! | that is left | natively, with a word behind it that lets other streams have their turn |
//!
//! Chunks get their share of the stated budget, or 45 us if none is stated. A kernel is guarded if the profile says so.
//! The owners of expected copies state how long these may wait, unless the option `wait_budget_us` leaves bulk whole.
//!
//! Staged copies go through pinned slots that several threads fill or empty (`staging/README.md`). If the stream is
//! being captured, or no slot is free, the copy goes natively.
//!
//! Only the native way lets the driver check the addresses: a kernel would destroy the context where the driver merely
//! refuses the copy, and the driver reaches more memory (`reach.rs`). A native copy gets a fence if it comes after
//! copies that are less urgent ([`is_tracked`]).
//!
//! A copy goes early if it is the most urgent on its engine, the caller has named its direction and has not said that
//! it cannot begin yet, it follows no less urgent copy, and its call may return before it has completed. The decision
//! then assumes that the memory is pinned and the stream is not being captured. If so, the full table gives the same
//! plan. If not, the driver still gets the same call, and other copies are held back for the few microseconds that the
//! copy was expected to take.
//!
//! Bulk goes by kernel whenever the kernel can make the copy. On an H100 (`reports/latency`), an urgent copy on the
//! engine then takes about as long as on an idle GPU, bulk keeps nine tenths of its bandwidth, and no copy waits in a
//! hardware queue. Chunks on the engine cost latency or bandwidth, and a channel that waits.

mod budget;
mod known;
mod plan;
mod readiness;
#[cfg(test)]
mod tests;

use hal::MemoryKind;
use priority::{Direction, Priority};

use crate::placement::Placement;
use options::{Options, Transport, UrgentTransport};

pub(crate) use budget::{Budget, Others, cost};
pub(crate) use known::{Company, Decision, Known, Question, Setback, Spent};
pub use plan::{Plan, Reason};
pub(crate) use readiness::{Readiness, readiness};

use Decision::{Ask, Go, Spend};

/// The plan of a copy, or the question to answer first.
///
/// For a caller that knows few facts the compiler removes all but the first rows.
#[inline(always)]
pub(crate) fn decide(known: &Known<'_>) -> Decision {
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
#[inline(always)]
pub(crate) fn decide_alone(known: &Known<'_>) -> Option<Decision> {
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
#[inline(never)] // small copies need none of it
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

/// Whether the options leave urgent copies in their own streams.
pub(crate) fn leaves_urgent_copies(options: &Options) -> bool {
    options.urgent_transport() == UrgentTransport::Engine
}

/// Whether a copy with this plan has a fence, so that its completion is seen.
pub(crate) fn is_tracked(known: &Known<'_>, plan: Plan, spent: Option<Spent>) -> bool {
    match plan {
        Plan::Native(_) if spent == Some(Spent::Stated) => true,
        // There is no lull until it has completed, so that urgent copies go by kernel beside it.
        Plan::Native(Reason::LeftAlone) if is_passed_by_kernels(known) => true,
        // The write of its fence would be a node of the program's graph.
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
    options.profile.lull && options.urgent_transport() == UrgentTransport::Kernel && !is_short(known)
}

fn natively(reason: Reason) -> Decision {
    Go(Plan::Native(reason))
}

/// Whether the copy can be urgent before its placement and its stream's capture are known. A copy whose early plan has
/// failed asks for both.
#[inline(always)]
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
#[inline(always)]
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
    if let Plan::Native(_) | Plan::Urgent = plan {
        return Go(plan);
    }
    let (may_idle, may_be_stated) = (may_idle(known, plan), may_be_stated(known, plan, placement.direction));
    let plan = match known.budget {
        _ if !may_idle && !may_be_stated => plan,
        None => return Ask(Question::Budget),
        Some(budget) if may_idle && budget.is_calm => return Spend(Spent::Idle),
        Some(budget) if may_be_stated && is_whole_within(known, plan, &budget) => return Spend(Spent::Stated),
        Some(budget) if may_be_stated => plan_within(known, plan, &budget),
        Some(_) => plan,
    };
    match known.is_within {
        Some(true) => Go(plan),
        None => Ask(Question::Bounds),
        // Only the driver can tell its fault.
        Some(false) => natively(Reason::OtherMemory),
    }
}

/// Whether the copy costs no more than the idle budget, and that may be spent on it: it is bulk that no other copy
/// yields to.
fn may_idle(known: &Known<'_>, plan: Plan) -> bool {
    let is_short = known.options.profile.calm.bytes_max.is_some_and(|bytes_max| known.cargo.bytes() <= bytes_max);
    plan == Plan::Kernel { raises: false } && !known.is_served && is_short
}

/// Whether a stated budget may be spent on the copy.
fn may_be_stated(known: &Known<'_>, plan: Plan, direction: Direction) -> bool {
    let is_free = known.options.transport_of(direction) == Transport::Auto && direction.has_host_side();
    is_free && !known.is_served && matches!(plan, Plan::Kernel { .. } | Plan::Engine { raises: false })
}

/// Whether such a copy may go whole in its turn.
fn is_whole_within(known: &Known<'_>, plan: Plan, budget: &Budget) -> bool {
    // A copy that holds others off would pass none of them in its turn.
    let may_be_whole = matches!(plan, Plan::Kernel { raises: false } | Plan::Engine { raises: false });
    // Another thread has taken the turn if the copy has tried that.
    let is_refused = known.setback.is_some_and(|(tried, _)| tried == Plan::Native(Reason::WithinBudget));
    may_be_whole && !is_refused && known.cargo.is_row() && budget.admits_whole()
}

/// The plan of one that may not, as far as what all above it state allows another one.
fn plan_within(known: &Known<'_>, plan: Plan, budget: &Budget) -> Plan {
    let (profile, unstated) = (&known.options.profile, known.options.profile.chunk_max);
    let may_be_cut = profile.channels && budget.has_room_for_chunks(unstated) && budget.admits_chunks(unstated);
    match plan {
        Plan::Kernel { raises } if may_be_cut => Plan::Engine { raises },
        _ => plan,
    }
}

/// Whether the copy costs so little that no owner of urgent copies notices it.
fn is_short(known: &Known<'_>) -> bool {
    known.cargo.bytes() < known.options.profile.gate_bytes_min
}

fn has_failed(known: &Known<'_>) -> bool {
    known.setback.is_some_and(|(_, setback)| setback != Setback::Uncovered)
}

/// The next plan after one that failed.
fn plan_after_setback(known: &Known<'_>) -> Option<Plan> {
    let (tried, setback) = known.setback?;
    let reason = match (tried, setback) {
        (_, Setback::Uncovered) => return None,
        (Plan::Native(Reason::WithinBudget), Setback::Occupied) => return None,
        (_, Setback::Failed) => Reason::Failed,
        (_, Setback::Unstaged) => Reason::Unstaged,
        (Plan::Engine { raises }, Setback::Occupied) if kernel_can(known) => {
            return Some(Plan::Kernel { raises });
        }
        (Plan::UrgentKernel, Setback::Occupied) => return Some(Plan::Urgent),
        (_, Setback::Occupied | Setback::RingFull) => Reason::Occupied,
    };
    Some(Plan::Native(reason))
}

/// The reason to go natively at any priority, if there is one.
fn obstacle(options: &Options, placement: &Placement) -> Option<Reason> {
    let is_left = !options.manages(placement.direction);
    match placement.kind {
        None | Some(MemoryKind::Managed) => Some(Reason::OtherMemory),
        Some(_) if is_left => Some(Reason::NoHostSide),
        Some(MemoryKind::Device) if !placement.direction.has_host_side() => None,
        Some(MemoryKind::Pinned) => None,
        Some(MemoryKind::Pageable | MemoryKind::Device) => Some(Reason::Pageable),
    }
}

/// The plan of a copy that meets other priorities on its engine.
fn plan_among(known: &Known<'_>, placement: &Placement, (lowest, highest): Company) -> Plan {
    let (waits, raises) = (known.priority < highest, known.priority > lowest);
    let transport = known.options.transport_of(placement.direction);
    if known.is_served {
        return served_plan(known, transport, raises);
    }
    if waits && !is_short(known) && transport != Transport::Native {
        return gated_plan(known, transport, raises);
    }
    if !raises {
        return Plan::Native(match transport {
            Transport::Native => Reason::LeftAlone,
            _ => Reason::WithinBudget,
        });
    }
    urgent_plan(known, placement)
}

/// The plan of a batch of the copy service: at any priority by its kernel, where one may copy.
fn served_plan(known: &Known<'_>, transport: Transport, raises: bool) -> Plan {
    match transport {
        Transport::Auto | Transport::Kernel if kernel_can(known) => Plan::Kernel { raises },
        Transport::Auto | Transport::Kernel => Plan::Native(Reason::NoKernel),
        Transport::Engine | Transport::Native => Plan::Native(Reason::LeftAlone),
    }
}

fn gated_plan(known: &Known<'_>, transport: Transport, raises: bool) -> Plan {
    let (options, bytes) = (known.options, known.cargo.bytes());
    let fits = kernel_can(known) && options.profile.guard_bytes_min.is_none_or(|bytes_min| bytes >= bytes_min);
    let by_kernel = match transport {
        Transport::Kernel => fits,
        Transport::Auto => fits && bytes >= options.profile.kernel_bytes_min,
        Transport::Engine | Transport::Native => false,
    };
    match by_kernel {
        true => Plan::Kernel { raises },
        false if options.profile.channels => Plan::Engine { raises },
        false => Plan::Native(Reason::NoKernel),
    }
}

fn urgent_plan(known: &Known<'_>, placement: &Placement) -> Plan {
    let options = known.options;
    if known.cargo.is_inlined(placement.direction) {
        return Plan::Native(Reason::WithinBudget);
    }
    match options.urgent_transport() {
        UrgentTransport::Channel if options.profile.channels => Plan::Engine { raises: true },
        UrgentTransport::Kernel if kernel_can(known) => Plan::UrgentKernel,
        _ => Plan::Urgent,
    }
}

/// Whether the copy kernel moves it at full speed: the device sees both sides, and rows are aligned alike.
pub(crate) fn kernel_can(known: &Known<'_>) -> bool {
    let is_seen = known.placement.is_some_and(|placement| placement.seen_by_device.is_some());
    known.is_kernel_there && is_seen && known.cargo.is_aligned()
}
