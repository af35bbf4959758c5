//! The ways that a copy can go, and the reasons for the native one.

/// The reason why a copy went to the driver unchanged. `docs/reasons.md` has what a user can do about each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    /// `enabled = off`.
    Disabled,
    /// Too many rescues, or a machine on which waiting is not safe.
    StoodDown,
    /// A setting leaves it to the driver: a rule, a long wait budget, or none that gives it a priority; or the layer
    /// does not know its stream.
    LeftAlone,
    /// It stays on one device, or goes between devices and `peer_gbps` is off.
    NoHostSide,
    /// It meets no other priority in other streams on its engine.
    Alone,
    /// It keeps the engine for no longer than those above it may wait.
    WithinBudget,
    /// The stream captures.
    Capturing,
    /// The host side is not pinned.
    Pageable,
    /// It would have been staged, and no slot, no thread or no page was to be had.
    Unstaged,
    /// Managed memory; or the driver gave an error for the addresses, or does not say that kernels of the context reach
    /// all of the memory.
    OtherMemory,
    /// It is empty, or its shape is one that the driver may refuse.
    Misshapen,
    /// It would have to give way in a copy kernel, and none can make it.
    NoKernel,
    /// Other copies had all that it needs: the fences, the channel, or the carriers of guarded copies.
    Occupied,
    /// The planned way failed.
    Failed,
}

impl Reason {
    /// All reasons.
    pub const ALL: [Reason; 14] = [
        Reason::Disabled,
        Reason::StoodDown,
        Reason::LeftAlone,
        Reason::NoHostSide,
        Reason::Alone,
        Reason::WithinBudget,
        Reason::Capturing,
        Reason::Pageable,
        Reason::Unstaged,
        Reason::OtherMemory,
        Reason::Misshapen,
        Reason::NoKernel,
        Reason::Occupied,
        Reason::Failed,
    ];

    /// The word in statistics.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Reason::Disabled => "disabled",
            Reason::StoodDown => "stood down",
            Reason::LeftAlone => "left alone",
            Reason::NoHostSide => "no host side",
            Reason::Alone => "alone",
            Reason::WithinBudget => "within budget",
            Reason::Capturing => "capturing",
            Reason::Pageable => "pageable",
            Reason::Unstaged => "not staged",
            Reason::OtherMemory => "other memory",
            Reason::Misshapen => "misshapen",
            Reason::NoKernel => "no kernel",
            Reason::Occupied => "occupied",
            Reason::Failed => "failed otherwise",
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
