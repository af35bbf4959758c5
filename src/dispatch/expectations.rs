//! The copies that the dispatcher has told the copy layer to expect.
//!
//! Copies of a priority are expected while tasks with such copies have not ended, and for a while after: the next
//! frame's tasks are not there yet when those of the last one have ended. Copies that their owner expects itself, as a
//! pipeline with a period does, are not expected here again.

use std::sync::Arc;

use copies::{Direction, Expected, Overtake, Priority};
use graph::Kind;
use hal::Nanos;

use crate::dispatch::body::{ANNOUNCED, Character};

/// Copies are expected for so long after the last task with such copies has ended.
pub(crate) const LINGER: Nanos = Nanos::from_ms(50);

/// Copies of one priority, one way, by one device.
#[derive(Debug)]
struct Expectation {
    priority: Priority,
    direction: Direction,
    device: u8,
    /// Tasks that have not ended.
    tasks: u32,
    /// When it was first seen without any.
    idle_since: Option<Nanos>,
    _expected: Expected,
}

/// All expectations of a dispatcher.
#[derive(Debug)]
pub(crate) struct Expectations {
    list: Vec<Expectation>,
    layers: Vec<Arc<Overtake>>,
}

impl Expectations {
    /// None, of copies of these layers, one for each device.
    pub fn new(layers: &[Arc<Overtake>]) -> Expectations {
        Expectations { list: Vec::new(), layers: layers.to_vec() }
    }

    /// A task has been submitted.
    pub fn begun(&mut self, task: Character) -> hal::Result<()> {
        let Character { kind, priority, device } = task;
        let Kind::Copy(direction) = kind else { return Ok(()) };
        if device == ANNOUNCED {
            return Ok(());
        }
        if let Some(known) = self.find(direction, priority, device) {
            known.tasks += 1;
            known.idle_since = None;
            return Ok(());
        }
        let expected = self.layers[usize::from(device)].expect(priority, Some(direction))?;
        self.list.push(Expectation { priority, direction, device, tasks: 1, idle_since: None, _expected: expected });
        Ok(())
    }

    /// It has ended. Returns whether it was the last.
    pub fn ended(&mut self, task: Character) -> bool {
        let Character { kind, priority, device } = task;
        let Kind::Copy(direction) = kind else { return false };
        if device == ANNOUNCED {
            return false;
        }
        let Some(known) = self.find(direction, priority, device) else { return false };
        known.tasks -= 1;
        known.tasks == 0
    }

    fn find(&mut self, direction: Direction, priority: Priority, device: u8) -> Option<&mut Expectation> {
        let wanted = (direction, priority, device);
        self.list.iter_mut().find(|known| (known.direction, known.priority, known.device) == wanted)
    }

    /// Ends those that no task has needed for a while.
    pub fn look(&mut self, now: Nanos) {
        self.list.retain_mut(|known| known.tasks > 0 || now < *known.idle_since.get_or_insert(now) + LINGER);
    }

    /// Whether one waits for its end.
    pub fn is_lingering(&self) -> bool {
        self.list.iter().any(|known| known.tasks == 0)
    }
}
