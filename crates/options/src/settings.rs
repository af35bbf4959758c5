//! All options and their defaults.

use std::fmt;

use channels::watchdog::RESCUE_AFTER;
use hal::Nanos;
use priority::{Direction, Priorities};

use crate::machine::Machine;
use crate::profile::{Profile, Transport, UrgentTransport};
use crate::queues::COPY_QUEUES;
use crate::words::{size, size_text};
use crate::workers::Workers;

/// The warps of a copy kernel between devices.
const PEER_WORKERS: Workers = Workers { blocks: 16, warps: 16 };

/// The rule that gives a copy its priority where neither the program, nor a rule, nor its stream does. For the drop-in
/// and the C library: in Rust every stream has its priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Automatic {
    /// Copies of [`Options::bulk_bytes_min`] and more are bulk.
    Size,
    /// Copies of a stream that moves little come first, and those of a stream that keeps the link busy are bulk.
    Demand,
    /// None: such copies are left alone.
    Off,
}

impl Automatic {
    /// All rules.
    pub const ALL: [Automatic; 3] = [Automatic::Size, Automatic::Demand, Automatic::Off];

    /// The word in options.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Automatic::Size => "size",
            Automatic::Demand => "demand",
            Automatic::Off => "off",
        }
    }

    pub(crate) fn from_name(name: &str) -> Option<Automatic> {
        Automatic::ALL.into_iter().find(|automatic| automatic.name() == name)
    }
}

/// The demand up to which a stream comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DemandOptions {
    /// The bytes that a stream may ask for at once.
    pub burst_bytes: u64,
    /// The rate at which it may ask for more for good, in GB/s.
    pub gbps: u32,
}

impl fmt::Display for DemandOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", size_text(self.burst_bytes), self.gbps)
    }
}

impl DemandOptions {
    /// `16M@6`: the bytes at once, and the rate.
    pub(crate) fn from_text(text: &str) -> Option<DemandOptions> {
        let (burst, gbps) = text.split_once('@')?;
        let gbps = gbps.parse().ok().filter(|gbps| (1..=1000).contains(gbps))?;
        Some(DemandOptions { burst_bytes: size(burst)?, gbps })
    }
}

impl Default for DemandOptions {
    fn default() -> DemandOptions {
        // Two 4K frames of NV12, or five of 1080p, at once; an eighth of a link of 55 GB/s.
        DemandOptions { burst_bytes: 16 << 20, gbps: 6 }
    }
}

/// The limits of guarded copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GuardOptions {
    /// The time that a copy kernel that could run may wait for multiprocessors.
    pub patience: Nanos,
    /// The number of streams with guarded copies under way at once; copies of other streams go natively meanwhile.
    /// Copies that these streams queue behind them occupy as many of the four hardware copy queues, and a rescue needs
    /// one.
    pub streams_max: u32,
    /// The number of hardware queues for copies of one direction. Copies behind a guarded one may fill a queue for each
    /// stream, and a rescue needs one more. `None`: by CUDA's own variables. In an open layer it is there.
    pub copy_queues: Option<u32>,
}

impl GuardOptions {
    /// The number of streams with guarded copies at once, and a queue left for a rescue.
    #[must_use]
    pub fn carriers(&self) -> u32 {
        self.streams_max.min(self.queues().saturating_sub(1))
    }

    /// The number of hardware queues for copies of one direction; where nothing is set, as the driver makes by itself.
    #[must_use]
    pub fn queues(&self) -> u32 {
        self.copy_queues.unwrap_or(COPY_QUEUES)
    }
}

impl Default for GuardOptions {
    fn default() -> GuardOptions {
        GuardOptions { patience: Nanos::from_ms(20), streams_max: 2, copy_queues: None }
    }
}

/// All options.
///
/// # Example
/// ```
/// # use overtake_options as overtake;
/// use overtake::Options;
///
/// let options = Options { bulk_bytes_min: 4 << 20, ..Options::default() }.with("wait_budget_us", "60")?;
/// assert_eq!(options.wait_budget.0, 60_000);
///
/// let error = Options::default().with("automtic", "size").unwrap_err();
/// assert_eq!(error.to_string(), "no option is called automtic: is it automatic?");
/// # Ok::<(), overtake::OptionError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// With `false` all copies go natively.
    pub enabled: bool,
    /// The number of priorities, 1 to 32.
    pub priorities: Priorities,
    /// The priority of copies to which nothing else gives one.
    pub automatic: Automatic,
    /// Copies of this size and more are bulk, with [`Automatic::Size`].
    pub bulk_bytes_min: u64,
    /// The demand of a stream that comes first, with [`Automatic::Demand`].
    pub demand: DemandOptions,
    /// The wait budget: how long an urgent copy may wait for bulk. From [`WHOLE_BULK_FROM`] on bulk stays whole on the
    /// copy engine, as natively, and urgent copies go by kernel beside it. Below that bulk gives way at once, and loses
    /// a tenth of its speed by that, unless the owners of urgent copies state a wait (`Expected::tolerating`).
    pub wait_budget: Nanos,
    /// The rate of a copy between host and device that has the link for itself, in GB/s. `None`: by what the system
    /// tells of the link, or else by the age of the device. In an open layer it is there.
    pub link_gbps: Option<u32>,
    /// The rate between devices in GB/s, if copies there have priorities. `None`: the driver makes all of them, urgent
    /// or not, and none waits or holds others off.
    pub peer_gbps: Option<u32>,
    /// The limits of guarded copies. Unused where the profile guards none.
    pub guard: GuardOptions,
    /// The time that an urgent copy may be under way without any progress, beyond the time that it needs, before the
    /// copies that wait for it are let go.
    pub rescue_after: Nanos,
    /// Each launch returns when its kernel is complete, by CUDA's own variable: then no copy goes by kernel.
    pub launches_block: bool,
    /// A module with at most this many kernels has all of them loaded when the program loads it, so that their first
    /// launches hold no copy up. For the drop-in.
    pub load_ahead_kernels_max: u32,
    /// Whether large pageable copies go through pinned slots that several threads fill or empty. Off: the driver copies
    /// them with one thread.
    pub staging: bool,
    /// The number of those threads; 0 means half of the cores that the process may use, 8 at most.
    pub staging_threads: u32,
    /// Whether every copy is recorded (`Overtake::trace`).
    pub trace: bool,
    /// The values that nobody has to choose: those of the library, of the drop-in, or of an emulation of the patent's
    /// semaphores.
    pub profile: Profile,
}

/// The wait budget from which on bulk stays whole. An urgent copy of 64 KiB then takes 29 to 55 us at the median on an
/// H200 (`reports/frontier`), and 46 to 89 guarded on an H100 (`reports/whole`), because its kernel shares the link.
pub const WHOLE_BULK_FROM: Nanos = Nanos::from_us(60);

impl Options {
    /// The options with another profile: for tests and measurements.
    #[doc(hidden)]
    #[must_use]
    pub fn with_profile(mut self, change: impl FnOnce(&mut Profile)) -> Options {
        change(&mut self.profile);
        self
    }

    /// The hardware that moves copies of this direction that may have to wait.
    #[must_use]
    pub fn transport_of(&self, direction: Direction) -> Transport {
        match self.manages(direction) && !self.leaves_bulk_whole() {
            true => self.profile.transport,
            false => Transport::Native,
        }
    }

    /// The hardware that moves urgent copies.
    #[must_use]
    pub fn urgent_transport(&self) -> UrgentTransport {
        if self.leaves_bulk_whole() { UrgentTransport::Kernel } else { self.profile.urgent_transport }
    }

    /// Whether bulk stays whole on the copy engine. It never does in a mode for comparison ([`Profile::emulating`]),
    /// which has every copy go in chunks.
    fn leaves_bulk_whole(&self) -> bool {
        self.wait_budget >= WHOLE_BULK_FROM && self.profile.urgent_transport != UrgentTransport::Channel
    }

    /// Takes the constants of this machine. Those of the measured one stay as they are.
    pub fn fit(&mut self, machine: Machine) {
        self.link_gbps = Some(machine.link_gbps);
        let profile = &mut self.profile;
        profile.gate_bytes_min = machine.bytes(profile.gate_bytes_min);
        profile.kernel_bytes_min = machine.bytes(profile.kernel_bytes_min);
        profile.guard_bytes_min = profile.guard_bytes_min.map(|bytes| machine.bytes(bytes));
        profile.calm.bytes_max = profile.calm.bytes_max.map(|bytes| machine.bytes(bytes));
        profile.kernel_h2d = machine.workers(profile.kernel_h2d);
        profile.kernel_d2h = machine.workers(profile.kernel_d2h);
    }

    /// The rate between host and device: that of the measurements where none is known.
    #[doc(hidden)]
    #[must_use]
    pub fn link_gbps(&self) -> u32 {
        self.link_gbps.unwrap_or(Machine::MEASURED.link_gbps)
    }

    /// The warps of a bulk copy kernel of this direction.
    #[must_use]
    pub fn workers_of(&self, direction: Direction) -> Workers {
        match direction {
            Direction::HostToDevice => self.profile.kernel_h2d,
            Direction::DeviceToHost => self.profile.kernel_d2h,
            Direction::DeviceToDevice | Direction::Peer => PEER_WORKERS,
        }
    }

    /// Whether copies of this direction have priorities: those between host and device, and those between devices
    /// where their rate is given.
    #[must_use]
    pub fn manages(&self, direction: Direction) -> bool {
        match direction {
            Direction::HostToDevice | Direction::DeviceToHost => true,
            // CUDA's own priorities nearly suffice there (`reports/peers`).
            Direction::DeviceToDevice => false,
            Direction::Peer => self.peer_gbps.is_some(),
        }
    }
}

impl Default for Options {
    fn default() -> Options {
        Options {
            enabled: true,
            priorities: Priorities::new(6).expect("6 is a valid count"),
            automatic: Automatic::Demand,
            bulk_bytes_min: 1 << 20,
            demand: DemandOptions::default(),
            wait_budget: Nanos::ZERO,
            link_gbps: None,
            peer_gbps: None,
            guard: GuardOptions::default(),
            rescue_after: RESCUE_AFTER,
            launches_block: false,
            load_ahead_kernels_max: 0,
            staging: false,
            staging_threads: 0,
            trace: false,
            profile: Profile::LIBRARY,
        }
    }
}

#[cfg(test)]
mod tests {
    use semaphores::EmulationKind;

    use super::*;

    #[test]
    fn a_rescue_always_has_a_queue() {
        let carriers = |streams_max, queues| {
            GuardOptions { streams_max, copy_queues: Some(queues), ..Default::default() }.carriers()
        };
        assert_eq!([carriers(2, 4), carriers(8, 4), carriers(2, 2), carriers(2, 1)], [2, 3, 1, 0]);
    }

    #[test]
    fn whole_bulk_is_left_to_the_engine_and_passed_by_kernels() {
        let ways = |wait_budget| {
            let options = Options { wait_budget, peer_gbps: Some(50), ..Options::default() };
            assert_eq!(Direction::ALL.map(|direction| options.manages(direction)), [true, true, false, true]);
            (Direction::ALL.map(|direction| options.transport_of(direction)), options.urgent_transport())
        };
        use Transport::{Auto, Native};
        assert_eq!(ways(Nanos(WHOLE_BULK_FROM.0 - 1)), ([Auto, Auto, Native, Auto], UrgentTransport::Engine));
        assert_eq!(ways(WHOLE_BULK_FROM), ([Native; 4], UrgentTransport::Kernel), "between devices too");
    }

    #[test]
    fn whole_bulk_does_not_apply_to_an_emulation() {
        for emulation in EmulationKind::ALL {
            let options =
                Options { wait_budget: WHOLE_BULK_FROM, profile: Profile::emulating(emulation), ..Options::default() };
            let ways = (options.transport_of(Direction::HostToDevice), options.urgent_transport());
            assert_eq!(ways, (Transport::Engine, UrgentTransport::Channel), "{emulation:?}");
        }
    }

    #[test]
    fn the_measured_machine_changes_nothing() {
        for profile in [Profile::LIBRARY, Profile::DROP_IN] {
            let options = Options { profile, ..Options::default() };
            let mut fitted = options.clone();
            fitted.fit(Machine::MEASURED);
            assert_eq!(fitted, Options { link_gbps: Some(55), ..options });
        }
    }

    #[test]
    fn a_slower_link_has_smaller_limits_and_fewer_warps() {
        let on = |link_gbps, multiprocessors| {
            let mut options = Options { profile: Profile::DROP_IN, ..Options::default() };
            options.fit(Machine { link_gbps, multiprocessors });
            options.profile
        };
        let l4 = on(25, 58);
        assert_eq!(
            (l4.gate_bytes_min, l4.guard_bytes_min, l4.calm.bytes_max),
            (29_789, Some(476_625), Some(3_813_003))
        );
        assert_eq!([l4.kernel_h2d, l4.kernel_d2h], [(4, 8), (2, 5)].map(|(blocks, warps)| Workers { blocks, warps }));
        let instance = on(12, 14);
        assert_eq!([instance.kernel_h2d, instance.kernel_d2h], [14, 4].map(|warps| Workers { blocks: 1, warps }));
        assert_eq!(on(400, 132), on(55, 132), "nothing was measured on a faster one");
        let instance = on(55, 16);
        let warps = [instance.kernel_h2d, instance.kernel_d2h].map(|workers| workers.blocks * workers.warps);
        assert_eq!(warps, [64, 18], "few multiprocessors have all warps that fill the link");
    }
}
