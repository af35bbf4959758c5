//! How members get into a ring: given at once, or counted as they join.

use std::sync::Arc;

use crate::member::Member;
use crate::patience::Goal;
use crate::refused::{Error, Refused};
use crate::ring::Ring;
use crate::role::{Role, Roles};
use crate::waiting::Waiting;
use crate::word::{Look, MEMBERS_MAX};

impl Ring {
    /// Members with these roles, in this order.
    pub fn members(self: &Arc<Ring>, roles: &[Role]) -> Result<Vec<Member>, Refused> {
        self.begin(roles.iter().fold(Roles::default(), |sum, role| sum.with(*role)))?;
        Ok(roles.iter().map(|role| Member::new(self, *role)).collect())
    }

    /// `size` members, of which the first `producers` produce and all others consume.
    pub fn split(self: &Arc<Ring>, size: u32, producers: u32) -> Result<Vec<Member>, Refused> {
        let consumers = size.saturating_sub(producers);
        Roles { all: size, producers, consumers }.check()?;
        let role = |index| if index < producers { Role::Producer } else { Role::Consumer };
        self.members(&(0..size).map(role).collect::<Vec<_>>())
    }

    /// Joins as one of `size` participants, and waits until all have joined: the ring counts the roles (PL-02).
    pub fn join(self: &Arc<Ring>, size: u32, role: Role, waiting: &dyn Waiting) -> Result<Member, Error> {
        if size == 0 || size > MEMBERS_MAX {
            return Err(Refused::Members { producers: size, consumers: size }.into());
        }
        let door = self.doorway.enter(size, role)?;
        if door.roles.all == size {
            let _ = door.begun.set(self.begin(door.roles));
        }
        let round = door.barrier.load(0).parity();
        door.barrier.arrive(0, false);
        let goal = Goal { side: &door.barrier, stage: 0, round };
        if goal.look() == Look::Open
            && let Err(error) = goal.wait(waiting, None)
        {
            self.doorway.close(&door);
            return Err(error);
        }
        door.begun.get().copied().unwrap_or(Err(Refused::InUse))?;
        Ok(Member::new(self, role))
    }
}
