//! The steps that a thread takes without the lock: choosing the next one, and reporting it.

use std::cell::Cell;

use copies::copy::CopyHandle;
use graph::{Cause, Kind, NodeId, Runner};

use crate::dispatch::body::Kinds;
use crate::dispatch::faults::Origin;
use crate::dispatch::kit::{Kit, Launching, Step};
use crate::dispatch::marks::{Join, Joins, Mark};
use crate::dispatch::state::State;
use crate::dispatch::turn::{Steps, Turn};
use crate::work::failed::Failed;
use crate::work::fault::{Fault, Reason};
use crate::work::function::{Function, More, Work};
use crate::work::lane::Call;

/// The outcome of a launch.
pub(crate) type Told = Result<More, Box<Failed>>;

impl Steps for State {
    type Kit = Kit;

    #[inline]
    fn turn(&mut self) -> &mut Turn {
        &mut self.turn
    }

    /// The next step of the device or of a light function.
    #[inline]
    fn step(&mut self, kit: &mut Kit) -> bool {
        if self.is_disturbed()
            && let Some(has_step) = self.disturbed_step(kit)
        {
            return has_step;
        }
        self.launch_step(kit) || (self.graph.has_light_function() && self.light_step(kit))
    }

    fn tell(&mut self) {
        self.sleepers.has_news = true;
    }
}

impl State {
    /// Whether there may be a step to take.
    #[inline]
    pub fn may_have_step(&self) -> bool {
        let is_busy = self.flush | (self.may_want != 0) | self.losing.is_some() | self.mailboxes.has_news();
        is_busy
            || !self.failed.is_empty()
            || self.has_lifts()
            || self.graph.has_device_node()
            || self.graph.has_light_function()
    }

    /// Whether a node that is ready now, and finds no other one in the graph's queue, is the next step, and the thread
    /// that finds it so takes it.
    #[inline(always)] // once in each of two ways to submit
    pub fn may_launch_at_once(&self) -> bool {
        !(self.turn.is_taken() | self.is_disturbed()) && !self.graph.has_light_function()
    }

    #[inline]
    fn has_lifts(&self) -> bool {
        self.graph.has_inherited() || !self.lifts.is_empty()
    }

    /// Whether there is something to look at before the ready nodes. Looked at all at once: there is seldom any.
    #[inline(always)]
    pub fn is_disturbed(&self) -> bool {
        let has_entries = self.mailboxes.has_news() | !self.failed.is_empty();
        let has_lifts = self.graph.has_inherited() | !self.lifts.is_empty();
        self.is_closed | self.flush | (self.may_want != 0) | self.losing.is_some() | has_entries | has_lifts
    }

    /// Looks at that. Returns whether there is a step, unless the next one is that of a ready node.
    #[inline(never)]
    fn disturbed_step(&mut self, kit: &mut Kit) -> Option<bool> {
        if self.is_closed {
            return Some(false);
        }
        self.look_in();
        if self.has_lifts() && self.lift_step(kit) {
            return Some(true);
        }
        if self.losing.is_some() {
            return Some(self.graph.has_light_function() && self.light_step(kit));
        }
        ((self.flush || self.may_want != 0) && self.record_step(kit)).then_some(true)
    }

    /// The copies of a submitted node that a more urgent one has come to wait for.
    #[cold]
    fn lift_step(&mut self, kit: &mut Kit) -> bool {
        let lifts = &mut self.lifts;
        self.graph.inherited(|node, priority| lifts.push((node, priority)));
        while let Some((node, to)) = self.lifts.pop() {
            if let Some(body) = self.bodies.get(node).filter(|body| !body.copies.is_empty()) {
                kit.other = Some(Step::Lift(body.copies.to_vec(), to));
                return true;
            }
        }
        false
    }

    #[inline(never)]
    fn record_step(&mut self, kit: &mut Kit) -> bool {
        if std::mem::take(&mut self.flush) {
            for (lane, marks) in self.marks.iter_mut().enumerate().filter(|(_, marks)| marks.is_uncovered()) {
                marks.wanted = marks.submitted;
                self.may_want |= 1 << lane;
            }
        }
        while self.may_want != 0 {
            let lane = self.may_want.trailing_zeros() as u8;
            let marks = &mut self.marks[usize::from(lane)];
            if marks.is_wanting() {
                let value = marks.submitted;
                let Some(event) = marks.take_event() else { return false };
                kit.other = Some(Step::Record { lane, value, event });
                return true;
            }
            self.may_want &= self.may_want - 1;
        }
        false
    }

    #[inline(always)] // a call would be a tenth of the cost of a task, with its arguments
    fn launch_step(&mut self, kit: &mut Kit) -> bool {
        match self.next_launch(kit) {
            Next::Launch => {
                self.look_ahead(kit);
                true
            }
            Next::Nothing => false,
            Next::Empty(node) => self.launch_behind_empty(node, kit),
        }
    }

    /// As [`State::launch_step`], behind a node without work.
    #[cold]
    fn launch_behind_empty(&mut self, mut node: NodeId, kit: &mut Kit) -> bool {
        loop {
            self.launched_without_work(node);
            match self.next_launch(kit) {
                Next::Launch => return true,
                Next::Nothing => return false,
                Next::Empty(next) => node = next,
            }
        }
    }

    /// The next ready node, with its launch in the kit if it has one.
    #[inline(always)] // as `launch_step`
    fn next_launch(&mut self, kit: &mut Kit) -> Next {
        let Some(ready) = self.graph.next(Runner::Device) else { return Next::Nothing };
        let (node, lane) = (ready.node, ready.place.map_or(0, |place| place.lane));
        // In its place at once: kept until the end of this it would be moved twice.
        let (turn, can_begin) = (Cell::new(ready.turn), Cell::new(Some(false)));
        kit.launching.call = Call { node, turn, lane, priority: ready.priority, can_begin };
        kit.ahead.count = 0;
        if ready.joins.is_empty() {
            let marks = &mut self.marks[usize::from(lane)];
            kit.launching.call.can_begin.set(marks.can_begin);
            kit.joins.clear();
            kit.own_mark = marks.mark_own(false);
        } else {
            kit.own_mark = self.take_joins(lane, &mut kit.joins);
        }
        let body = self.bodies.running(node);
        if !matches!(body.work, Work::Launch(_)) {
            return Next::Empty(node);
        }
        // The work of the launch before is its node's again, so there is none in the kit.
        std::mem::swap(&mut body.work, &mut kit.launching.work);
        Next::Launch
    }

    /// The joins with other lanes that the graph tells, for the launch at hand in this lane. Returns the mark of that
    /// lane itself, if it is to have one.
    fn take_joins(&mut self, lane: u8, joins: &mut Vec<Join>) -> Option<Mark> {
        let State { graph, marks, .. } = self;
        let mut is_own_wanted = false;
        joins.clear();
        for point in graph.joins() {
            if point.lane == lane {
                is_own_wanted = true;
            } else {
                joins.push(marks[usize::from(point.lane)].join(*point));
            }
        }
        marks[usize::from(lane)].mark_own(is_own_wanted)
    }

    /// A node of the device without work is launched, such as a task that was named and has none.
    #[cold]
    fn launched_without_work(&mut self, node: NodeId) {
        let is_wanted = self.bodies.running(node).is_wanted;
        self.report(node, is_wanted, false, Ok(More::Done));
    }

    #[inline(never)]
    fn light_step(&mut self, kit: &mut Kit) -> bool {
        let Some(node) = self.graph.next(Runner::Light).map(|ready| ready.node) else { return false };
        kit.other = Some(Step::Light(node, self.take_function(node)));
        true
    }

    /// The next function of the host.
    pub fn host_step(&mut self) -> Option<(NodeId, Function)> {
        if self.is_closed {
            return None;
        }
        let node = self.graph.next(Runner::Host)?.node;
        Some((node, self.take_function(node)))
    }

    fn take_function(&mut self, node: NodeId) -> Function {
        match self.bodies.get(node).map(|body| std::mem::replace(&mut body.work, Work::Nothing)) {
            Some(Work::Function(function) | Work::Step(function)) => function,
            _ => Box::new(|| Ok(())),
        }
    }

    /// The joins of a launch have been made.
    #[inline(always)] // as `launched`
    pub fn joined(&mut self, lane: u8, joins: Joins<'_>) {
        let mut records = u64::from(joins.own.is_some());
        if let Some(mark) = joins.own {
            self.marks[usize::from(lane)].push(mark);
        }
        for join in joins.others {
            if let Some(value) = join.record {
                records += 1;
                self.marks[usize::from(join.lane)].push(Mark::new(value, join.event));
            }
        }
        self.statistics.joins += joins.others.len() as u64;
        if records != 0 {
            self.statistics.marks += records;
            self.sleepers.leave_news();
        }
    }

    /// A join could not be made.
    #[cold]
    pub fn not_joined(&mut self, launching: &mut Launching, joins: Joins<'_>, error: hal::Error) {
        let (node, lane) = (launching.call.node, launching.call.lane);
        joins.own.iter().for_each(|mark| self.marks[usize::from(lane)].give_back(mark.event));
        for join in joins.others.iter().filter(|join| join.record.is_some()) {
            self.marks[usize::from(join.lane)].give_back(join.event);
        }
        if let Some(body) = self.bodies.get(node) {
            std::mem::swap(&mut body.work, &mut launching.work);
        }
        let fault = self.fault(node, Reason::Device(error));
        let _ = self.graph.failed(node, fault);
        self.lose(fault);
    }

    /// A launch has been made. Its work belongs to the node until that has ended, with the memory that it owns.
    #[inline(always)] // a tenth of the cost of a task would go to its arguments
    pub fn launched(&mut self, launching: &mut Launching, copies: &mut Vec<CopyHandle>, outcome: Told) {
        let node = launching.call.node;
        self.statistics.launches += 1;
        let body = self.bodies.running(node);
        // The slot is empty; `forget` skips the check whether there is something to drop.
        std::mem::forget(std::mem::replace(&mut body.work, std::mem::replace(&mut launching.work, Work::Nothing)));
        if !copies.is_empty() {
            body.add_copies(copies);
        }
        let (is_wanted, is_kernel) = (body.is_wanted, body.character.kind == Kinds::One(Kind::Kernel));
        self.report(node, is_wanted, is_kernel, outcome);
    }

    #[inline(always)] // as `launched`
    fn report(&mut self, node: NodeId, is_wanted: bool, is_kernel: bool, outcome: Told) {
        let (at, is_waited_for) = match outcome {
            Ok(More::Done) => self.graph.launched(node).map_or((None, false), |it| (it.at, it.is_waited_for)),
            Ok(More::Again) => {
                // The only refusal is about a node that is not being launched; this one is.
                let _ = self.graph.again(node);
                return;
            }
            Err(error) => {
                let fault = self.fault_of_step(node, &error.step, error.reason);
                (self.graph.failed(node, fault).ok().flatten(), true)
            }
        };
        self.bring_ahead();
        if let Some(point) = at {
            let marks = &mut self.marks[usize::from(point.lane)];
            self.sleepers.has_points |= !marks.is_uncovered();
            marks.submit(point.value, is_kernel);
            marks.trail.note(point.value, node.index());
            if is_waited_for || is_wanted {
                marks.wanted = point.value;
                self.may_want |= 1 << point.lane;
            }
            if is_wanted {
                marks.awaited = point.value;
            }
        }
    }

    /// The failure of this step of the node, or of the node itself if that is nothing.
    #[cold]
    pub fn fault_of_step(&mut self, node: NodeId, step: &str, reason: Reason) -> Cause {
        if step.is_empty() {
            return self.fault(node, reason);
        }
        self.faults.keep(Origin::Unknown, Fault { task: format!("\"{step}\""), reason })
    }

    /// An event has been recorded, or not.
    pub fn recorded(&mut self, lane: u8, mark: Mark, result: hal::Result<()>) {
        let marks = &mut self.marks[usize::from(lane)];
        match result {
            Ok(()) => {
                self.statistics.marks += 1;
                marks.push(mark);
                self.sleepers.tell_of_mark(marks.is_awaited());
            }
            Err(error) => {
                marks.give_back(mark.event);
                self.lose_device(error);
            }
        }
    }

    /// A function has run.
    pub fn ran(&mut self, node: NodeId, outcome: Result<(), Box<Failed>>) {
        self.statistics.functions += 1;
        let reported = match outcome {
            Ok(()) => self.graph.launched(node).map(drop),
            Err(error) => {
                let fault = self.fault_of_step(node, &error.step, error.reason);
                self.graph.failed(node, fault).map(drop)
            }
        };
        debug_assert!(reported.is_ok(), "a function was being run: {reported:?}");
    }
}

/// The next ready node of the device.
enum Next {
    Nothing,
    /// It has work, which is in the kit.
    Launch,
    /// It has none.
    Empty(NodeId),
}
