//! What the numbers of random programs stand for.

use std::num::NonZeroU32;

use overtake_graph::{Cause, Direction, Kind};

/// The cause of a failure of this task.
pub fn cause(task: usize) -> Cause {
    Cause(NonZeroU32::new(task as u32 + 1).unwrap())
}

/// A kind for each number.
pub fn kind(number: u8) -> Kind {
    match number % 8 {
        0 => Kind::Empty,
        1 => Kind::Host,
        2 => Kind::Light,
        3 => Kind::Copy(Direction::HostToDevice),
        4 => Kind::Copy(Direction::DeviceToHost),
        _ => Kind::Kernel,
    }
}
