//! The state behind the dispatcher's one lock, and the steps that are taken from it.

use std::sync::Arc;

use copies::copy::CopyHandle;
use graph::{Cause, Graph, Kind, NodeId, Priority, Runner, Stage};
use hal::{Event, Nanos};

use crate::dispatch::expectations::Expectations;
use crate::dispatch::faults::Faults;
use crate::dispatch::marks::{Mark, Marks};
use crate::dispatch::statistics::DispatchStatistics;
use crate::work::fault::{Error, Fault, Reason};
use crate::work::function::{Function, Launch, More, Work, WorkResult};
use crate::work::outcome::{Outcome, Spare};
use crate::work::set::Set;

/// The parts of a node that the graph does not know.
pub(crate) struct Body {
    pub node: NodeId,
    pub kind: Kind,
    /// Its own, as it was submitted.
    pub priority: Priority,
    pub work: Work,
    pub outcome: Arc<Outcome>,
    pub set: Arc<Set>,
    /// Its copies, which may have to be raised.
    pub copies: Vec<CopyHandle>,
    /// A handle waits for it.
    pub is_wanted: bool,
}

/// An event that a lane waits for before a launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Join {
    /// Of the other lane.
    pub lane: u8,
    pub event: Event,
    /// The point of the other lane that is to be marked by it first.
    pub record: Option<u64>,
}

/// A launch that is to be made.
pub(crate) struct Launching {
    pub node: NodeId,
    pub lane: u8,
    pub turn: u32,
    pub priority: Priority,
    /// Whether its first copy can begin when it is submitted, if that is known.
    pub can_begin: Option<bool>,
    pub joins: Vec<Join>,
    pub work: Launch,
    /// The copies that it has submitted, once it has been made.
    pub copies: Vec<CopyHandle>,
}

/// A step that a thread takes without the lock.
pub(crate) enum Step {
    Launch(Launching),
    Record { lane: u8, value: u64, event: Event },
    Light(NodeId, Function),
    Lift(Vec<CopyHandle>, Priority),
}

/// The end of a step.
pub(crate) enum Taken {
    /// The time is that of the joins.
    Launched {
        launching: Launching,
        outcome: WorkResult<More>,
        lost: Option<hal::Error>,
        at: Nanos,
    },
    /// A join could not be made.
    NotJoined {
        launching: Launching,
        error: hal::Error,
    },
    Recorded {
        lane: u8,
        mark: Mark,
        result: hal::Result<()>,
    },
    Ran(NodeId, WorkResult<()>),
    Lifted(u64),
}

/// All that the threads of the dispatcher share, but for the driver and the streams.
pub(crate) struct State {
    pub graph: Graph,
    pub bodies: Vec<Option<Body>>,
    pub marks: Vec<Marks>,
    pub faults: Faults,
    pub statistics: DispatchStatistics,
    pub expectations: Expectations,
    /// A thread takes steps; the others leave them to it.
    pub is_dispatching: bool,
    /// No further step is taken.
    pub is_closed: bool,
    /// The device is lost, for this cause, and its lanes are not at rest yet.
    pub losing: Option<Cause>,
    /// The completion thread sleeps until it is rung.
    pub is_completion_asleep: bool,
    /// Threads that wait for tasks.
    pub waiting: u32,
    /// There is something that the completion thread has not seen.
    pub has_news: bool,
    /// The workers that sleep until they are rung, a bit each.
    pub asleep: u64,
    /// All lanes are to be marked.
    pub flush: bool,
    /// A lane may be wanting a mark. Without it no lane is.
    pub may_want: bool,
    /// Outcomes of tasks that have ended, without any handle, for later ones.
    pub spare: Spare,
    /// Bodies of nodes that have ended: dropped, and their futures woken, without the lock.
    pub dead: Vec<Body>,
    /// Nodes whose priority has changed since they were submitted.
    pub lifts: Vec<(NodeId, Priority)>,
    /// Steps are left that no thread takes: the completion thread is to do that.
    pub is_handed_over: bool,
    /// The list of joins, between launches.
    pub joins: Vec<Join>,
}

impl State {
    /// The parts of a node that the graph does not know.
    pub fn body(&mut self, node: NodeId) -> Option<&mut Body> {
        self.bodies.get_mut(node.index())?.as_mut().filter(|body| body.node == node)
    }

    /// A new node, of which nothing is known yet.
    pub fn add(&mut self, node: NodeId, set: &Arc<Set>) -> Arc<Outcome> {
        let outcome = self.spare.take();
        set.begun();
        let index = node.index();
        if index >= self.bodies.len() {
            self.bodies.resize_with(index + 1, || None);
        }
        let (outcome_of_node, set) = (Arc::clone(&outcome), Arc::clone(set));
        let (kind, priority) = (Kind::Empty, Priority::LOWEST);
        let work = Work::Nothing;
        self.bodies[index] = Some(Body {
            node,
            kind,
            priority,
            work,
            outcome: outcome_of_node,
            set,
            copies: Vec::new(),
            is_wanted: false,
        });
        outcome
    }

    /// The node to which others refer by this name.
    pub fn named(&mut self, name: &str, set: &Arc<Set>) -> Result<(NodeId, Arc<Outcome>), Error> {
        let node = self.graph.named(name)?;
        if let Some(body) = self.body(node) {
            return Ok((node, Arc::clone(&body.outcome)));
        }
        if set.is_stopped() {
            set.waits(node);
        }
        Ok((node, self.add(node, set)))
    }

    /// The next step of the device or of a light function.
    pub fn step(&mut self) -> Option<Step> {
        if self.is_closed {
            return None;
        }
        let lift = self.lift_step();
        let of_device = || if self.losing.is_none() { self.record_step().or_else(|| self.launch_step()) } else { None };
        lift.or_else(of_device).or_else(|| self.light_step())
    }

    /// The copies of a submitted node that a more urgent one has come to wait for.
    fn lift_step(&mut self) -> Option<Step> {
        let lifts = &mut self.lifts;
        self.graph.inherited(|node, priority| lifts.push((node, priority)));
        while let Some((node, to)) = self.lifts.pop() {
            if let Some(body) = self.body(node).filter(|body| !body.copies.is_empty()) {
                return Some(Step::Lift(body.copies.clone(), to));
            }
        }
        None
    }

    fn record_step(&mut self) -> Option<Step> {
        let flush = self.flush;
        if !flush && !self.may_want {
            return None;
        }
        let wanting = |marks: &Marks| marks.is_wanting() || (flush && marks.is_uncovered());
        let Some(lane) = self.marks.iter().position(wanting) else {
            (self.flush, self.may_want) = (false, false);
            return None;
        };
        let marks = &mut self.marks[lane];
        let (value, event) = (marks.submitted, marks.take_event()?);
        Some(Step::Record { lane: lane as u8, value, event })
    }

    fn launch_step(&mut self) -> Option<Step> {
        loop {
            let ready = self.graph.next(Runner::Device)?;
            let (node, priority, turn) = (ready.node, ready.priority, ready.turn);
            let lane = ready.place.map_or(0, |place| place.lane);
            let mut joins = std::mem::take(&mut self.joins);
            joins.clear();
            for point in ready.joins {
                let marks = &mut self.marks[usize::from(point.lane)];
                let known =
                    marks.behind(point.value).map(|mark| Join { lane: point.lane, event: mark.event, record: None });
                joins.push(known.unwrap_or_else(|| {
                    let event = marks.take_event().expect("a lane has events, and they are pending or spare");
                    Join { lane: point.lane, event, record: Some(marks.submitted) }
                }));
            }
            let can_begin = if joins.is_empty() { self.marks[usize::from(lane)].can_begin() } else { Some(false) };
            match self.take_work(node) {
                Work::Launch(work) => {
                    return Some(Step::Launch(Launching {
                        node,
                        lane,
                        turn,
                        priority,
                        can_begin,
                        joins,
                        work,
                        copies: Vec::new(),
                    }));
                }
                _ => {
                    // A node of the device without work, such as a task that was named and has none.
                    self.joins = joins;
                    self.launched(node, Ok(More::Done));
                }
            }
        }
    }

    fn light_step(&mut self) -> Option<Step> {
        let node = self.graph.next(Runner::Light)?.node;
        Some(Step::Light(node, self.take_function(node)))
    }

    /// The next function for a worker.
    pub fn host_step(&mut self) -> Option<(NodeId, Function)> {
        if self.is_closed {
            return None;
        }
        let node = self.graph.next(Runner::Host)?.node;
        Some((node, self.take_function(node)))
    }

    fn take_work(&mut self, node: NodeId) -> Work {
        self.body(node).map_or(Work::Nothing, |body| std::mem::replace(&mut body.work, Work::Nothing))
    }

    fn take_function(&mut self, node: NodeId) -> Function {
        match self.take_work(node) {
            Work::Function(function) => function,
            _ => Box::new(|| Ok(())),
        }
    }

    /// Reports a step.
    pub fn report(&mut self, taken: Taken) {
        match taken {
            Taken::Launched { launching, outcome, lost, at } => {
                self.joined(&launching.joins, at);
                self.launched_step(launching, outcome, lost);
            }
            Taken::NotJoined { launching, error } => {
                let node = launching.node;
                for join in launching.joins.iter().filter(|join| join.record.is_some()) {
                    self.marks[usize::from(join.lane)].give_back(join.event);
                }
                self.keep(launching);
                let fault = self.fault(node, Reason::Device(error));
                let _ = self.graph.failed(node, fault);
                self.lose(fault);
            }
            Taken::Recorded { lane, mark, result } => self.recorded(lane, mark, result),
            Taken::Ran(node, outcome) => self.ran(node, outcome),
            Taken::Lifted(copies) => self.statistics.lifts += copies,
        }
    }

    /// The work belongs to the node until that has ended, with the memory that it owns.
    fn keep(&mut self, launching: Launching) {
        self.joins = launching.joins;
        if let Some(body) = self.body(launching.node) {
            body.work = Work::Launch(launching.work);
            body.copies.extend(launching.copies);
        }
    }

    fn joined(&mut self, joins: &[Join], at: Nanos) {
        for join in joins {
            self.has_news |= join.record.is_some();
            if let Some(value) = join.record {
                self.statistics.marks += 1;
                self.marks[usize::from(join.lane)].push(Mark { value, event: join.event, recorded: at });
            }
        }
    }

    fn launched_step(&mut self, launching: Launching, outcome: WorkResult<More>, lost: Option<hal::Error>) {
        let node = launching.node;
        self.statistics.launches += 1;
        self.statistics.joins += launching.joins.len() as u64;
        self.keep(launching);
        self.launched(node, outcome);
        if let Some(error) = lost {
            let fault = self.fault(node, Reason::Device(error));
            self.lose(fault);
        }
    }

    fn launched(&mut self, node: NodeId, outcome: WorkResult<More>) {
        let (is_wanted, is_kernel) =
            self.body(node).map_or((false, false), |body| (body.is_wanted, body.kind == Kind::Kernel));
        let (at, is_waited_for) = match outcome {
            Ok(More::Again) => {
                // The only refusal is about a node that is not being launched; this one is.
                let _ = self.graph.again(node);
                return;
            }
            Ok(More::Done) => self.graph.launched(node).map_or((None, false), |it| (it.at, it.is_waited_for)),
            Err(error) => {
                let fault = self.fault(node, reason_of(error));
                (self.graph.failed(node, fault).ok().flatten(), true)
            }
        };
        if let Some(point) = at {
            let marks = &mut self.marks[usize::from(point.lane)];
            self.has_news |= !marks.is_uncovered();
            marks.submitted = point.value;
            marks.ends_with_kernel = is_kernel;
            if is_waited_for || is_wanted {
                marks.wanted = point.value;
                self.may_want = true;
            }
        }
    }

    fn recorded(&mut self, lane: u8, mark: Mark, result: hal::Result<()>) {
        let marks = &mut self.marks[usize::from(lane)];
        match result {
            Ok(()) => {
                self.statistics.marks += 1;
                self.has_news = true;
                marks.push(mark);
            }
            Err(error) => {
                marks.give_back(mark.event);
                self.lose_device(error);
            }
        }
    }

    /// A function has run.
    pub fn ran(&mut self, node: NodeId, outcome: WorkResult<()>) {
        self.statistics.functions += 1;
        let reported = match outcome {
            Ok(()) => self.graph.launched(node).map(drop),
            Err(error) => {
                let fault = self.fault(node, reason_of(error));
                self.graph.failed(node, fault).map(drop)
            }
        };
        debug_assert!(reported.is_ok(), "a function was being run: {reported:?}");
    }

    /// The device has come to a mark.
    pub fn reached(&mut self, lane: u8, mark: Mark) {
        if self.marks[usize::from(lane)].reached(mark) {
            let reported = self.graph.complete(lane, mark.value);
            debug_assert!(reported.is_ok(), "a mark stands for a point that was given out: {reported:?}");
        }
    }

    fn fault(&mut self, node: NodeId, reason: Reason) -> Cause {
        let task = self.graph.label(node).to_string();
        self.faults.keep(Fault { task, reason })
    }

    /// Takes the nodes that have ended out of the graph.
    pub fn collect(&mut self) {
        while let Some(ended) = self.graph.ended() {
            let Some(mut body) = self.bodies.get_mut(ended.node.index()).and_then(Option::take) else { continue };
            let outcome = ended.outcome.map_err(|cause| {
                let (fault, task) = (self.faults.get(cause), self.graph.label(ended.node).to_string());
                if fault.task == task { Error::Failed(fault) } else { Error::NotRun { task, fault } }
            });
            let fault = outcome.as_ref().err().and_then(Error::fault);
            body.outcome.set(outcome);
            body.set.ended(fault);
            self.has_news |= self.expectations.ended(body.kind, body.priority);
            self.spare.keep(&mut body.outcome);
            self.dead.push(body);
        }
    }

    /// The points that a node waits for on the device are to be marked.
    pub fn want(&mut self, node: NodeId) {
        if self.graph.stage(node) == Stage::Ended {
            return;
        }
        if let Some(body) = self.body(node) {
            body.is_wanted = true;
        }
        let marks = &mut self.marks;
        self.graph.points(node, |point| {
            let wanted = &mut marks[usize::from(point.lane)].wanted;
            *wanted = point.value.max(*wanted);
        });
        self.may_want = true;
    }
}

fn reason_of(error: Box<dyn std::error::Error + Send + Sync>) -> Reason {
    match error.downcast::<Panic>() {
        Ok(panic) => Reason::Panicked(panic.0),
        Err(error) => match error.downcast::<hal::Error>() {
            Ok(error) => Reason::Driver(*error),
            Err(error) => Reason::Returned(error.to_string()),
        },
    }
}

/// A panic of a task's function.
#[derive(Debug)]
pub(crate) struct Panic(pub String);

impl std::fmt::Display for Panic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Panic {}
