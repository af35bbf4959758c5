//! Overtake as a method: it is opened with the options of that method, and only while it is measured.

use std::sync::{Arc, Mutex};

use hal::locks::lock;
use hal::{Device, Result, Stream};
use overtake::copy::{Plan, Reason};
use overtake::{Options, Overtake, Priority, Statistics};

use super::flow::{Cargo, Through};
use super::ground::{Adopted, Ground};
use super::method::{Flows, Method, Opened, Tally};
use super::native::warm_up;

/// The way of a method's copies. If the first copy goes another way, this machine does not support the method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// By the engine, in its own stream.
    OwnStream,
    /// By the engine, in chunks through a channel.
    Channel,
    /// By the copy kernel.
    Kernel,
    /// By the driver's own call, without any question.
    Unchanged,
    /// By that which overtake chooses.
    Any,
}

impl Way {
    fn is(self, plan: Plan) -> bool {
        match plan {
            _ if self == Way::Any => true,
            Plan::Urgent | Plan::Native(Reason::WithinBudget) => self == Way::OwnStream,
            Plan::Engine { .. } => self == Way::Channel,
            Plan::Kernel { .. } | Plan::UrgentKernel => self == Way::Kernel,
            Plan::Native(Reason::LeftAlone | Reason::Alone) => self == Way::Unchanged,
            Plan::Staged { .. } | Plan::Native(_) => false,
        }
    }
}

/// The settings for opening overtake.
#[derive(Clone, Debug)]
pub struct Setup {
    pub options: Options,
    /// The way of urgent copies and the way of bulk requests.
    pub ways: (Way, Way),
    /// Whether both have the same priority, so that nothing is armed.
    pub is_alone: bool,
    pub device: Device,
}

/// Overtake with one set of options.
pub struct Product {
    ground: Arc<Ground>,
    setup: Setup,
    urgent: (Stream, Cargo),
    bulk: (Stream, Cargo),
    open: Mutex<Option<(Overtake, Statistics)>>,
}

impl Product {
    /// Two streams of the ground, adopted anew whenever the method is opened.
    pub fn new(ground: &Arc<Ground>, setup: Setup, cuda: i32, cargo: (Cargo, Cargo)) -> Result<Product> {
        let bulk = (ground.stream(cuda)?, cargo.1);
        let urgent = (ground.stream(cuda)?, cargo.0);
        Ok(Product { ground: Arc::clone(ground), setup, urgent, bulk, open: Mutex::default() })
    }

    fn adopt(&self, overtake: &Overtake, stream: Stream, is_urgent: bool) -> Result<Adopted> {
        let highest = overtake.priorities().highest();
        let priority = if is_urgent && !self.setup.is_alone { highest } else { Priority::LOWEST };
        self.ground.adopt(overtake, stream, priority)
    }

    /// Makes one copy each way. Returns a description of one that went the wrong way.
    fn stray(&self, urgent: &Adopted, bulk: &Adopted) -> Result<Option<String>> {
        let flows = [(urgent, self.urgent.1, self.setup.ways.0), (bulk, self.bulk.1, self.setup.ways.1)];
        for (adopted, cargo, way) in flows {
            let plan = adopted.copy(cargo.direction, cargo.lane, 0, cargo.bytes)?.plan();
            if !way.is(plan) {
                return Ok(Some(format!("a copy that should go {way:?} went {plan:?}")));
            }
        }
        Ok(None)
    }

    fn keep(&self, overtake: Overtake, statistics: Statistics) {
        *lock(&self.open) = Some((overtake, statistics));
    }
}

impl Method for Product {
    fn open(&self) -> Result<Opened> {
        let overtake = Overtake::open(self.ground.driver(), self.setup.device, self.setup.options.clone())?;
        let urgent = self.adopt(&overtake, self.urgent.0, true)?;
        let bulk = self.adopt(&overtake, self.bulk.0, false)?;
        if let Some(reason) = self.stray(&urgent, &bulk)? {
            self.ground.driver().context_synchronize()?;
            return Ok(Opened::Unavailable(reason));
        }
        let urgent = Arc::new(Through { adopted: urgent, cargo: self.urgent.1 });
        let flows = Flows { urgent, bulk: Arc::new(Through { adopted: bulk, cargo: self.bulk.1 }) };
        warm_up(&self.ground, &flows)?;
        let statistics = overtake.statistics();
        self.keep(overtake, statistics);
        Ok(Opened::Flows(flows))
    }

    fn close(&self, urgent_copies: u64) -> Tally {
        let open = lock(&self.open).take();
        open.map_or_else(Tally::default, |(overtake, before)| {
            let urgent = (urgent_copies, self.urgent.1.bytes);
            tally(&self.setup, urgent, &before, &overtake.statistics())
        })
    }
}

/// The difference between two statistics. Between them there were this many urgent copies of this many bytes.
fn tally(setup: &Setup, (urgent_copies, urgent_bytes): (u64, u64), before: &Statistics, after: &Statistics) -> Tally {
    let expected = |reason: Reason| setup.ways.0.is(Plan::Native(reason)) || setup.ways.1.is(Plan::Native(reason));
    let mut tally = Tally { rescues: after.rescues - before.rescues, stood_down: after.stood_down, ..Tally::default() };
    for (reason, class) in &after.native {
        let copies = class.copies - before.native.get(reason).map_or(0, |class| class.copies);
        if copies > 0 && !expected(*reason) {
            tally.fallbacks.insert(reason.name().to_owned(), copies);
        }
    }
    if matches!(setup.ways.1, Way::Channel | Way::Any) {
        tally.chunked = (after.engine.bytes - before.engine.bytes, after.chunks - before.chunks);
        if setup.ways.0 == Way::Channel {
            tally.chunked = without_urgent(tally.chunked, urgent_copies, urgent_bytes);
        }
    }
    tally
}

/// Bytes and chunks without those of this many urgent copies, which went through a channel too.
fn without_urgent((bytes, chunks): (u64, u64), copies: u64, urgent_bytes: u64) -> (u64, u64) {
    let Some(mean) = bytes.checked_div(chunks).filter(|mean| *mean > 0) else { return (0, 0) };
    let urgent_chunks = copies * urgent_bytes.div_ceil(mean);
    (bytes.saturating_sub(copies * urgent_bytes), chunks.saturating_sub(urgent_chunks))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urgent_copies_do_not_shrink_the_mean_chunk() {
        let (mib, bulk_chunks) = (1 << 20, 512);
        let all = (bulk_chunks * 2 * mib + 200 * 65_536, bulk_chunks + 200);
        assert_eq!(without_urgent(all, 200, 65_536), (bulk_chunks * 2 * mib, bulk_chunks));
        assert_eq!(without_urgent((0, 0), 0, 65_536), (0, 0));
    }

    #[test]
    fn ways_tell_plans_apart() {
        assert!(Way::Kernel.is(Plan::UrgentKernel) && !Way::Kernel.is(Plan::Urgent));
        assert!(!Way::Channel.is(Plan::Native(Reason::StoodDown)));
        assert!(!Way::OwnStream.is(Plan::Native(Reason::Occupied)));
    }
}
