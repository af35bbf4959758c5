//! Templates: tasks that are recorded once, and submitted again with other arguments and priorities.
#![allow(unsafe_code)] // a template is fixed by a promise of the caller's

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use graph::{Direction, Graph, Kind, NodeId, Priority, Refused, Template as Stretch};
use hal::Nanos;
use smallvec::SmallVec;

use crate::dispatch::inside::is_inside;
use crate::dispatch::ranks::Rank;
use crate::dispatch::replay::{Replaying, ranks};
use crate::dispatch::shared::Held;
use crate::task::TaskBuilder;
use crate::task::handle::Handle;
use crate::task::tasks::Tasks;
use crate::work::fault::Error;
use crate::work::function::{More, Steps, WorkResult};
use crate::work::graphs::Graphs;
use crate::work::lane::Lane;
use crate::work::replay::{Does, Run};
use crate::work::span::plan::SpanPlan;
use crate::work::span::{Course, Span};

/// A replay as errors name it.
const NAME: &str = "(of a template)";

/// The most events of a replay that is one task.
const EVENTS_MAX: u32 = 1024;

/// A task of a [`Recording`], for others to be ordered after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step(usize);

/// A task as it is recorded.
struct Recorded {
    kind: Kind,
    priority: Priority,
    name: String,
    after: Vec<Step>,
}

/// Records tasks whose functions get arguments of type `A`, different ones for each replay.
pub struct Recording<A> {
    steps: Vec<Recorded>,
    does: Vec<Does<A>>,
}

impl<A: Send + Sync + 'static> Default for Recording<A> {
    fn default() -> Self {
        Recording { steps: Vec::new(), does: Vec::new() }
    }
}

impl<A: Send + Sync + 'static> Recording<A> {
    /// An empty recording.
    #[must_use]
    pub fn new() -> Recording<A> {
        Recording::default()
    }

    /// A task that copies from the host to the device, after these of the recording.
    pub fn upload(
        &mut self,
        name: &str,
        after: &[Step],
        launch: impl Fn(&mut Lane<'_>, &A) -> WorkResult<More> + Send + Sync + 'static,
    ) -> Step {
        self.add(Kind::Copy(Direction::HostToDevice), name, after, Does::Launch(Box::new(launch)))
    }

    /// A task that runs kernels.
    pub fn kernel(
        &mut self,
        name: &str,
        after: &[Step],
        launch: impl Fn(&mut Lane<'_>, &A) -> WorkResult<More> + Send + Sync + 'static,
    ) -> Step {
        self.add(Kind::Kernel, name, after, Does::Launch(Box::new(launch)))
    }

    /// A task that copies from the device to the host.
    pub fn download(
        &mut self,
        name: &str,
        after: &[Step],
        launch: impl Fn(&mut Lane<'_>, &A) -> WorkResult<More> + Send + Sync + 'static,
    ) -> Step {
        self.add(Kind::Copy(Direction::DeviceToHost), name, after, Does::Launch(Box::new(launch)))
    }

    /// A host function, run by a worker thread.
    pub fn host(
        &mut self,
        name: &str,
        after: &[Step],
        run: impl Fn(&A) -> WorkResult<()> + Send + Sync + 'static,
    ) -> Step {
        self.add(Kind::Host, name, after, Does::Function(Box::new(run)))
    }

    /// A short host function, run by the thread that finds it ready. It must not wait.
    pub fn light(
        &mut self,
        name: &str,
        after: &[Step],
        run: impl Fn(&A) -> WorkResult<()> + Send + Sync + 'static,
    ) -> Step {
        self.add(Kind::Light, name, after, Does::Function(Box::new(run)))
    }

    /// Sets the priority of a task, which is its minimum in each replay. The tasks before it inherit it.
    pub fn priority(&mut self, step: Step, priority: Priority) {
        if let Some(step) = self.steps.get_mut(step.0) {
            step.priority = priority;
        }
    }

    fn add(&mut self, kind: Kind, name: &str, after: &[Step], does: Does<A>) -> Step {
        let (priority, name, after) = (Priority::LOWEST, name.to_owned(), after.to_vec());
        self.steps.push(Recorded { kind, priority, name, after });
        self.does.push(does);
        Step(self.steps.len() - 1)
    }

    /// Computes the order of the tasks.
    ///
    /// # Errors
    ///
    /// A task comes after a step of another recording ([`graph::Refused::NotRecorded`]).
    pub fn finish(mut self) -> Result<Template<A>, Error> {
        let mut stretch = Stretch::new();
        for Recorded { kind, priority, name, after } in &self.steps {
            let after: Vec<usize> = after.iter().map(|step| step.0).collect();
            stretch.add(*kind, *priority, name, &after)?;
        }
        let last: Vec<usize> = stretch.last().collect();
        if last.len() != 1 {
            // The handle of a replay is that of its last task, and there is no other one.
            stretch.add(Kind::Empty, Priority::LOWEST, "the end of a template", &last)?;
            self.does.push(Does::Nothing);
        }
        let span = Arc::new(Spanned::of(&stretch));
        Ok(Template { stretch: Arc::new(stretch), does: self.does.into(), span, graphs: None })
    }
}

/// Recorded tasks with their order computed. Clones are the same template.
///
/// If all of them are kernels of the same priority, a replay is one task for the dispatcher: its kernels are launched
/// in a row, in lanes that have been assigned in advance, and only more urgent tasks come between them. A step that
/// asks for another turn delays the steps recorded after it. The same holds for a chain that begins with a copy, if
/// each step comes after the one recorded before it: they share one lane.
pub struct Template<A> {
    stretch: Arc<Stretch>,
    does: Arc<[Does<A>]>,
    span: Arc<Spanned>,
    /// It is fixed.
    graphs: Option<Arc<Graphs>>,
}

/// A template as a span, if it is one.
struct Spanned {
    /// The steps that each of its steps comes after. Of no span there are none.
    before: Vec<Vec<u32>>,
    has_copies: bool,
    /// It is a chain whose copies go both ways.
    copies_both_ways: bool,
    /// Its plan, and for how many lanes that is.
    plan: OnceLock<(u8, Arc<SpanPlan>)>,
}

impl Spanned {
    /// Several kernels of one priority are a span, and so is an end that joins them. So is a chain of one priority that
    /// begins with a copy.
    fn of(stretch: &Stretch) -> Spanned {
        let nodes: Vec<_> = stretch.nodes().collect();
        let ends = nodes.last().is_some_and(|last| last.kind == Kind::Empty);
        let steps = nodes.len() - usize::from(ends);
        let has_copies = steps > 0 && matches!(nodes[0].kind, Kind::Copy(_));
        let is_alike = |number: usize| {
            let (node, follows) = (&nodes[number], || number == 0 || stretch.before(number).any(|it| it + 1 == number));
            let is_step = node.kind == Kind::Kernel || (has_copies && node.kind.is_device());
            is_step && node.priority == nodes[0].priority && (!has_copies || follows())
        };
        let is_span = steps > 1 && (0..steps).all(is_alike);
        let before = |number| stretch.before(number).map(|step| step as u32).collect();
        let before = (0..if is_span { steps } else { 0 }).map(before).collect();
        let goes_back = |node: &graph::Planned| matches!(node.kind, Kind::Copy(_)) && node.kind != nodes[0].kind;
        let copies_both_ways = has_copies && nodes.iter().any(goes_back);
        Spanned { before, has_copies, copies_both_ways, plan: OnceLock::new() }
    }

    /// The plan for so many lanes. One that is too long is none: each kernel that others wait for has an event.
    fn plan(&self, lanes: u8) -> Option<Arc<SpanPlan>> {
        if self.before.is_empty() {
            return None;
        }
        let new = || Arc::new(SpanPlan::new(&self.before, lanes));
        let (of, plan) = self.plan.get_or_init(|| (lanes, new()));
        let plan = if *of == lanes { Arc::clone(plan) } else { new() };
        (plan.events() <= EVENTS_MAX).then_some(plan)
    }
}

impl<A> Clone for Template<A> {
    fn clone(&self) -> Self {
        let (stretch, does, span) = (Arc::clone(&self.stretch), Arc::clone(&self.does), Arc::clone(&self.span));
        Template { stretch, does, span, graphs: self.graphs.clone() }
    }
}

impl<A: Send + Sync + 'static> Template<A> {
    /// How many tasks a replay submits.
    #[must_use]
    pub fn tasks(&self) -> usize {
        self.stretch.len()
    }

    /// The same template, with each replay as a CUDA graph: all its kernels cost one driver call.
    ///
    /// The first replay in a group of lanes calls the functions of the steps while the driver captures these lanes. All
    /// replays launch that graph; later ones call no function. Their arguments are dropped when they have ended, as
    /// usual. A graph never runs concurrently with itself, so it is instantiated once for each lane, at the first
    /// replay there, and replays in two lanes can overlap; those first replays take the driver longer. During the
    /// capture, a thread that waits for the whole context gets an error, so replay the template once before, at each
    /// priority. The graphs are destroyed with the template, or with the dispatcher.
    ///
    /// The steps of such a template have to be two or more kernels of the same priority. A template with other tasks is
    /// replayed call by call, as without this. So is one whose steps copy, make a sync point, ask for another turn,
    /// fail, or do something that cannot be captured: it is captured at most twice without success, and each time the
    /// functions are called once more. Such replays are counted
    /// ([`crate::dispatch::DispatchStatistics::graph_fallbacks`]).
    ///
    /// # Safety
    /// Each replay would submit the same kernels and sets, with the same arguments, as the first one; and the memory
    /// that they access is there until the last replay has ended.
    #[must_use]
    pub unsafe fn fixed(self) -> Template<A> {
        Template { graphs: Some(Arc::default()), ..self }
    }

    /// A replay with these arguments, as tasks of this set. The arguments are dropped when its tasks have ended.
    pub fn replay<'r>(&'r self, tasks: &'r Tasks, arguments: A) -> Replay<'r, A> {
        Replay {
            template: self,
            tasks,
            arguments,
            priority: Priority::LOWEST,
            device: 0,
            announced: false,
            after: Vec::new(),
        }
    }
}

/// The description of a replay. [`Replay::submit`] submits it; dropping it does nothing.
#[must_use = "a replay does nothing until it is submitted"]
pub struct Replay<'r, A> {
    template: &'r Template<A>,
    tasks: &'r Tasks,
    arguments: A,
    priority: Priority,
    device: u8,
    announced: bool,
    after: Vec<&'r Handle>,
}

impl<'r, A: Send + Sync + 'static> Replay<'r, A> {
    /// Gives all its tasks at least this priority.
    pub fn priority(mut self, priority: Priority) -> Replay<'r, A> {
        self.priority = priority;
        self
    }

    /// Sets the device that does its work, by its number among those of the dispatcher. The default is the first.
    pub fn on(mut self, device: u8) -> Replay<'r, A> {
        self.device = device;
        self
    }

    /// Its caller expects copies of this priority on the first device.
    #[doc(hidden)]
    pub fn announced(mut self, expected: Option<Priority>) -> Replay<'r, A> {
        self.announced = expected == Some(self.priority) && self.device == 0;
        self
    }

    /// Orders it after these tasks, or after all tasks of other replays.
    pub fn after(mut self, tasks: impl IntoIterator<Item = &'r Handle>) -> Replay<'r, A> {
        self.after.extend(tasks);
        self
    }

    /// Submits all its tasks, and dispatches those that are ready. The handle completes when all of them have ended.
    pub fn submit(self) -> Result<Handle, Error> {
        let shared = self.tasks.shared();
        if self.after.iter().any(|task| !task.is_of(shared)) {
            return Err(Error::Foreign { task: NAME.to_owned() });
        }
        match self.plan() {
            Some(plan) => self.span(plan).submit(),
            None => self.submit_each(),
        }
    }

    /// That of its one task, if it is one.
    #[inline]
    fn plan(&self) -> Option<Arc<SpanPlan>> {
        let shared = self.tasks.shared();
        if shared.has_spans { self.template.span.plan(shared.of_a_group) } else { None }
    }

    /// The same, but if the dispatcher is full it waits until tasks have ended, as
    /// [`crate::task::TaskBuilder::submit_when_room`]. A template with more tasks than a dispatcher holds is refused.
    pub fn submit_when_room(self) -> Result<Handle, Error> {
        self.submit_by(None)?.ok_or_else(|| Error::NoRoomInside { task: NAME.to_owned() })
    }

    /// The same with a timeout, as [`crate::task::TaskBuilder::submit_within`].
    pub fn submit_within(self, span: Duration) -> Result<Option<Handle>, Error> {
        let deadline = self.tasks.shared().deadline(span);
        self.submit_by(Some(deadline))
    }

    fn submit_by(self, deadline: Option<Nanos>) -> Result<Option<Handle>, Error> {
        let shared = self.tasks.shared();
        if self.after.iter().any(|task| !task.is_of(shared)) {
            return Err(Error::Foreign { task: NAME.to_owned() });
        }
        if let Some(plan) = self.plan() {
            return self.span(plan).submit_by(deadline);
        }
        let (stretch, after, ranked) = (Arc::clone(&self.template.stretch), self.after.len(), self.ranks()?);
        let has_room = |graph: &Graph| graph.has_room_to_replay(&stretch, after);
        loop {
            let mut held = shared.enter_here()?;
            held.collect();
            if held.is_closed || has_room(&held.graph) {
                return self.append_each(held, &ranked).map(Some);
            }
            let is_empty = held.graph.statistics().nodes == 0;
            shared.pump(held);
            if is_empty {
                return Err(Refused::WouldBlock.into());
            }
            let has_time = deadline.is_none_or(|deadline| shared.driver.host().now() < deadline);
            if !has_time || is_inside(Arc::as_ptr(shared).addr()) {
                return Ok(None);
            }
            shared.await_room_for(deadline, has_room)?;
        }
    }

    /// As a task for each step.
    #[inline(never)] // most replays are one task
    fn submit_each(self) -> Result<Handle, Error> {
        let ranked = self.ranks()?;
        let held = self.tasks.shared().enter_here()?;
        self.append_each(held, &ranked)
    }

    /// The ranks of its tasks, if a policy ranks tasks.
    fn ranks(&self) -> Result<Vec<Rank>, Error> {
        let shared = self.tasks.shared();
        let Some(policy) = &shared.policy else { return Ok(Vec::new()) };
        let depth = shared.enter_here()?.depth_behind(self.after.iter().map(|task| task.node()));
        Ok(ranks(&**policy, &self.template.stretch, self.priority, self.device, depth))
    }

    fn append_each(self, held: Held<'_>, ranked: &[Rank]) -> Result<Handle, Error> {
        let shared = self.tasks.shared();
        let Replay { template, tasks, arguments, priority, device, announced, after } = self;
        let (Template { stretch, does, .. }, is_fixed) = (template, template.graphs.is_some());
        let steps: Arc<dyn Steps> = Arc::new(Run::new(Arc::clone(does), arguments));
        let nodes: SmallVec<[NodeId; 4]> = after.iter().map(|task| task.node()).collect();
        // Dropped before the arguments, which are the user's, if it is refused.
        let mut held = held;
        if held.is_closed {
            return Err(Error::Closed { task: Some(NAME.to_owned()) });
        }
        if let Some(handle) = Handle::behind_a_failure(after.iter().copied(), NAME, || NAME.to_owned()) {
            return Ok(handle);
        }
        let (after, set, ranks) = (&nodes[..], tasks.set(), ranked);
        let replaying = Replaying { template: stretch, priority, device, announced, after, set, ranks };
        let (node, outcome) = held.replay(&replaying, &steps)?;
        held.statistics.graph_fallbacks += u64::from(is_fixed);
        shared.pump(held);
        Ok(Handle::new(node, outcome))
    }

    /// As one task.
    fn span(self, plan: Arc<SpanPlan>) -> TaskBuilder<'r, 'r> {
        let Replay { template, tasks, arguments, priority, device, announced, after } = self;
        let Template { stretch, does, span: spanned, graphs } = template;
        let first = stretch.nodes().next().expect("a span has steps");
        let steps = Run::new(Arc::clone(does), arguments);
        // Captured copies would have no priority.
        let fixed = graphs.as_ref().map(|graphs| (!spanned.has_copies).then(|| Arc::clone(graphs)));
        let span = Span { steps, course: Course::new(plan, Arc::clone(stretch), fixed) };
        let task = tasks.span(stretch.name(stretch.len() - 1), first.kind, span);
        let task = task.priority(first.priority.max(priority)).on(device);
        let task = task.copying(spanned.copies_both_ways, announced && first.priority <= priority);
        task.after(after)
    }
}
