//! All settings and their defaults.

use channels::share::ShareOptions;
use channels::watchdog::Patience;
use hal::Nanos;
use semaphores::Kind;
use terms::{Direction, Priorities};

use crate::workers::Workers;

/// The hardware that moves the bytes of a copy that may have to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// Chosen for each copy by the rules of `decide/mod.rs`.
    Auto,
    /// The copy engine, in chunks, through a channel.
    Engine,
    /// The copy kernel, in the application's own stream.
    Kernel,
    /// The driver's own copy, which never waits for others.
    Native,
}

/// The hardware that moves the bytes of an urgent copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UrgentTransport {
    /// The copy engine, in the application's own stream; bulk is held off meanwhile.
    Engine,
    /// The copy kernel, beside the work of the engine; bulk is not held off.
    Kernel,
}

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

impl Default for DemandOptions {
    fn default() -> DemandOptions {
        // Two 4K frames of NV12, or five of 1080p, at once; an eighth of a link of 55 GB/s.
        DemandOptions { burst_bytes: 16 << 20, gbps: 6 }
    }
}

impl Transport {
    /// All transports.
    pub const ALL: [Transport; 4] = [Transport::Auto, Transport::Engine, Transport::Kernel, Transport::Native];

    /// The word in options.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Transport::Auto => "auto",
            Transport::Engine => "engine",
            Transport::Kernel => "kernel",
            Transport::Native => "native",
        }
    }

    pub(crate) fn from_name(name: &str) -> Option<Transport> {
        Transport::ALL.into_iter().find(|transport| transport.name() == name)
    }
}

impl UrgentTransport {
    /// All transports of urgent copies.
    pub const ALL: [UrgentTransport; 2] = [UrgentTransport::Engine, UrgentTransport::Kernel];

    /// The word in options.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            UrgentTransport::Engine => "engine",
            UrgentTransport::Kernel => "kernel",
        }
    }

    pub(crate) fn from_name(name: &str) -> Option<UrgentTransport> {
        UrgentTransport::ALL.into_iter().find(|transport| transport.name() == name)
    }
}

/// The treatment of copies without a host side: those on one device, or those between devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathOptions {
    /// The hardware that moves those that may have to wait. With [`Transport::Native`] the driver makes all of them,
    /// urgent or not, and none waits or holds others off.
    pub transport: Transport,
    /// The rate of an engine there, in GB/s: the size of chunks follows from it.
    pub gbps: u32,
    /// The warps of a bulk copy kernel.
    pub workers: Workers,
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
    /// The number of hardware queues for copies of one direction, by CUDA's own variables. Copies behind a guarded one
    /// may fill a queue for each stream, and a rescue needs one more.
    pub copy_queues: u32,
}

impl GuardOptions {
    /// The number of streams with guarded copies at once, and a queue left for a rescue.
    #[must_use]
    pub fn carriers(&self) -> u32 {
        self.streams_max.min(self.copy_queues.saturating_sub(1))
    }
}

impl Default for GuardOptions {
    fn default() -> GuardOptions {
        GuardOptions { patience: Nanos::from_ms(20), streams_max: 2, copy_queues: 4 }
    }
}

/// The bulk that goes natively while no urgent copy has gone for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CalmOptions {
    /// The time without an urgent copy on an engine after which it counts as calm.
    pub after: Nanos,
    /// Larger copies go by kernel then too: the next urgent copy waits for the one that runs. `None`: all do.
    pub bytes_max: Option<u64>,
}

impl Default for CalmOptions {
    fn default() -> CalmOptions {
        CalmOptions { after: Nanos::from_ms(1_000), bytes_max: None }
    }
}

/// All settings.
///
/// # Example
/// ```
/// # use overtake_options as overtake;
/// use overtake::Options;
///
/// let options = Options { bulk_bytes_min: 4 << 20, ..Options::default() }.with("max_blocking_us", "80")?;
/// assert_eq!(options.blocking_max.0, 80_000);
///
/// let error = Options::default().with("transprot", "kernel").unwrap_err();
/// assert_eq!(error.to_string(), "no option is called transprot: is it transport?");
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
    /// The hardware that moves copies that may have to wait.
    pub transport: Transport,
    /// The hardware that moves urgent copies.
    pub urgent_transport: UrgentTransport,
    /// The operations by which copies on a channel count and wait.
    pub emulation: Kind,
    /// The longest time that one chunk may keep the engine busy, and an urgent copy waiting.
    pub blocking_max: Nanos,
    /// Copies below this size are never held up: one of them delays an urgent copy by a few microseconds at most.
    pub gate_bytes_min: u64,
    /// Copies below this size go by engine rather than by kernel, with the automatic transport.
    pub kernel_bytes_min: u64,
    /// The warps of a bulk copy kernel to the device.
    pub kernel_h2d: Workers,
    /// The warps of a bulk copy kernel to the host.
    pub kernel_d2h: Workers,
    /// Copies on one device.
    pub on_device: PathOptions,
    /// Copies between devices.
    pub peer: PathOptions,
    /// The longest time that the warps of one copy kernel wait, all waits together.
    pub kernel_wait_max: Nanos,
    /// One urgent copy of a stream in this many gets a completion ticket of its own; the others are estimated. In a
    /// burst one in four of these gets it. 1 means all copies.
    pub ticket_every: u32,
    /// The share of the time that bulk gets even under endless urgent traffic, and the length of its slices.
    pub share: ShareOptions,
    /// Whether copies may wait in channels. Without channels, copies that cannot go by kernel go to the driver, and a
    /// word written behind them lets other streams have their turn.
    pub channels: bool,
    /// Bulk copies of this size and more go by guarded kernel. The copy engine replaces a kernel that finds no free
    /// multiprocessor, so no program hangs on a copy kernel that cannot begin. Smaller copies and urgent ones never go
    /// by kernel then. `None`: copy kernels go unguarded, in the application's streams, which costs a few microseconds
    /// less.
    pub guard_bytes_min: Option<u64>,
    /// Unused without `guard_bytes_min`.
    pub guard: GuardOptions,
    /// Each launch returns when its kernel is complete, by CUDA's own variable: then no copy goes by kernel.
    pub launches_block: bool,
    /// The bulk that need not go by kernel, because no copy seems to be in a hurry.
    pub calm: CalmOptions,
    /// Whether urgent copies go natively while no bulk is under way. Bulk that comes meanwhile begins beside them.
    pub lull: bool,
    /// A module with at most this many kernels has all of them loaded when the program loads it, so that their first
    /// launches hold no copy up. For the drop-in.
    pub load_ahead_kernels_max: u32,
    /// The same for a library that CUDA's runtime loads before the first launch of a program: no kernel can be waiting
    /// for the program then.
    pub load_first_kernels_max: u32,
    /// Whether large pageable copies go through pinned slots that several threads fill or empty. Off: the driver copies
    /// them with one thread.
    pub staging: bool,
    /// Smaller pageable copies are left to the driver. 0 means those that staging makes no faster: below 4 MiB to the
    /// device, or 2 MiB with eight threads, and below 1 MiB to the host.
    pub staging_bytes_min: u64,
    /// The number of those threads; 0 means half of the cores that the process may use, 8 at most.
    pub staging_threads: u32,
    /// The number of slots for each direction, of 1 MiB each; 0 means four for each thread and four more.
    pub staging_slots: u32,
    /// The limits of the watchdog: when it opens all words, and when the layer stands down.
    pub patience: Patience,
    /// The time after an urgent copy in which the watcher does not sleep. While it is awake it keeps a processor busy.
    pub watcher_awake: Nanos,
    /// The time between the watcher's looks while copies are out. A word may stay up too long by as much.
    pub watcher_nap: Nanos,
    /// Whether every copy is recorded (`Overtake::trace`).
    pub trace: bool,
    /// Whether there is a watchdog. Only tests turn it off.
    pub watchdog: bool,
    /// Whether semaphore operations are put into the application's own streams. This deadlocks; only tests turn it on.
    pub in_stream_brackets: bool,
    /// The first value of the counters of `docs/counters.md` that wrap. Only tests set it, to just below the wrap.
    pub counters_from: u32,
}

impl Options {
    /// The hardware that moves copies of this direction that may have to wait.
    #[must_use]
    pub fn transport_of(&self, direction: Direction) -> Transport {
        match direction {
            Direction::HostToDevice | Direction::DeviceToHost => self.transport,
            Direction::DeviceToDevice => self.on_device.transport,
            Direction::Peer => self.peer.transport,
        }
    }

    /// The warps of a bulk copy kernel of this direction.
    #[must_use]
    pub fn workers_of(&self, direction: Direction) -> Workers {
        match direction {
            Direction::HostToDevice => self.kernel_h2d,
            Direction::DeviceToHost => self.kernel_d2h,
            Direction::DeviceToDevice => self.on_device.workers,
            Direction::Peer => self.peer.workers,
        }
    }

    /// Whether copies of this direction have priorities: those between host and device, and those of the others that
    /// are not left to the driver.
    #[must_use]
    pub fn manages(&self, direction: Direction) -> bool {
        direction.has_host_side() || self.transport_of(direction) != Transport::Native
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
            transport: Transport::Auto,
            urgent_transport: UrgentTransport::Engine,
            emulation: Kind::Hold,
            blocking_max: Nanos::from_us(45),
            gate_bytes_min: 64 << 10,
            kernel_bytes_min: 256 << 10,
            // As few as fill the link: with more, urgent copies wait longer for bytes in flight. Measured on an H100
            // (`reports/driver/h100/2026-11-21-workers.txt`).
            kernel_h2d: Workers { blocks: 5, warps: 10 },
            kernel_d2h: Workers { blocks: 4, warps: 4 },
            // Neither was measured, so both are left to the driver. The rates are those of the software GPU.
            on_device: PathOptions {
                transport: Transport::Native,
                gbps: 1_300,
                workers: Workers { blocks: 32, warps: 16 },
            },
            peer: PathOptions { transport: Transport::Native, gbps: 375, workers: Workers { blocks: 16, warps: 16 } },
            kernel_wait_max: Nanos::from_ms(20),
            ticket_every: 8,
            share: ShareOptions::default(),
            staging: false,
            staging_bytes_min: 0,
            staging_threads: 0,
            staging_slots: 0,
            patience: Patience::default(),
            channels: true,
            watcher_awake: Nanos::from_us(3000),
            watcher_nap: Nanos::from_us(50),
            trace: false,
            guard_bytes_min: None,
            guard: GuardOptions::default(),
            launches_block: false,
            calm: CalmOptions::default(),
            lull: false,
            load_ahead_kernels_max: 0,
            load_first_kernels_max: 64,
            watchdog: true,
            in_stream_brackets: false,
            counters_from: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rescue_always_has_a_queue() {
        let carriers =
            |streams_max, copy_queues| GuardOptions { streams_max, copy_queues, ..Default::default() }.carriers();
        assert_eq!([carriers(2, 4), carriers(8, 4), carriers(2, 2), carriers(2, 1)], [2, 3, 1, 0]);
    }
}
