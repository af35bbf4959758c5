//! The ways of a copy, and the reasons for the native one.

/// The reason why a copy went to the driver unchanged.
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
    /// The driver gave an error for the addresses, or does not say that kernels of the context reach all of the memory.
    Unknown,
    /// It stays on one device.
    OnDevice,
    /// It goes between devices, and `peer_gbps` is off.
    BetweenDevices,
    /// It meets no other priority in other streams on its engine.
    Alone,
    /// Too small to hold other copies up.
    Small,
    /// Small enough for the driver to inline.
    Inlined,
    /// It is bulk, and `whole_bulk` or the transport of the profile leaves it to the driver; or a batch of the copy
    /// service, and the transport is no kernel.
    Asked,
    /// All tickets were in use.
    RingFull,
    /// The planned way failed.
    Failed,
    /// It would have to wait in a channel, and there are none.
    Unchannelled,
    /// Copies of another stream are in the channel, and wait for that stream.
    Unready,
    /// It would have to be guarded, and other streams' copies have all carriers.
    Unguarded,
    /// The kernel of the copy service cannot make it.
    Unserved,
    /// It would go by kernel, and no urgent copy has gone for a while.
    Calm,
    /// All copies to come above it tolerate the wait for it in its turn.
    Tolerated,
    /// It would have been staged, and no slot, no thread or no page was to be had.
    Unstaged,
    /// The layer does not know its stream, or no setting gives it a priority.
    LeftAlone,
    /// It is empty, or its shape is one that the driver may refuse.
    Misshapen,
}

impl Reason {
    /// All reasons.
    pub const ALL: [Reason; 23] = [
        Reason::Disabled,
        Reason::StoodDown,
        Reason::Capturing,
        Reason::Pageable,
        Reason::Managed,
        Reason::Unknown,
        Reason::OnDevice,
        Reason::BetweenDevices,
        Reason::Alone,
        Reason::Small,
        Reason::Inlined,
        Reason::Asked,
        Reason::RingFull,
        Reason::Failed,
        Reason::Unchannelled,
        Reason::Unready,
        Reason::Unguarded,
        Reason::Unserved,
        Reason::Calm,
        Reason::Tolerated,
        Reason::Unstaged,
        Reason::LeftAlone,
        Reason::Misshapen,
    ];

    /// The word in statistics.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Reason::Disabled => "disabled",
            Reason::StoodDown => "stood down",
            Reason::Capturing => "capturing",
            Reason::Pageable => "pageable",
            Reason::Managed => "managed",
            Reason::Unknown => "unknown address",
            Reason::OnDevice => "on device",
            Reason::BetweenDevices => "between devices",
            Reason::Alone => "alone",
            Reason::Small => "small",
            Reason::Inlined => "inlined",
            Reason::Asked => "asked",
            Reason::RingFull => "ring full",
            Reason::Failed => "failed otherwise",
            Reason::Unchannelled => "no channel",
            Reason::Unready => "unready channel",
            Reason::Unguarded => "no guard free",
            Reason::Unserved => "no copy service",
            Reason::Calm => "calm",
            Reason::Tolerated => "tolerated",
            Reason::Unstaged => "not staged",
            Reason::LeftAlone => "left alone",
            Reason::Misshapen => "misshapen",
        }
    }
}

/// The way of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plan {
    /// To the driver, unchanged.
    Native(Reason),
    /// To the driver, in its own stream, while all copies below it are held off.
    Urgent,
    /// By a copy kernel that waits for nothing, beside the copies on the engine.
    UrgentKernel,
    /// By a copy kernel that yields to the copies above it.
    Kernel {
        /// Whether there are copies below it to hold off.
        raises: bool,
    },
    /// Through pinned slots that several threads fill or empty: the host's side is pageable.
    Staged {
        /// Whether there are copies below it to hold off.
        raises: bool,
    },
    /// In chunks through a channel.
    Engine {
        /// Whether there are copies below it to hold off.
        raises: bool,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_a_name_of_its_own() {
        let names: std::collections::BTreeSet<&str> = Reason::ALL.into_iter().map(Reason::name).collect();
        assert!(names.len() == Reason::ALL.len() && !names.contains(""), "{names:?}");
    }
}
