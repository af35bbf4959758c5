//! The parts of overtake that a method has open, and the bulk beside it. All of them are there for one slice only.

use std::sync::Arc;

use hal::{PriorityRange, Result, Stream};
use measure::bulk::{Feeder, Throughput};
use measure::catalogue::Workshop;
use measure::flow::{Cargo, Flow, Plain, Through};
use measure::ground::Ground;
use overtake::dispatch::{DispatchOptions, Dispatcher};
use overtake::{Overtake, Priority};
use priority::Direction;

/// The directions of copies between host and device.
pub const BOTH: [Direction; 2] = [Direction::HostToDevice, Direction::DeviceToHost];

/// The parts of overtake that are open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parts {
    Nothing,
    /// The copy layer.
    Copies,
    /// The copy layer, and the dispatcher on it.
    Dispatcher,
}

/// Streams and parts of overtake, for one slice.
pub struct Yard {
    /// Dropped before the layer that it stands on.
    pub dispatcher: Option<Dispatcher>,
    pub overtake: Option<Arc<Overtake>>,
    pub ground: Arc<Ground>,
    pub range: PriorityRange,
    streams: Vec<Stream>,
}

impl Yard {
    /// Opens these parts.
    pub fn open(shop: &Workshop, parts: Parts) -> Result<Yard> {
        let ground = Arc::clone(&shop.ground);
        let open = || Overtake::open(ground.driver(), shop.device, shop.options.clone()).map(Arc::new);
        let overtake = (parts != Parts::Nothing).then(open).transpose()?;
        let dispatcher = match (&overtake, parts) {
            (Some(overtake), Parts::Dispatcher) => {
                let opened = Dispatcher::open(overtake, DispatchOptions::default());
                Some(opened.map_err(super::piece::driver_error)?)
            }
            _ => None,
        };
        Ok(Yard { dispatcher, overtake, ground, range: shop.range, streams: Vec::new() })
    }

    /// A stream for this slice.
    pub fn stream(&mut self, cuda_priority: i32) -> Result<Stream> {
        let stream = self.ground.stream(cuda_priority)?;
        self.streams.push(stream);
        Ok(stream)
    }

    /// The most urgent priority of the layer.
    #[must_use]
    pub fn highest(&self) -> Priority {
        self.overtake.as_ref().map_or(Priority::LOWEST, |overtake| overtake.priorities().highest())
    }

    /// Bulk in a stream of its own: through the layer if that is open. Its word counts from 0.
    pub fn bulk(&mut self, cargo: Cargo, cuda_priority: i32) -> Result<Arc<dyn Flow>> {
        let Some(overtake) = self.overtake.clone() else { return self.plain(cargo, cuda_priority) };
        let stream = self.stream(cuda_priority)?;
        let flow = Arc::new(Through { adopted: self.ground.adopt(&overtake, stream, Priority::LOWEST)?, cargo });
        flow.reset();
        Ok(flow)
    }

    /// The same past the layer.
    pub fn plain(&mut self, cargo: Cargo, cuda_priority: i32) -> Result<Arc<dyn Flow>> {
        let stream = self.stream(cuda_priority)?;
        let flow = Arc::new(Plain { ground: Arc::clone(&self.ground), cargo, stream });
        flow.reset();
        Ok(flow)
    }

    /// Closes everything. No object of the slice that uses its streams may be left.
    pub fn close(mut self) -> Result<()> {
        self.dispatcher = None;
        self.overtake = None;
        self.ground.give_back(&self.streams)
    }
}

/// Bulk that is being fed.
pub struct Fed(Vec<Feeder>);

impl Fed {
    /// Starts to feed. Returns when each flow has completed a request.
    pub fn start(flows: &[Arc<dyn Flow>]) -> Result<Fed> {
        flows.iter().map(Feeder::start).collect::<Result<Vec<_>>>().map(Fed)
    }

    /// Whether each flow has completed so many requests, or has failed.
    #[must_use]
    pub fn have_completed(&self, requests: u32) -> bool {
        self.0.iter().all(|feeder| feeder.completed() >= requests || feeder.has_failed())
    }

    /// Stops all, and returns the throughput of each.
    pub fn stop(self) -> Result<Vec<Throughput>> {
        // All are stopped, also after one that has failed.
        let stopped: Vec<Result<Throughput>> = self.0.into_iter().map(Feeder::stop).collect();
        stopped.into_iter().collect()
    }
}
