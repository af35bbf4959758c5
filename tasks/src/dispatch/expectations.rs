//! The copies that the dispatcher has told the copy layer to expect.
//!
//! Copies of a priority are expected while tasks with such copies have not ended, and for a while after, because the
//! tasks of the next frame come only after those of the last one have ended. Copies that their owner expects itself, as
//! a pipeline with a period does, are not announced again here.

use std::sync::Arc;

use copies::{Direction, Expected, Overtake, Priority};
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
        if task.device == ANNOUNCED {
            return Ok(());
        }
        task.kind.directions().iter().try_for_each(|direction| self.begun_one(task, *direction))
    }

    fn begun_one(&mut self, Character { priority, device, .. }: Character, direction: Direction) -> hal::Result<()> {
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
        let Character { priority, device, .. } = task;
        if device == ANNOUNCED {
            return false;
        }
        let mut is_last = false;
        for direction in task.kind.directions() {
            let Some(known) = self.find(*direction, priority, device) else { continue };
            known.tasks -= 1;
            is_last |= known.tasks == 0;
        }
        is_last
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
