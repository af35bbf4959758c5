//! What a running launch may ask of its dispatcher.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use copies::{Overtake, PriorityStream};
use graph::{NodeId, Priority};
use hal::{Event, EventFlags};

use crate::dispatch::marks::Mark;
use crate::dispatch::rest::is_idle;
use crate::dispatch::shared::Shared;
use crate::dispatch::state::State;
use crate::work::captures;
use crate::work::fault::{Error, Reason};
use crate::work::graphs::Graphs;
use crate::work::lane::{Call, Calls, Inside};

impl Inside for Shared {
    fn completes(&self, node: NodeId, other: NodeId) -> Result<(), Error> {
        let mut held = self.enter();
        // The other one may have been left to this thread.
        held.look_in();
        held.graph.before_at(node, other, graph::Mark::Complete)?;
        held.want(node);
        Ok(())
    }

    fn begin_span(&self, node: NodeId) -> (bool, u64) {
        let held = self.enter();
        (held.graph.comes_after(node), held.visits())
    }

    #[inline]
    fn visits(&self) -> u64 {
        self.state.visits()
    }

    fn take_events(&self, device: u8, count: u32) -> hal::Result<Arc<[Event]>> {
        let is_free = |(of, events): &mut (u8, Arc<[Event]>)| {
            // No other thread has it, or had it last.
            *of == device && events.len() >= count as usize && Arc::get_mut(events).is_some()
        };
        let mut all = hal::locks::lock(&self.span_events);
        if let Some((_, events)) = all.iter_mut().find_map(|it| is_free(it).then_some(it)) {
            return Ok(Arc::clone(events));
        }
        drop(all);
        let mut made = Vec::new();
        while made.len() < count as usize {
            match self.driver.event_create(EventFlags::DISABLE_TIMING) {
                Ok(event) => made.push(event),
                Err(error) => {
                    made.into_iter().for_each(|event| drop(self.driver.event_destroy(event)));
                    return Err(error);
                }
            }
        }
        let events: Arc<[Event]> = made.into();
        hal::locks::lock(&self.span_events).push((device, Arc::clone(&events)));
        Ok(events)
    }

    #[inline]
    fn goes_on(&self, priority: Priority, visits: &mut u64) -> bool {
        !self.is_visited(*visits) || self.goes_on_behind_visit(priority, visits)
    }

    fn advance(&self, lanes: u64) {
        self.enter().advance(lanes);
    }

    fn end_span(&self, lanes: u64, calls: Calls) {
        // The call itself counts as one when it is reported.
        self.span_launches.fetch_add(calls.launches.wrapping_sub(1), Ordering::Relaxed);
        if lanes | calls.waits | calls.records == 0 {
            return;
        }
        let mut held = self.enter();
        held.advance(lanes);
        let statistics = &mut held.statistics;
        statistics.joins += calls.waits;
        statistics.marks += calls.records;
    }

    #[inline]
    fn note_fixed(&self, is_graph: bool) {
        let count = if is_graph { &self.graph_launches } else { &self.graph_fallbacks };
        count.fetch_add(1, Ordering::Relaxed);
    }

    fn keep_graphs(&self, graphs: &Arc<Graphs>) {
        let mut all = hal::locks::lock(&self.graphs);
        all.retain(|other| other.strong_count() > 0 && !std::ptr::eq(other.as_ptr(), Arc::as_ptr(graphs)));
        all.push(Arc::downgrade(graphs));
    }

    fn layer_of(&self, device: u8) -> &Arc<Overtake> {
        &self.layers[usize::from(device)]
    }

    #[inline]
    fn stream(&self, lane: u8) -> &PriorityStream {
        self.lane(lane)
    }

    #[cold]
    fn end_capture(&self, call: &Call) -> Option<&'static str> {
        let (left_open, lost) = self.end_captured(call);
        if let Some(error) = lost {
            self.lose(call.node, *error);
        }
        left_open.then_some(captures::LEFT_OPEN)
    }

    #[cold]
    fn lose(&self, node: NodeId, error: hal::Error) {
        let mut held = self.enter();
        let fault = held.fault(node, Reason::Device(error));
        held.lose(fault);
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
        let mark = Mark::new(point.value, event);
        self.enter().recorded(point.lane, mark, result.clone());
        Ok(result?)
    }
}

impl State {
    /// These lanes have work of a task that is in another one: a point of their own each.
    fn advance(&mut self, mut lanes: u64) {
        while lanes != 0 {
            let lane = lanes.trailing_zeros() as u8;
            lanes &= lanes - 1;
            let value = self.graph.advance(lane);
            self.sleepers.has_points = true;
            self.marks[usize::from(lane)].submit(value, true);
        }
    }
}

impl Shared {
    /// A thread has taken the lock, or has left tasks. Whether a span of this priority goes on nevertheless.
    #[inline(never)]
    fn goes_on_behind_visit(&self, priority: Priority, visits: &mut u64) -> bool {
        let mut held = self.enter();
        held.look_in();
        *visits = held.visits();
        !held.is_disturbed() && !held.graph.has_more_urgent(priority)
    }
}
