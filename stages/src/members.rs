//! The members of a ring.

use std::sync::Arc;

use crate::member::Member;
use crate::refused::Refused;
use crate::ring::Ring;
use crate::role::{Role, Roles};

impl Ring {
    /// Members with these roles, in this order.
    pub fn members(self: &Arc<Ring>, roles: &[Role]) -> Result<Vec<Member>, Refused> {
        self.begin(roles.iter().fold(Roles::default(), |sum, role| sum.with(*role)))?;
        Ok(roles.iter().map(|role| Member::new(self, *role)).collect())
    }

    /// `size` members, of which the first `producers` produce and all others consume (PL-02).
    pub fn split(self: &Arc<Ring>, size: u32, producers: u32) -> Result<Vec<Member>, Refused> {
        let consumers = size.saturating_sub(producers);
        Roles { all: size, producers, consumers }.check()?;
        let role = |index| if index < producers { Role::Producer } else { Role::Consumer };
        self.members(&(0..size).map(role).collect::<Vec<_>>())
    }
}
