//! Ready nodes that wait for room in their lanes.

use crate::node::Slot;
use crate::options::Options;
use crate::queue::Queue;

/// A queue for each lane, if lanes have a bound.
pub(crate) struct HeldBack {
    queues: Vec<Queue>,
    /// The nodes that have come here.
    pub count: u64,
}

impl HeldBack {
    pub fn new(options: &Options) -> HeldBack {
        let is_bounded = options.lane_max > 0;
        let lanes = usize::from(options.devices) * usize::from(options.groups) * usize::from(options.lanes);
        let lanes = if is_bounded { lanes } else { 0 };
        HeldBack { queues: (0..lanes).map(|_| Queue::of(options)).collect(), count: 0 }
    }

    pub fn push(&mut self, slots: &mut [Slot], node: u32) {
        let slot = &mut slots[node as usize];
        slot.is_held_back = true;
        self.queues[usize::from(slot.lane)].enter(slots, node);
        self.count += 1;
    }

    pub fn pop(&mut self, slots: &mut [Slot], lane: u8) -> Option<u32> {
        let node = self.queues.get_mut(usize::from(lane))?.pop_one(slots)?;
        slots[node as usize].is_held_back = false;
        Some(node)
    }

    pub fn remove(&mut self, slots: &mut [Slot], node: u32) {
        let slot = &mut slots[node as usize];
        slot.is_held_back = false;
        self.queues[usize::from(slot.lane)].remove(slots, node);
    }

    /// Takes all nodes away.
    pub fn drain(&mut self, slots: &mut [Slot], mut each: impl FnMut(u32)) {
        for lane in 0..self.queues.len() {
            while let Some(node) = self.pop(slots, lane as u8) {
                each(node);
            }
        }
    }
}
