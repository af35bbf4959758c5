//! The rules: which way a copy goes. Pure, and the one place where they are written down.
//!
//! Measured on an H100 (`reports/latency`): while bulk goes by kernel, an urgent copy on the engine costs about what it
//! costs on an idle GPU, bulk keeps nine tenths of its bandwidth, and no copy waits in a hardware queue; chunks on the
//! engine cost either latency or bandwidth and a channel that waits. So bulk goes by kernel wherever the kernel can do
//! it.
//!
//! | a copy that | goes |
//! |---|---|
//! | is pageable, managed, captured, device to device, or while the shim stands down | natively |
//! | has no other priority beside it in other streams on its engine | natively: one copy at full speed |
//! | is more urgent than somebody | natively in its own stream, with the word raised until it has completed |
//! | … and H2D of at most `inline_bytes_max` | natively: the driver inlines it, it never meets the engine |
//! | has somebody above it and is below `gate_bytes_min` | natively: it delays an urgent copy by microseconds |
//! | … is at least `kernel_bytes_min`, aligned alike on both sides and mapped | by kernel, yielding to the word |
//! | … else | by engine, in chunks through a channel |
//! | … and at least `guard_bytes_min`, where that is set | by guarded kernel; smaller ones never by kernel |
//! | … or, with `channels = off`, | natively, with a word behind it that lets others have their turn |
//! | … while another stream's copies wait in the channel for that stream | by kernel if it can, or natively |

use channels::{Direction, Shape};
use semaphores::{Kind, Priority};

use crate::copy::request::Placement;
use crate::options::{Options, Transport, UrgentTransport};

/// H2D copies up to this size from pinned memory never use the copy engine (measured: 24 KiB yes, 32 KiB no).
pub const INLINE_BYTES_MAX: u64 = 24 << 10;

/// Why a copy was passed on to the driver unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    /// `enabled = off`.
    Disabled,
    /// Too many rescues, or a machine on which waiting is not safe.
    StoodDown,
    /// The stream captures.
    Capturing,
    /// The host side is not pinned.
    Pageable,
    /// Managed memory.
    Managed,
    /// The driver would not say what the addresses are.
    Unknown,
    /// Another engine than H2D and D2H.
    OtherEngine,
    /// Nobody more urgent or less urgent about.
    Alone,
    /// Too small to be worth holding up.
    Small,
    /// Small enough for the driver to inline.
    Inlined,
    /// `transport = native`.
    Asked,
    /// A ring of ours was full.
    RingFull,
    /// The way that was planned failed.
    Failed,
    /// It would have had to wait in a channel, and there are none.
    Unchannelled,
    /// Another stream's copies stand in the channel and wait for that stream.
    Unready,
    /// It would have had to be guarded, and other streams' copies are already.
    Unguarded,
    /// Its stream is not known here, or whoever decides about priorities has none for it.
    LeftAlone,
    /// It is empty, or its shape is one that the driver may not take.
    Misshapen,
}

impl Reason {
    /// All of them.
    pub const ALL: [Reason; 18] = [
        Reason::Disabled,
        Reason::StoodDown,
        Reason::Capturing,
        Reason::Pageable,
        Reason::Managed,
        Reason::Unknown,
        Reason::OtherEngine,
        Reason::Alone,
        Reason::Small,
        Reason::Inlined,
        Reason::Asked,
        Reason::RingFull,
        Reason::Failed,
        Reason::Unchannelled,
        Reason::Unready,
        Reason::Unguarded,
        Reason::LeftAlone,
        Reason::Misshapen,
    ];

    /// The name used in statistics.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Reason::Disabled => "disabled",
            Reason::StoodDown => "stood down",
            Reason::Capturing => "capturing",
            Reason::Pageable => "pageable",
            Reason::Managed => "managed",
            Reason::Unknown => "unknown address",
            Reason::OtherEngine => "other engine",
            Reason::Alone => "alone",
            Reason::Small => "small",
            Reason::Inlined => "inlined",
            Reason::Asked => "asked",
            Reason::RingFull => "ring full",
            Reason::Failed => "failed otherwise",
            Reason::Unchannelled => "no channel",
            Reason::Unready => "unready channel",
            Reason::Unguarded => "no guard free",
            Reason::LeftAlone => "left alone",
            Reason::Misshapen => "misshapen",
        }
    }
}

/// Which way a copy goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plan {
    /// To the driver, unchanged.
    Native(Reason),
    /// To the driver, in its own stream, while everything below is held off.
    Urgent,
    /// By an ungated copy kernel, beside whatever the engine does.
    UrgentKernel,
    /// By a copy kernel that yields to what is above; `raises` holds off what is below.
    Kernel {
        /// Whether anything below must be held off.
        raises: bool,
    },
    /// In chunks through a channel; `raises` holds off what is below.
    Engine {
        /// Whether anything below must be held off.
        raises: bool,
    },
}

/// What a plan depends on besides the options.
#[derive(Clone, Copy, Debug)]
pub struct Situation<'a> {
    /// The copy.
    pub shape: &'a Shape,
    /// Where its bytes are; `None` where the driver would not say.
    pub placement: Option<Placement>,
    /// Its priority.
    pub priority: Priority,
    /// The most urgent priority that any open stream has.
    pub highest_open: Priority,
    /// The least urgent priority that any open stream has.
    pub lowest_open: Priority,
    /// Whether the stream captures.
    pub capturing: bool,
    /// Whether the shim has stood down.
    pub stood_down: bool,
    /// Whether the copy kernel is there and may be used.
    pub kernel_available: bool,
}

/// Decides.
#[must_use]
pub fn plan(options: &Options, situation: &Situation<'_>) -> Plan {
    if let Some(reason) = passed_on(options, situation) {
        return Plan::Native(reason);
    }
    let waits = situation.priority < situation.highest_open;
    let raises = situation.priority > situation.lowest_open;
    let bytes = situation.shape.bytes();
    let gated = waits && bytes >= options.gate_bytes_min && options.transport != Transport::Native;
    if gated {
        return gated_plan(options, situation, raises);
    }
    if !raises {
        return Plan::Native(match (waits, options.transport) {
            (false, _) => Reason::Alone,
            (true, Transport::Native) => Reason::Asked,
            (true, _) => Reason::Small,
        });
    }
    urgent_plan(options, situation)
}

fn passed_on(options: &Options, situation: &Situation<'_>) -> Option<Reason> {
    if !options.enabled {
        return Some(Reason::Disabled);
    }
    if situation.stood_down {
        return Some(Reason::StoodDown);
    }
    if situation.highest_open == situation.lowest_open && situation.priority == situation.lowest_open {
        return Some(Reason::Alone);
    }
    if situation.capturing {
        return Some(Reason::Capturing);
    }
    let Some(placement) = situation.placement else { return Some(Reason::Unknown) };
    match placement {
        Placement { managed: true, .. } => Some(Reason::Managed),
        Placement { direction: Direction::DeviceToDevice | Direction::Peer, .. } => Some(Reason::OtherEngine),
        Placement { pinned: false, .. } => Some(Reason::Pageable),
        _ => None,
    }
}

fn gated_plan(options: &Options, situation: &Situation<'_>, raises: bool) -> Plan {
    let fits = fits_kernel(options, situation);
    let fits = fits && options.guard_bytes_min.is_none_or(|bytes_min| situation.shape.bytes() >= bytes_min);
    let by_kernel = match options.transport {
        Transport::Kernel => fits,
        Transport::Auto => fits && situation.shape.bytes() >= options.kernel_bytes_min,
        Transport::Engine | Transport::Native => false,
    };
    match by_kernel {
        true => Plan::Kernel { raises },
        false if options.channels => Plan::Engine { raises },
        false => Plan::Native(Reason::Unchannelled),
    }
}

fn urgent_plan(options: &Options, situation: &Situation<'_>) -> Plan {
    if situation.placement.is_some_and(|placement| placement.is_inlined(situation.shape)) {
        return Plan::Native(Reason::Inlined);
    }
    if options.emulation != Kind::Hold && options.channels {
        return Plan::Engine { raises: true };
    }
    // Nobody guards an urgent kernel.
    let unguarded = options.guard_bytes_min.is_none();
    if options.urgent_transport == UrgentTransport::Kernel && unguarded && kernel_can(situation) {
        return Plan::UrgentKernel;
    }
    Plan::Urgent
}

/// Whether this can go by a copy kernel that yields, where the rules do not send it that way anyway.
#[must_use]
pub(crate) fn fits_kernel(options: &Options, situation: &Situation<'_>) -> bool {
    kernel_can(situation) && options.emulation == Kind::Hold
}

/// Whether the copy kernel moves this at full speed: the device sees the host side, and rows are aligned alike.
fn kernel_can(situation: &Situation<'_>) -> bool {
    let shape = situation.shape;
    let alike = |a: u64, b: u64| (a ^ b) & 15 == 0;
    situation.kernel_available
        && shape.depth == 1
        && situation.placement.is_some_and(|placement| placement.host_seen_by_device.is_some())
        && alike(shape.target.address, shape.source.address)
        && (shape.rows == 1 || alike(shape.target.row_pitch_bytes, shape.source.row_pitch_bytes))
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use super::*;
    use hal::DevicePtr;

    fn at(priority: u8) -> Priority {
        Priority::new(priority).unwrap()
    }

    fn placement(direction: Direction) -> Placement {
        Placement { direction, pinned: true, managed: false, host_seen_by_device: Some(DevicePtr(0x1000)) }
    }

    fn decide(change: impl FnOnce(&mut Options, &mut Situation<'_>), bytes: u64, priority: u8) -> Plan {
        let shape = Shape::linear(0x2000_0000, 0x1000, bytes);
        let mut options = Options::default();
        let mut situation = Situation {
            shape: &shape,
            placement: Some(placement(Direction::HostToDevice)),
            priority: at(priority),
            highest_open: at(6),
            lowest_open: at(1),
            capturing: false,
            stood_down: false,
            kernel_available: true,
        };
        change(&mut options, &mut situation);
        plan(&options, &situation)
    }

    const MIB: u64 = 1 << 20;

    #[test]
    fn nothing_goes_by_kernel_unguarded_where_bulk_is_guarded() {
        let guard = |o: &mut Options| o.guard_bytes_min = Some(2 * MIB);
        assert_eq!(decide(|o, _| guard(o), 2 * MIB, 1), Plan::Kernel { raises: false });
        assert_eq!(decide(|o, _| guard(o), MIB, 1), Plan::Engine { raises: false });
        let urgent_by_kernel = |o: &mut Options| o.urgent_transport = UrgentTransport::Kernel;
        assert_eq!(decide(|o, _| urgent_by_kernel(o), 64 << 10, 6), Plan::UrgentKernel);
        let both = |o: &mut Options| {
            guard(o);
            urgent_by_kernel(o);
        };
        assert_eq!(decide(|o, _| both(o), 64 << 10, 6), Plan::Urgent);
    }

    #[test]
    fn the_table_row_by_row() {
        assert_eq!(decide(|_, _| {}, 64 * MIB, 1), Plan::Kernel { raises: false });
        assert_eq!(decide(|_, _| {}, 64 * MIB, 3), Plan::Kernel { raises: true });
        assert_eq!(decide(|_, _| {}, 128 << 10, 1), Plan::Engine { raises: false });
        assert_eq!(decide(|_, _| {}, 32 << 10, 1), Plan::Native(Reason::Small));
        assert_eq!(decide(|_, _| {}, 64 << 10, 6), Plan::Urgent);
        assert_eq!(decide(|_, _| {}, 64 * MIB, 6), Plan::Urgent);
        assert_eq!(decide(|_, _| {}, 16 << 10, 6), Plan::Native(Reason::Inlined));
        assert_eq!(decide(|o, _| o.urgent_transport = UrgentTransport::Kernel, 64 << 10, 6), Plan::UrgentKernel);
        assert_eq!(decide(|_, s| s.highest_open = at(1), 64 * MIB, 1), Plan::Native(Reason::Alone));
        assert_eq!(decide(|o, _| o.transport = Transport::Native, 64 * MIB, 1), Plan::Native(Reason::Asked));
    }

    #[test]
    fn what_cannot_be_handled_safely_is_passed_on() {
        let to_host = |s: &mut Situation<'_>| s.placement = Some(placement(Direction::DeviceToHost));
        assert_eq!(decide(|_, s| to_host(s), 16 << 10, 6), Plan::Urgent, "the driver inlines H2D only");
        assert_eq!(decide(|_, s| s.capturing = true, MIB, 1), Plan::Native(Reason::Capturing));
        assert_eq!(decide(|_, s| s.stood_down = true, MIB, 6), Plan::Native(Reason::StoodDown));
        assert_eq!(decide(|_, s| s.placement = None, MIB, 6), Plan::Native(Reason::Unknown));
        assert_eq!(decide(|o, _| o.enabled = false, MIB, 6), Plan::Native(Reason::Disabled));
        let pageable = Placement { pinned: false, ..placement(Direction::HostToDevice) };
        assert_eq!(decide(|_, s| s.placement = Some(pageable), MIB, 6), Plan::Native(Reason::Pageable));
        let within = placement(Direction::DeviceToDevice);
        assert_eq!(decide(|_, s| s.placement = Some(within), MIB, 1), Plan::Native(Reason::OtherEngine));
    }

    #[test]
    fn the_kernel_needs_mapped_memory_aligned_alike() {
        static SHIFTED: LazyLock<Shape> = LazyLock::new(|| Shape::linear(0x2000_0004, 0x1000, 64 * MIB));
        let plan = decide(|_, s| s.shape = &SHIFTED, 0, 1);
        assert_eq!(plan, Plan::Engine { raises: false });
        let unmapped = Placement { host_seen_by_device: None, ..placement(Direction::HostToDevice) };
        assert_eq!(decide(|_, s| s.placement = Some(unmapped), 64 * MIB, 1), Plan::Engine { raises: false });
        assert_eq!(decide(|_, s| s.kernel_available = false, 64 * MIB, 1), Plan::Engine { raises: false });
    }

    #[test]
    fn the_kernel_needs_rows_aligned_alike() {
        let rows = |target_pitch, source_pitch, rows| {
            let mut shape = Shape::linear(0x2000_0000, 0x1000, MIB);
            (shape.target.row_pitch_bytes, shape.source.row_pitch_bytes) = (target_pitch, source_pitch);
            Shape { rows, ..shape }
        };
        let way = |shape: Shape| {
            let options = Options { kernel_bytes_min: 1, ..Options::default() };
            let situation = Situation {
                shape: &shape,
                placement: Some(placement(Direction::HostToDevice)),
                priority: at(1),
                highest_open: at(6),
                lowest_open: at(1),
                capturing: false,
                stood_down: false,
                kernel_available: true,
            };
            plan(&options, &situation)
        };
        let (kernel, engine) = (Plan::Kernel { raises: false }, Plan::Engine { raises: false });
        assert_eq!(way(rows(2 * MIB, 3 * MIB, 4)), kernel);
        assert_eq!(way(rows(MIB + 8, MIB + 24, 4)), kernel, "both 8 beyond a multiple of 16");
        assert_eq!(way(rows(MIB + 8, MIB + 12, 4)), engine);
        assert_eq!(way(rows(MIB + 8, 2 * MIB, 4)), engine);
        assert_eq!(way(rows(MIB + 8, 2 * MIB, 1)), kernel, "one row has no distance to the next");
        assert_eq!(way(Shape { depth: 2, ..rows(2 * MIB, 2 * MIB, 2) }), engine);
    }

    #[test]
    fn bounds_of_sizes_are_part_of_what_they_bound() {
        let bounds = |o: &mut Options| {
            (o.gate_bytes_min, o.kernel_bytes_min, o.guard_bytes_min) = (MIB, 2 * MIB, Some(2 * MIB));
        };
        assert_eq!(decide(|o, _| bounds(o), MIB - 16, 1), Plan::Native(Reason::Small));
        assert_eq!(decide(|o, _| bounds(o), MIB, 1), Plan::Engine { raises: false }, "it waits at the gate");
        assert_eq!(decide(|o, _| bounds(o), 2 * MIB - 16, 1), Plan::Engine { raises: false });
        assert_eq!(decide(|o, _| bounds(o), 2 * MIB, 1), Plan::Kernel { raises: false });
        let unguarded = |o: &mut Options| {
            bounds(o);
            o.guard_bytes_min = None;
        };
        assert_eq!(decide(|o, _| unguarded(o), 2 * MIB - 16, 1), Plan::Engine { raises: false });
        assert_eq!(decide(|o, _| unguarded(o), 2 * MIB, 1), Plan::Kernel { raises: false });
        assert_eq!(decide(|_, _| {}, INLINE_BYTES_MAX, 6), Plan::Native(Reason::Inlined));
        assert_eq!(decide(|_, _| {}, INLINE_BYTES_MAX + 16, 6), Plan::Urgent);
    }

    #[test]
    fn other_emulations_put_urgent_copies_on_channels_too() {
        assert_eq!(decide(|o, _| o.emulation = Kind::Bracket, 64 << 10, 6), Plan::Engine { raises: true });
        assert_eq!(decide(|o, _| o.emulation = Kind::Atomics, 64 * MIB, 1), Plan::Engine { raises: false });
    }
}
