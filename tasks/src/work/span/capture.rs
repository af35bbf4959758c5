//! Fixed spans: the steps of a replay are captured, and later replays are one launch of that graph.
#![allow(unsafe_code)] // the launch of a graph is unsafe; the promise of the caller that has fixed the template holds

use std::borrow::Cow;
use std::cell::Cell;
use std::sync::Arc;

use hal::{CaptureMode, CaptureStatus, Graph, GraphExec};

use crate::work::captures;
use crate::work::caught::caught;
use crate::work::function::{More, Steps};
use crate::work::graphs::{Found, Place};
use crate::work::lane::{Call, Calls, Capture, Lane};
use crate::work::span::plan::{FORK, NONE};
use crate::work::span::{Course, Pass};

/// The reason why steps cannot be a graph.
struct Refusal(Cow<'static, str>);

impl From<hal::Error> for Refusal {
    fn from(error: hal::Error) -> Refusal {
        Refusal(error.to_string().into())
    }
}

impl Course {
    /// Launches all steps as one graph, if they can be one. Returns whether they are.
    #[inline(never)] // as `launch_in_lanes`
    pub(super) fn launch_as_graph(&mut self, lane: &mut Lane<'_>, steps: &dyn Steps) -> hal::Result<bool> {
        let (site, number) = (lane.site, lane.call.lane);
        let home = std::ptr::from_ref(site.inside).addr();
        let ready = match self.graphs.as_ref().and_then(|graphs| graphs.find(home, number)) {
            Some(exec) => Some(exec),
            None => self.make_graph(lane, steps)?,
        };
        let Some(exec) = ready else {
            site.inside.note_fixed(false);
            self.goes_by_calls = true;
            return Ok(false);
        };
        lane.call.can_begin.set(Some(false));
        // SAFETY: the caller that has fixed the template vouches for the memory that its kernels access, until the
        // replay has ended. The graph stays until then: this has it.
        unsafe { site.driver.graph_launch(exec, lane.stream.raw())? };
        site.inside.note_fixed(true);
        if self.launches > 0 {
            let launches = std::mem::take(&mut self.launches);
            site.inside.end_span(0, Calls { launches, ..Calls::default() });
        }
        Ok(true)
    }

    /// The graph for a lane that has none yet, if it can be made. An error is that of a lane that is lost.
    #[cold]
    fn make_graph(&mut self, lane: &mut Lane<'_>, steps: &dyn Steps) -> hal::Result<Option<GraphExec>> {
        let Some(graphs) = self.graphs.clone() else { return Ok(None) };
        let (site, number) = (lane.site, lane.call.lane);
        let home = std::ptr::from_ref(site.inside).addr();
        let place = Place { home, group: number / site.of_a_group, lane: number };
        let captured = match graphs.find_captured(place) {
            Found::Ready(exec) => return Ok(Some(exec)),
            Found::Refused => return Ok(None),
            Found::Captured(graph) => Ok(graph),
            Found::None => self.capture(lane, steps)?,
        };
        let (layer, name) = (site.inside.layer_of(site.device), self.template.name(self.template.len() - 1));
        site.inside.keep_graphs(&graphs);
        let made = captured.and_then(|graph| {
            graphs.keep(place, layer, graph);
            Ok(hal::beside_captures(&**site.driver, || site.driver.graph_instantiate(graph))?)
        });
        match made {
            Ok(exec) => {
                graphs.keep_ready(place, exec);
                Ok(Some(exec))
            }
            Err(Refusal(reason)) => {
                let is_last = graphs.refuse(place, layer);
                let then = if is_last { "its replays go by calls" } else { "it is tried once more" };
                log::info!("the template that ends with {name:?} is no graph, and {then}: {reason}");
                Ok(None)
            }
        }
    }

    /// Calls the functions of all steps while the driver captures their lanes.
    fn capture(&mut self, lane: &mut Lane<'_>, steps: &dyn Steps) -> hal::Result<Result<Graph, Refusal>> {
        let (site, node, origin) = (lane.site, lane.call.node, lane.stream.raw());
        let driver = site.driver;
        let events = match site.inside.take_events(site.device, self.plan.events()) {
            Ok(events) => events,
            Err(error) => return Ok(Err(error.into())),
        };
        // The calls of other threads go on as ever; those of this one that wait for the device end the capture.
        if let Err(error) = driver.stream_begin_capture(origin, CaptureMode::ThreadLocal) {
            return Ok(Err(error.into()));
        }
        self.lanes.capture.set(Capture::Yes);
        let (group, forks, calls) = (lane.group(), self.plan.has_others(), Calls::default());
        let mut pass = Pass { lane, group, events: &events, forks, begun: 1, visits: 0, calls };
        let made = self.capture_steps(&mut pass, steps);
        self.lanes.capture.set(Capture::No);
        match (made, driver.stream_end_capture(origin)) {
            (Ok(()), Ok(graph)) => Ok(Ok(graph)),
            (Err(refusal), Ok(graph)) => {
                driver.graph_destroy(graph).unwrap_or_else(|error| log::warn!("a graph stays: {error}"));
                Ok(Err(refusal))
            }
            (made, Err(error)) => {
                if let Err(lost) = captures::end(&**driver, origin) {
                    site.inside.lose(node, lost.clone());
                    return Err(lost);
                }
                Ok(Err(made.err().unwrap_or_else(|| error.into())))
            }
        }
    }

    fn capture_steps(&mut self, pass: &mut Pass<'_, '_>, steps: &dyn Steps) -> Result<(), Refusal> {
        let plan = Arc::clone(&self.plan);
        if pass.forks {
            pass.record(pass.stream(0), FORK)?;
        }
        for number in 0..plan.len() {
            let Some((placed, waits)) = plan.step(number) else { break };
            let stream = pass.come_to(placed, waits, false)?;
            let Lane { site, call: own, copies, .. } = &mut *pass.lane;
            let (turn, can_begin) = (Cell::new(0), Cell::new(None));
            let lane = pass.group.number(placed.lane);
            let call = Call { node: own.node, turn, lane, priority: own.priority, can_begin };
            let mut entered = Lane { site, stream, call: &call, copies, beside: Some(&self.lanes) };
            self.launches += 1;
            let outcome = caught(|| steps.launch(number as u32, &mut entered));
            let refuse =
                |what: &dyn std::fmt::Display| Refusal(format!("{:?} {what}", self.template.name(number)).into());
            match (outcome, self.lanes.capture.get()) {
                (_, Capture::Refused(what)) => return Err(refuse(&what)),
                (Err(error), _) => return Err(refuse(&format_args!("fails: {error}"))),
                (Ok(More::Again), _) => return Err(refuse(&"asks for another turn")),
                (Ok(More::Done), _) => {}
            }
            // Work outside of the capture would run twice.
            if site.driver.stream_capture_status(stream.raw())? != CaptureStatus::Active {
                return Err(refuse(&"ends the capture"));
            }
            if placed.event != NONE {
                pass.record(stream, placed.event)?;
            }
        }
        Ok(pass.join(&plan)?)
    }
}
