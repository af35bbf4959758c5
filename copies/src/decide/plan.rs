//! The ways that a copy can go, and why one goes as the driver makes it.

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
    /// It meets no other priority in other streams on its engine.
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
    /// Its stream is not known here, or nothing gives it a priority.
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
    /// By a copy kernel that yields to the copies above.
    Kernel {
        /// Whether anything below must be held off.
        raises: bool,
    },
    /// In chunks through a channel.
    Engine {
        /// Whether anything below must be held off.
        raises: bool,
    },
}
