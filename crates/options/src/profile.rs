//! Measured values that users need not choose: constants of a deployment, which tests change.

use channels::share::ShareOptions;
use channels::watchdog::RESCUES;
use hal::Nanos;
use semaphores::EmulationKind;

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
    /// The copy engine, in chunks, through a channel, as bulk: the emulations need it.
    Channel,
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
    pub const ALL: [UrgentTransport; 3] = [UrgentTransport::Engine, UrgentTransport::Kernel, UrgentTransport::Channel];

    /// The word in options.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            UrgentTransport::Engine => "engine",
            UrgentTransport::Kernel => "kernel",
            UrgentTransport::Channel => "channel",
        }
    }

    pub(crate) fn from_name(name: &str) -> Option<UrgentTransport> {
        UrgentTransport::ALL.into_iter().find(|transport| transport.name() == name)
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

/// Copies of this size and more may go by guarded kernel under the drop-in.
const GUARDED_BYTES_MIN: u64 = 1 << 20;

/// A time without urgent copies after which an engine counts as calm.
const CALM_AFTER: Nanos = Nanos::from_ms(1_000);

/// The values that a deployment fixes. Choose one of the constants, or [`Profile::emulating`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Profile {
    /// The hardware that moves copies that may have to wait. Other than [`Transport::Auto`] for tests and measurements.
    #[doc(hidden)]
    pub transport: Transport,
    /// The hardware that moves urgent copies.
    #[doc(hidden)]
    pub urgent_transport: UrgentTransport,
    /// The operations by which copies on a channel count and wait.
    #[doc(hidden)]
    pub emulation: EmulationKind,
    /// Copies below this size are never held up: one of them delays an urgent copy by a few microseconds at most.
    #[doc(hidden)]
    pub gate_bytes_min: u64,
    /// Copies below this size go by engine rather than by kernel, with the automatic transport.
    #[doc(hidden)]
    pub kernel_bytes_min: u64,
    /// The time that one chunk may keep the engine, and an urgent copy waiting, where the owners of urgent copies state
    /// no wait. Where they state one, chunks have their share of it.
    #[doc(hidden)]
    pub chunk_max: Nanos,
    /// The warps of a bulk copy kernel to the device.
    #[doc(hidden)]
    pub kernel_h2d: Workers,
    /// The warps of a bulk copy kernel to the host.
    #[doc(hidden)]
    pub kernel_d2h: Workers,
    /// The longest time that the warps of one copy kernel wait, all waits together.
    #[doc(hidden)]
    pub kernel_wait_max: Nanos,
    /// One urgent copy of a stream in this many gets a fence of its own; the others are estimated. In a
    /// burst one in four of these gets it. 1 means all copies.
    #[doc(hidden)]
    pub fence_every: u32,
    /// The share of the time that bulk gets even under endless urgent traffic, and the length of its slices.
    #[doc(hidden)]
    pub share: ShareOptions,
    /// Whether copies may wait in channels. Without channels, copies that cannot go by kernel go to the driver, and a
    /// word written behind them lets other streams have their turn.
    #[doc(hidden)]
    pub channels: bool,
    /// Bulk copies of this size and more go by guarded kernel. The copy engine replaces a kernel that finds no free
    /// multiprocessor, so no program hangs on a copy kernel that cannot begin. Smaller copies and urgent ones never go
    /// by kernel then. `None`: copy kernels go unguarded, in the application's streams, which costs a few microseconds
    /// less.
    #[doc(hidden)]
    pub guard_bytes_min: Option<u64>,
    /// The bulk that need not go by kernel, because no copy seems to be in a hurry.
    #[doc(hidden)]
    pub calm: CalmOptions,
    /// Whether urgent copies go natively while no bulk is under way. Bulk that comes meanwhile begins beside them.
    #[doc(hidden)]
    pub lull: bool,
    /// Smaller pageable copies are left to the driver. 0 means those that staging makes no faster: below 4 MiB to the
    /// device, or 2 MiB with eight threads, and below 1 MiB to the host.
    #[doc(hidden)]
    pub staging_bytes_min: u64,
    /// The number of slots for each direction, of 1 MiB each; 0 means four for each thread and four more.
    #[doc(hidden)]
    pub staging_slots: u32,
    /// After this many rescues the layer stands down to plain copies for a while.
    #[doc(hidden)]
    pub rescues_max: u32,
    /// The first value of the counters of `docs/counters.md` that wrap. Only tests set it, to just below the wrap.
    #[doc(hidden)]
    pub counters_from: u32,
}

impl Profile {
    /// The Rust library: copies may wait in channels, and copy kernels go unguarded.
    pub const LIBRARY: Profile = Profile {
        transport: Transport::Auto,
        urgent_transport: UrgentTransport::Engine,
        emulation: EmulationKind::Hold,
        gate_bytes_min: 64 << 10,
        kernel_bytes_min: 256 << 10,
        chunk_max: Nanos::from_us(45),
        // As few as fill the link: with more, urgent copies wait longer for bytes in flight. Measured on an H100
        // (`reports/driver/h100/2026-11-21-workers.txt`).
        kernel_h2d: Workers { blocks: 5, warps: 10 },
        kernel_d2h: Workers { blocks: 4, warps: 4 },
        kernel_wait_max: Nanos::from_ms(20),
        fence_every: 8,
        share: ShareOptions::DEFAULT,
        channels: true,
        guard_bytes_min: None,
        calm: CalmOptions { after: CALM_AFTER, bytes_max: None },
        lull: false,
        staging_bytes_min: 0,
        staging_slots: 0,
        rescues_max: RESCUES.failures_max,
        counters_from: 0,
    };

    /// The drop-in and the C library, for programs that were not written for overtake: no channels, and a guard at
    /// every copy kernel.
    pub const DROP_IN: Profile = Profile {
        channels: false,
        // An unguarded copy kernel that cannot begin would hang a program that fills the device and waits. Copies
        // below this size never go by kernel.
        kernel_bytes_min: GUARDED_BYTES_MIN,
        guard_bytes_min: Some(GUARDED_BYTES_MIN),
        // The first urgent copies after a calm second wait for one such copy each, for 0.15 ms at most.
        calm: CalmOptions { after: CALM_AFTER, bytes_max: Some(8 << 20) },
        // A program without bulk pays nothing for its urgent copies, and one with bulk only beside it.
        lull: true,
        // Bulk keeps more of its bandwidth, and an urgent copy waits 1 or 2 us longer for bytes in flight.
        kernel_h2d: Workers { blocks: 4, warps: 16 },
        kernel_d2h: Workers { blocks: 2, warps: 9 },
        ..Profile::LIBRARY
    };

    /// The library with semaphores that the device keeps, for comparison: every copy goes in chunks through a channel,
    /// and no copy by kernel (`docs/decisions/patent-emulation.md`). With [`EmulationKind::Hold`] the CPU keeps them in
    /// place of the device, and a copy goes by kernel where its channel is occupied.
    #[must_use]
    pub const fn emulating(emulation: EmulationKind) -> Profile {
        let (transport, urgent_transport) = (Transport::Engine, UrgentTransport::Channel);
        Profile { transport, urgent_transport, emulation, ..Profile::LIBRARY }
    }
}
