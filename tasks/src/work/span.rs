//! Spans: the steps of a template as one task of the graph. Their lanes, and the events that these wait for, are
//! computed once ([`plan`]). A replay only makes the calls, from the lane of the task to other lanes, and back to that
//! lane at the end. So the graph has one node, which ends when all steps have. Steps that form a chain are in one lane:
//! their replay needs no event and no lock. Kernels that are the same at each replay are captured by the driver, and
//! from then on launched by one call ([`capture`]).

pub(crate) mod capture;
pub(crate) mod plan;

use std::cell::Cell;
use std::fmt;
use std::sync::Arc;

use copies::PriorityStream;
use graph::{Kind, Template};
use hal::Event;
use smallvec::SmallVec;

use crate::work::caught::caught;
use crate::work::function::{Launches, More, Replays, Steps, WorkResult};
use crate::work::graphs::Graphs;
use crate::work::lane::{Beside, Call, Calls, Group, Lane};
use crate::work::span::plan::{FORK, NONE, Placed, SpanPlan};

/// One replay of a span.
pub(crate) struct Span<S> {
    pub steps: S,
    pub course: Course,
}

impl<S: Steps + 'static> Launches for Span<S> {
    fn launch(&mut self, lane: &mut Lane<'_>) -> WorkResult<More> {
        let Span { steps, course } = self;
        course.launch(lane, steps)
    }
}

impl<S: Steps + 'static> Replays for Span<S> {
    fn step_of_copy(&self, number: usize) -> &str {
        self.course.copies.get(number).map_or("", |step| self.course.own_name(*step as usize))
    }
}

/// How far a replay has come.
pub(crate) struct Course {
    plan: Arc<SpanPlan>,
    template: Arc<Template>,
    /// The graphs of the template, if this replay may be a launch of one of them.
    graphs: Option<Arc<Graphs>>,
    /// It is none: each step makes its own calls.
    goes_by_calls: bool,
    events: Option<Arc<[Event]>>,
    next: usize,
    /// The launches since they were last told of.
    launches: u64,
    /// How often the next step has asked for another turn.
    turn: u32,
    is_resumed: bool,
    lanes: Beside,
    /// The steps of the task's copies that can be raised.
    copies: SmallVec<[u32; 4]>,
    failures: Option<Box<Failures>>,
}

/// The steps that have failed, or come after one that has.
struct Failures {
    has_failed: Vec<bool>,
    first: StepFailed,
}

/// The failure of a step, for the task that it is a part of.
#[derive(Debug)]
pub(crate) struct StepFailed {
    /// Its own name, if it has one.
    pub name: String,
    pub error: Box<dyn std::error::Error + Send + Sync>,
}

impl fmt::Display for StepFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} of a template: {}", self.name, self.error)
    }
}

impl std::error::Error for StepFailed {}

/// A pass over the steps: one call of the task's function.
struct Pass<'p, 'l> {
    lane: &'p mut Lane<'l>,
    group: Group,
    events: &'p [Event],
    /// All that the task comes after is in its own lane: others wait for that first.
    forks: bool,
    /// The lanes that have work of this pass, a bit each from that of the task on.
    begun: u64,
    visits: u64,
    calls: Calls,
}

impl Course {
    /// If the template is fixed, with its graphs, unless these steps can be none.
    pub fn new(plan: Arc<SpanPlan>, template: Arc<Template>, fixed: Option<Option<Arc<Graphs>>>) -> Course {
        let (lanes, copies, goes_by_calls) = (Beside::default(), SmallVec::new(), fixed.is_none());
        let graphs = fixed.flatten();
        Course {
            plan,
            template,
            graphs,
            goes_by_calls,
            events: None,
            next: 0,
            launches: 0,
            turn: 0,
            is_resumed: false,
            lanes,
            copies,
            failures: None,
        }
    }

    #[inline(never)] // once for templates of all kinds
    pub fn launch(&mut self, lane: &mut Lane<'_>, steps: &dyn Steps) -> WorkResult<More> {
        if !self.goes_by_calls && self.launch_as_graph(lane, steps)? {
            return Ok(More::Done);
        }
        let more = if self.plan.has_others() { self.launch_in_lanes(lane, steps)? } else { self.chain(lane, steps) };
        match self.failures.take_if(|_| more == More::Done) {
            Some(failures) => Err(Box::new(failures.first)),
            None => Ok(more),
        }
    }

    /// Makes the launches from the next one on, where all are in the lane of the task.
    fn chain(&mut self, lane: &mut Lane<'_>, steps: &dyn Steps) -> More {
        let Lane { site, stream, call, copies, .. } = lane;
        let (mut visits, count) = (site.inside.visits(), self.plan.len());
        let mut more = More::Done;
        while self.next < count {
            if let Some(before) = self.next.checked_sub(1) {
                // A kernel has hardly ended when the next step is submitted.
                let is_kernel = self.template.kind(before) == Kind::Kernel;
                call.can_begin.set(is_kernel.then_some(false));
            }
            call.turn.set(self.turn);
            let mut entered = Lane { site, stream, call, copies, beside: None };
            more = self.step(&mut entered, steps);
            if more == More::Again {
                break;
            }
            self.next += 1;
            if self.next < count
                && (self.lanes.is_synced.replace(false) || !site.inside.goes_on(call.priority, &mut visits))
            {
                more = More::Again;
                break;
            }
        }
        site.inside.end_span(0, Calls { launches: std::mem::take(&mut self.launches), ..Calls::default() });
        more
    }

    /// The same in several lanes.
    #[inline(never)] // most templates have one lane
    fn launch_in_lanes(&mut self, lane: &mut Lane<'_>, steps: &dyn Steps) -> WorkResult<More> {
        let (site, node) = (lane.site, lane.call.node);
        let events = match self.events.take() {
            Some(events) => events,
            None => site.inside.take_events(site.device, self.plan.events())?,
        };
        let (comes_after, visits) = site.inside.begin_span(node);
        let forks = comes_after || self.is_resumed;
        let (group, calls) = (lane.group(), Calls::default());
        let mut pass = Pass { lane, group, events: &events, forks, begun: 1, visits, calls };
        let ended = self.pass(&mut pass, steps);
        if let Err(error) = &ended {
            // Nothing orders the rest any more. The nodes end when all lanes are at rest.
            site.inside.lose(node, error.clone());
        }
        let calls = Calls { launches: std::mem::take(&mut self.launches), ..pass.calls };
        site.inside.end_span(self.lanes.used.take(), calls);
        if matches!(ended, Ok(More::Again)) {
            (self.is_resumed, self.events) = (true, Some(events));
        }
        Ok(ended?)
    }

    /// Makes the launches from the next one on. An error is that of a call that keeps the order.
    fn pass(&mut self, pass: &mut Pass<'_, '_>, steps: &dyn Steps) -> hal::Result<More> {
        let plan = Arc::clone(&self.plan);
        if pass.forks {
            pass.record(pass.stream(0), FORK)?;
        }
        while let Some((placed, waits)) = plan.step(self.next) {
            let (number, stream) = (pass.group.number(placed.lane), pass.come_to(placed, waits, self.is_resumed)?);
            if placed.lane != 0 {
                self.lanes.used.set(self.lanes.used.get() | 1 << number);
            }
            let Lane { site, call: own, copies, .. } = &mut *pass.lane;
            let (turn, can_begin) = (Cell::new(self.turn), Cell::new(None));
            let call = Call { node: own.node, turn, lane: number, priority: own.priority, can_begin };
            let mut entered = Lane { site, stream, call: &call, copies, beside: None };
            if self.step(&mut entered, steps) == More::Again {
                return Ok(More::Again);
            }
            if placed.event != NONE {
                pass.record(stream, placed.event)?;
            }
            self.next += 1;
            if self.lanes.is_synced.replace(false) || !pass.goes_on() {
                return Ok(More::Again);
            }
        }
        pass.join(&plan)?;
        Ok(More::Done)
    }

    /// Calls the function of the next step, unless one before it has failed.
    #[inline(always)] // once in each of two loops; a call would be a tenth of a step
    fn step(&mut self, lane: &mut Lane<'_>, steps: &dyn Steps) -> More {
        if self.failures.is_some() && self.comes_after_failure() {
            return More::Done;
        }
        let Lane { site, stream, call, copies, .. } = lane;
        self.launches += 1;
        let before = copies.len();
        let mut entered = Lane { site, stream, call, copies, beside: Some(&self.lanes) };
        let outcome = caught(|| steps.launch(self.next as u32, &mut entered));
        let made = entered.copies.len() - before;
        if made > 0 {
            self.note_copies(made);
        }
        let left_open = if site.is_lent(call) { site.inside.end_capture(call) } else { None };
        let outcome = left_open.map_or(outcome, |error| Err(error.into()));
        match outcome {
            Ok(More::Done) => self.turn = 0,
            Ok(More::Again) => {
                self.turn += 1;
                return More::Again;
            }
            Err(error) => self.fail(error),
        }
        More::Done
    }

    /// The next step has made so many copies that can be raised.
    #[cold]
    fn note_copies(&mut self, count: usize) {
        self.copies.extend((0..count).map(|_| self.next as u32));
    }

    /// The next step comes after one that has failed, or has not been run for that.
    #[cold]
    fn comes_after_failure(&mut self) -> bool {
        let Some(failures) = &mut self.failures else { return false };
        let comes_after = self.template.before(self.next).any(|step| failures.has_failed[step]);
        failures.has_failed[self.next] |= comes_after;
        comes_after
    }

    /// The name of a step, or nothing if it has that of the task: the last one's.
    fn own_name(&self, step: usize) -> &str {
        if step + 1 == self.template.len() { "" } else { self.template.name(step) }
    }

    /// The next step has failed.
    #[cold]
    fn fail(&mut self, error: Box<dyn std::error::Error + Send + Sync>) {
        self.turn = 0;
        let next = self.next;
        match &mut self.failures {
            Some(failures) => {
                failures.has_failed[next] = true;
                log::warn!("task {:?} failed: {error}", self.template.name(next));
            }
            None => {
                let mut has_failed = vec![false; self.template.len()];
                has_failed[next] = true;
                let name = self.own_name(next).to_owned();
                self.failures = Some(Box::new(Failures { has_failed, first: StepFailed { name, error } }));
            }
        }
    }
}

impl<'l> Pass<'_, 'l> {
    /// The stream of the lane that is so many behind that of the task.
    #[inline]
    fn stream(&self, by: u8) -> &'l PriorityStream {
        self.lane.site.inside.stream(self.group.number(by))
    }

    /// The stream of a step, behind all that the step waits for.
    #[inline]
    fn come_to(&mut self, placed: &Placed, waits: &[u32], is_resumed: bool) -> hal::Result<&'l PriorityStream> {
        let (stream, bit) = (self.stream(placed.lane), 1 << placed.lane);
        if self.begun & bit == 0 {
            self.begun |= bit;
            // A lane that waits for a step waits for all that this has waited for.
            if self.forks && (is_resumed || waits.is_empty()) {
                self.wait(stream, FORK)?;
            }
        }
        waits.iter().try_for_each(|event| self.wait(stream, *event))?;
        Ok(stream)
    }

    /// The lane of the task waits for those beside it.
    fn join(&mut self, plan: &SpanPlan) -> hal::Result<()> {
        for end in plan.ends() {
            if end.is_recorded_last {
                self.record(self.stream(end.lane), end.event)?;
            }
            self.wait(self.stream(0), end.event)?;
        }
        Ok(())
    }

    #[inline]
    fn wait(&mut self, stream: &PriorityStream, event: u32) -> hal::Result<()> {
        self.calls.waits += 1;
        self.lane.site.driver.stream_wait_event(stream.raw(), self.events[event as usize])
    }

    #[inline]
    fn record(&mut self, stream: &PriorityStream, event: u32) -> hal::Result<()> {
        self.calls.records += 1;
        self.lane.site.driver.event_record(self.events[event as usize], stream.raw())
    }

    /// Whether nothing has come that goes before the rest.
    fn goes_on(&mut self) -> bool {
        self.lane.site.inside.goes_on(self.lane.call.priority, &mut self.visits)
    }
}
