//! The calls of a launch to the dispatcher that makes it.

use graph::NodeId;

use crate::dispatch::marks::Mark;
use crate::dispatch::rest::is_idle;
use crate::dispatch::shared::Shared;
use crate::work::fault::Error;
use crate::work::lane::Inside;

impl Inside for Shared {
    fn completes(&self, node: NodeId, other: NodeId) -> Result<(), Error> {
        let mut held = self.enter();
        // The other one may have been left to this thread.
        held.look_in();
        held.graph.before_at(node, other, graph::Mark::Complete)?;
        held.want(node);
        Ok(())
    }

    #[cold]
    fn may_run_again(&self, node: NodeId, lane: u8, error: &(dyn std::error::Error + Send + Sync)) -> bool {
        let (driver, stream) = (&*self.driver, self.lane(lane).raw());
        // The launch that is repeated finds no error of this look.
        let is_there = hal::beside_captures(driver, || is_idle(driver, stream)).is_ok();
        if is_there {
            let mut held = self.enter();
            held.statistics.retries += 1;
            let task = held.graph.label(node);
            drop(held);
            log::info!("task {task} failed, and runs again: {error}");
        }
        is_there
    }

    fn sync_point(&self, node: NodeId) -> Result<(), Error> {
        let mut held = self.enter();
        let point = held.graph.sync_point(node)?;
        let marks = &mut held.marks[usize::from(point.lane)];
        marks.advance(point.value);
        let Some(event) = marks.take_event() else { return Ok(()) };
        drop(held);
        let result = self.driver.event_record(event, self.lane(point.lane).raw());
        let mark = Mark { value: point.value, event, recorded: self.driver.host().now() };
        self.enter().recorded(point.lane, mark, result.clone());
        Ok(result?)
    }
}
