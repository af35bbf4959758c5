//! The roles of members.

use crate::refused::Refused;
use crate::word::MEMBERS_MAX;

/// The part of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It fills stages.
    Producer,
    /// It empties them.
    Consumer,
    /// It does both.
    Both,
}

impl Role {
    /// Whether it fills stages.
    #[must_use]
    pub fn produces(self) -> bool {
        self != Role::Consumer
    }

    /// Whether it empties them.
    #[must_use]
    pub fn consumes(self) -> bool {
        self != Role::Producer
    }
}

/// How many members of each role there are.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Roles {
    pub all: u32,
    pub producers: u32,
    pub consumers: u32,
}

impl Roles {
    pub fn with(self, role: Role) -> Roles {
        Roles {
            all: self.all + 1,
            producers: self.producers + u32::from(role.produces()),
            consumers: self.consumers + u32::from(role.consumes()),
        }
    }

    pub fn check(self) -> Result<(), Refused> {
        let Roles { producers, consumers, .. } = self;
        let fits = |count| (1..=MEMBERS_MAX).contains(&count);
        if fits(producers) && fits(consumers) { Ok(()) } else { Err(Refused::Members { producers, consumers }) }
    }
}
