//! Batches: kernels that are launched in a row and reported together, so that the lock is taken once for all of them.
//!
//! A batch ends early if a thread has taken the lock or left something in the mailboxes, and after a launch that has
//! failed, has more to launch, or has made copies. The remaining nodes are then taken back, as if they had not been
//! handed out. So nothing that happens during a launch is noticed later than with single launches.

use std::cell::Cell;

use copies::copy::CopyHandle;
use graph::{Behind, Ready};

use crate::dispatch::kit::{Ahead, Kit, Launching};
use crate::dispatch::marks::Joins;
use crate::dispatch::shared::{Held, Shared};
use crate::dispatch::state::State;
use crate::dispatch::visit::Visit;
use crate::work::fault::Reason;
use crate::work::function::{More, Work};
use crate::work::lane::Call;

impl State {
    /// Puts the launches into the kit that may follow the one at hand before it is reported: of a chain of kernels, or
    /// of kernels that are ready beside it.
    #[inline]
    pub fn look_ahead(&mut self, kit: &mut Kit) {
        let first = kit.launching.call.node;
        // A mark is recorded behind a node that is waited for, before the next launch.
        let is_marked_early = self.marks[usize::from(kit.launching.call.lane)].is_joined_late();
        if !kit.joins().is_empty() || is_marked_early || self.bodies.running(first).is_wanted {
            return;
        }
        let State { graph, bodies, .. } = self;
        let Kit { launching: Launching { call, .. }, ahead, .. } = kit;
        graph.next_behind(first, |Behind { node, turn, .. }| {
            let (body, launching) = (bodies.running(node), &mut ahead.launches[ahead.count]);
            std::mem::swap(&mut body.work, &mut launching.work);
            // The work before it in its lane is a kernel.
            let can_begin = Cell::new(Some(false));
            launching.call = Call { node, turn: Cell::new(turn), can_begin, ..*call };
            let is_wanted = body.is_wanted;
            ahead.count += 1;
            ahead.count < ahead.most && !is_wanted
        });
        ahead.is_chain = ahead.count > 0;
        if !ahead.is_chain && self.graph.has_ready_node() {
            self.look_beside(kit);
        }
    }

    #[inline(never)]
    fn look_beside(&mut self, kit: &mut Kit) {
        let Kit { launching, ahead, .. } = kit;
        let (mut last, mut lanes) = (launching.call.node, launching.call.bit());
        while let Some(ready) = self.graph.next_beside(last) {
            last = ready.node;
            let lane = ready.place.map_or(0, |place| place.lane);
            // The work before it in its lane is a kernel then.
            let is_behind = lanes & 1 << lane != 0;
            let can_begin = if is_behind { Some(false) } else { self.marks[usize::from(lane)].can_begin };
            lanes |= 1 << lane;
            if !self.add_ahead(&ready, can_begin, ahead) {
                return;
            }
        }
        self.look_abreast(kit);
    }

    /// Puts the launches into the kit that come behind those of all ready kernels: round by round, if these are the
    /// ends of chains.
    fn look_abreast(&mut self, kit: &mut Kit) {
        let State { graph, bodies, .. } = self;
        let Kit { launching: Launching { call: first, .. }, ahead: Ahead { launches, count, most, .. }, .. } = kit;
        let (mut head, mut begin, mut goes_on) = (Some(first.node), 0, true);
        while goes_on {
            let end = *count;
            let (before, rest) = launches.split_at_mut(end);
            let round = head.take().into_iter().chain(before[begin..].iter().map(|before| before.call.node));
            goes_on = false;
            graph.next_abreast(round, |Behind { node, turn, lane }| {
                let (body, launching) = (bodies.running(node), &mut rest[*count - end]);
                std::mem::swap(&mut body.work, &mut launching.work);
                // The work before it in its lane is a kernel.
                let can_begin = Cell::new(Some(false));
                launching.call = Call { node, turn: Cell::new(turn), lane, can_begin, ..*first };
                *count += 1;
                goes_on = *count < *most && !body.is_wanted;
                goes_on
            });
            begin = end;
        }
    }

    /// Puts one more launch into the kit. Returns whether another one may follow it.
    #[inline]
    fn add_ahead(&mut self, ready: &Ready<'_>, can_begin: Option<bool>, ahead: &mut Ahead) -> bool {
        let body = self.bodies.running(ready.node);
        if !matches!(body.work, Work::Launch(_)) {
            let taken = self.graph.take_back(ready.node);
            debug_assert!(taken.is_ok(), "it was handed out: {taken:?}");
            return false;
        }
        let (launching, is_wanted) = (&mut ahead.launches[ahead.count], body.is_wanted);
        let lane = ready.place.map_or(0, |place| place.lane);
        let (turn, can_begin) = (ready.turn.into(), can_begin.into());
        launching.call = Call { node: ready.node, turn, lane, priority: ready.priority, can_begin };
        std::mem::swap(&mut body.work, &mut launching.work);
        ahead.count += 1;
        ahead.count < ahead.most && !is_wanted
    }

    /// All launches of a batch but for the last have been made, and that is returned. `is_chain` says that they are a
    /// chain, and that nothing else has changed since they were handed out.
    #[inline]
    fn launched_before_last<'l>(
        &mut self,
        first: &'l mut Launching,
        behind: &'l mut [Launching],
        is_chain: bool,
    ) -> &'l mut Launching {
        let [between @ .., last] = behind else { return first };
        if !is_chain {
            for launching in std::iter::once(first).chain(between) {
                self.launched_followed(launching);
            }
            return last;
        }
        let State { graph, bodies, marks, statistics, sleepers, .. } = self;
        let count = between.len() + 1;
        let point = graph.launched_behind(first.call.node, count as u32);
        statistics.launches += count as u64;
        sleepers.has_points |= !marks[usize::from(point.lane)].is_uncovered();
        for launching in std::iter::once(first).chain(between) {
            std::mem::swap(&mut bodies.running(launching.call.node).work, &mut launching.work);
        }
        last
    }

    /// A launch of a batch has been made, and has made no copies: most often of a node whose next one is in the batch
    /// too.
    #[inline(always)] // once in a loop
    fn launched_followed(&mut self, launching: &mut Launching) {
        let State { graph, bodies, marks, statistics, sleepers, .. } = self;
        let node = launching.call.node;
        let body = bodies.running(node);
        // Others have marks to be made, or make nodes ready.
        let Some(point) = (!body.is_wanted).then(|| graph.launched_followed(node)).flatten() else {
            return self.launched_alone(launching);
        };
        std::mem::swap(&mut body.work, &mut launching.work);
        statistics.launches += 1;
        let marks = &mut marks[usize::from(point.lane)];
        sleepers.has_points |= !marks.is_uncovered();
        marks.submit(point.value, true);
    }

    #[inline(never)]
    fn launched_alone(&mut self, launching: &mut Launching) {
        self.launched(launching, &mut Vec::new(), Ok(More::Done));
    }

    /// The launches from this one on are not made now.
    #[cold]
    fn take_back(&mut self, launches: &mut [Launching]) {
        for Launching { call, work } in launches.iter_mut().rev() {
            std::mem::swap(&mut self.bodies.running(call.node).work, work);
            let taken = self.graph.take_back(call.node);
            debug_assert!(taken.is_ok(), "it was handed out: {taken:?}");
        }
    }
}

impl Shared {
    /// Makes the launches of a batch, and takes the lock again to report them. `visits` are those of the lock when
    /// they were handed out. Returns how many launches have been made.
    #[inline(never)]
    pub fn launch_batch<'s>(
        &'s self,
        held: &mut Held<'s>,
        (launching, ahead): (&mut Launching, &mut Ahead),
        copies: &mut Vec<CopyHandle>,
        visit: &mut Visit<'s>,
        visits: u64,
    ) -> u32 {
        let launches = &mut ahead.launches[..ahead.count];
        if let Err(error) = visit.begin(self, launching.call.lane) {
            held.take_again();
            held.take_back(launches);
            held.not_joined(launching, Joins::NONE, error);
            return 1;
        }
        let (mut outcome, mut lost) = self.launch(launching, copies, visit);
        let mut made = 0;
        while let Some(next) = launches.get_mut(made) {
            let is_over = !matches!(outcome, Ok(More::Done)) | lost.is_some() | !copies.is_empty();
            if is_over || self.is_visited(visits) || visit.begin(self, next.call.lane).is_err() {
                break;
            }
            (outcome, lost) = self.launch(next, copies, visit);
            made += 1;
        }
        held.take_again();
        ahead.most = ahead.most_behind(made);
        let (launches, others) = ahead.launches[..ahead.count].split_at_mut(made);
        // Known for certain now: with the lock held.
        let is_chain = ahead.is_chain && self.state.visits() == visits;
        let state = &mut **held;
        if !others.is_empty() {
            state.take_back(others);
        }
        let last = state.launched_before_last(launching, launches, is_chain);
        state.launched(last, copies, outcome);
        if let Some(error) = lost {
            let fault = state.fault(last.call.node, Reason::Device(*error));
            state.lose(fault);
        }
        made as u32 + 1
    }

    /// Whether a thread has taken the lock, or has left something for this one, since the launches were handed out.
    #[inline]
    pub fn is_visited(&self, visits: u64) -> bool {
        (self.state.visits() != visits) | self.mailboxes.has_news()
    }
}
