//! The buffers of a profiler, and the events that have arrived.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use hal::Driver;
use hal::locks::lock;
use overtake_memory::buffer::{BufferCopy, DeviceBuffer, PinnedBuffer};

use super::events::Events;

/// The events of one batch on the device, and the place in the host that they come to.
pub(super) struct Buffers {
    pub(super) device: DeviceBuffer<u8>,
    pub(super) host: PinnedBuffer<u8>,
}

/// A batch whose events are on their way to the host.
pub(super) struct UnderWay {
    pub(super) device: DeviceBuffer<u8>,
    pub(super) copy: BufferCopy<u8>,
}

pub(super) struct Store {
    pub(super) driver: Arc<dyn Driver>,
    /// The events that a buffer has room for.
    pub(super) capacity: u32,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    spare: Vec<Buffers>,
    under_way: VecDeque<UnderWay>,
    batches: Vec<Events>,
    left_out: u64,
}

impl Store {
    pub(super) fn new(driver: &Arc<dyn Driver>, capacity: u32, spare: Vec<Buffers>) -> Store {
        let state = Mutex::new(State { spare, ..State::default() });
        Store { driver: Arc::clone(driver), capacity, state }
    }

    /// Buffers that no batch uses. If there are none, the batch is left out.
    pub(super) fn take(&self) -> Option<Buffers> {
        self.poll();
        let mut state = lock(&self.state);
        let buffers = state.spare.pop();
        state.left_out += u64::from(buffers.is_none());
        buffers
    }

    pub(super) fn give(&self, buffers: Buffers) {
        lock(&self.state).spare.push(buffers);
    }

    /// A batch has ended, and its events will come.
    pub(super) fn ended(&self, under_way: UnderWay) {
        lock(&self.state).under_way.push_back(under_way);
    }

    /// A batch is not profiled.
    pub(super) fn leave_out(&self) {
        lock(&self.state).left_out += 1;
    }

    /// Reads the buffers of the batches that have ended.
    pub(super) fn poll(&self) {
        loop {
            // Out of the lock, because the question may go to the driver.
            let Some(first) = lock(&self.state).under_way.pop_front() else { return };
            // An error has come too.
            if !first.copy.handle().is_done().unwrap_or(true) {
                return lock(&self.state).under_way.push_front(first);
            }
            self.read(first);
        }
    }

    fn read(&self, UnderWay { device, copy }: UnderWay) {
        let Ok(host) = copy.wait() else { return self.leave_out() };
        let events = Events::of(&host);
        if events.lost > 0 {
            log::warn!(
                "{} block events of a batch found no room, so its profile has holes: raise ProfilerOptions::events \
                 above {}, or profile fewer launches in a batch",
                events.lost,
                self.capacity
            );
        }
        let mut state = lock(&self.state);
        state.spare.push(Buffers { device, host });
        state.batches.push(events);
    }

    /// The events that have come since the last call, and the number of batches that were left out.
    pub(super) fn collected(&self) -> (Vec<Events>, u64) {
        self.poll();
        let mut state = lock(&self.state);
        (std::mem::take(&mut state.batches), std::mem::take(&mut state.left_out))
    }
}
