//! The door of a ring: participants wait there until the last one has arrived, and are counted by their roles.

use std::sync::{Arc, OnceLock};

use crate::primitive::{Mutex, lock};
use crate::refused::Refused;
use crate::role::{Role, Roles};
use crate::side::Side;

/// The participants that have come so far.
#[derive(Clone, Debug)]
pub(crate) struct Door {
    pub size: u32,
    pub roles: Roles,
    /// A barrier of all participants: one stage.
    pub barrier: Arc<Side>,
    /// Whether the ring could begin with them.
    pub begun: Arc<OnceLock<Result<(), Refused>>>,
}

/// The place of the door.
#[derive(Debug, Default)]
pub(crate) struct Doorway(Mutex<Option<Door>>);

impl Doorway {
    /// The door with one participant more. The last one takes it away: the next to come make another.
    pub fn enter(&self, size: u32, role: Role) -> Result<Door, Refused> {
        let mut place = lock(&self.0);
        let mut door = place.take().unwrap_or_else(|| Door {
            size,
            roles: Roles::default(),
            barrier: Arc::new(Side::new(1, size)),
            begun: Arc::default(),
        });
        let first = door.size;
        if first == size {
            door.roles = door.roles.with(role);
        }
        if door.roles.all < first {
            *place = Some(door.clone());
        }
        if first == size { Ok(door) } else { Err(Refused::Size { first, other: size }) }
    }

    /// A participant has given up.
    pub fn close(&self, door: &Door) {
        let mut place = lock(&self.0);
        if place.as_ref().is_some_and(|other| Arc::ptr_eq(&other.begun, &door.begun)) {
            *place = None;
        }
    }
}
