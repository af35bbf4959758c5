//! Opening and closing a dispatcher.

use std::fmt;
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};

use copies::{Overtake, Priority, PriorityStream};
use graph::{Graph, Order};
use hal::{Code, EventFlags};
use os::forks::Process;
use threads::{Bell, Worker};

use crate::dispatch::arrivals::{Arrivals, Mail};
use crate::dispatch::body::{Bodies, Dead, bury};
use crate::dispatch::expectations::Expectations;
use crate::dispatch::faults::Faults;
use crate::dispatch::held::Lock;
use crate::dispatch::inside::is_inside;
use crate::dispatch::mailboxes::Mailboxes;
use crate::dispatch::marks::{MARKS_MAX, Marks};
use crate::dispatch::options::{DispatchOptions, WORKERS_MAX};
use crate::dispatch::ranks::{Candidate, Policy};
use crate::dispatch::rest::rest;
use crate::dispatch::seat::Last;
use crate::dispatch::serve::serve;
use crate::dispatch::shared::Shared;
use crate::dispatch::sleepers::Sleepers;
use crate::dispatch::state::State;
use crate::dispatch::statistics::DispatchStatistics;
use crate::dispatch::turn::Turn;
use crate::work::fault::Error;
use crate::work::outcome::Home;
use crate::work::sets::Sets;

/// Runs tasks on one device or several. Its streams, events and threads are all created when it is opened.
///
/// Dropping it waits for the work that has been submitted to the device and for running functions. Tasks that have not
/// started by then fail.
pub struct Dispatcher {
    /// They end before the streams and events that they use are destroyed.
    threads: Vec<Worker>,
    shared: Arc<Shared>,
}

impl Dispatcher {
    /// Creates the lanes in the context of the copy layer, and starts the threads.
    pub fn open(overtake: &Arc<Overtake>, options: DispatchOptions) -> Result<Dispatcher, Error> {
        Dispatcher::open_on(std::slice::from_ref(overtake), options)
    }

    /// The same for several devices, with a copy layer for each, opened with the same driver and the same priorities.
    /// Tasks run on the first, unless [`crate::task::TaskBuilder::on`] names another.
    pub fn open_on(layers: &[Arc<Overtake>], options: DispatchOptions) -> Result<Dispatcher, Error> {
        Dispatcher::open_with(layers, options, None)
    }

    /// The same, with ready tasks ordered by a policy ([`Order::Ranked`] instead of the order in `options`): among
    /// tasks of the same priority the one with the highest rank is next, and among those of the same rank the one that
    /// became ready first. The submitting thread calls `policy` for each task, without a lock. The transfers of a
    /// computation have its rank. Ranks are not inherited: to run the tasks before an important one first, the policy
    /// has to give them a high rank too.
    pub fn open_ranked(
        layers: &[Arc<Overtake>],
        options: DispatchOptions,
        policy: impl Fn(&Candidate<'_>) -> u32 + Send + Sync + 'static,
    ) -> Result<Dispatcher, Error> {
        let options = DispatchOptions { order: Order::Ranked, ..options };
        Dispatcher::open_with(layers, options, Some(Box::new(policy)))
    }

    fn open_with(
        layers: &[Arc<Overtake>],
        options: DispatchOptions,
        policy: Option<Box<Policy>>,
    ) -> Result<Dispatcher, Error> {
        let refused = |detail: String| Code::INVALID_VALUE.at("overtake dispatcher open").because(detail);
        if options.order == Order::Ranked && policy.is_none() {
            let detail = "the order of ranks needs a policy that ranks: open it by `open_ranked`";
            return Err(refused(detail.to_owned()).into());
        }
        let Some(overtake) = layers.first() else {
            return Err(refused("there is no device: open one copy layer at least".to_owned()).into());
        };
        let is_alike = |layer: &Arc<Overtake>| {
            layer.priorities() == overtake.priorities() && Arc::ptr_eq(layer.driver(), overtake.driver())
        };
        if !layers.iter().all(is_alike) {
            let detail = "the layers have other priorities or drivers than the first: open them alike";
            return Err(refused(detail.to_owned()).into());
        }
        let graph = Graph::new(graph::Options {
            order: options.order,
            priorities: overtake.priorities(),
            devices: layers.len().min(usize::from(u8::MAX)) as u8,
            groups: options.groups,
            lanes: options.lanes,
            nodes_max: options.tasks_max,
            edges_max: options.tasks_max.saturating_mul(4),
            ..graph::Options::default()
        })?;
        if options.workers == 0 || options.workers > WORKERS_MAX {
            let detail = format!("workers is {}, and must be between 1 and {WORKERS_MAX}", options.workers);
            return Err(refused(detail).into());
        }
        let lanes: hal::Result<Vec<_>> = layers.iter().map(|layer| lanes(layer, &options)).collect();
        let lanes = lanes?.into_iter().flatten().collect();
        let shared = shared(layers, lanes, (graph, policy), &options);
        let mut dispatcher = Dispatcher { threads: Vec::new(), shared };
        // From here on dropping it destroys the events.
        dispatcher.make_events()?;
        dispatcher.start_threads()?;
        Ok(dispatcher)
    }

    fn make_events(&self) -> hal::Result<()> {
        for lane in 0..self.shared.lanes.len() {
            let context = self.shared.layers[usize::from(self.shared.device_of(lane as u8))].cuda_context();
            let entered = context.enter()?;
            for _ in 0..MARKS_MAX {
                let event = entered.driver().event_create(EventFlags::DISABLE_TIMING)?;
                self.shared.enter().marks[lane].give_back(event);
            }
        }
        Ok(())
    }

    fn start_threads(&mut self) -> hal::Result<()> {
        for index in 0..self.shared.bells.len() {
            let (ends, serves) = (Arc::clone(&self.shared), Arc::clone(&self.shared));
            let body = move |host: &dyn hal::Host| serve(&serves, host, index);
            let end = move || ends.bells[index].end();
            self.threads.push(Worker::start(&self.shared.driver, "overtake-worker", end, body, || ())?);
        }
        Ok(())
    }

    /// The parts that tasks need.
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// The counters so far.
    #[must_use]
    pub fn statistics(&self) -> DispatchStatistics {
        let mut statistics = self.shared.enter_here().map(|held| held.statistics).unwrap_or_default();
        let of_spans = self.shared.span_launches.load(Ordering::Relaxed);
        statistics.launches = statistics.launches.wrapping_add(of_spans);
        statistics.graph_launches = self.shared.graph_launches.load(Ordering::Relaxed);
        statistics.graph_fallbacks += self.shared.graph_fallbacks.load(Ordering::Relaxed);
        statistics
    }

    /// The unfinished tasks as a graph for Graphviz: what each does, its priority and progress, and the remaining
    /// edges. The dispatcher does nothing else while the text is written.
    #[must_use]
    pub fn dot(&self) -> String {
        self.shared.enter_here().map(|held| held.graph.dot()).unwrap_or_default()
    }

    /// The counters of the graph.
    #[must_use]
    pub fn graph_statistics(&self) -> graph::Statistics {
        self.shared.enter_here().map(|held| held.graph.statistics()).unwrap_or_default()
    }
}

/// One stream for each lane of a device, at the highest priority of its group.
fn lanes(overtake: &Overtake, options: &DispatchOptions) -> hal::Result<Vec<PriorityStream>> {
    let count = u16::from(overtake.priorities().count());
    let top_of = |group: u8| {
        let top = (u16::from(group) + 1) * count / u16::from(options.groups);
        Priority::new(top as u8).unwrap_or(Priority::LOWEST)
    };
    let _entered = overtake.cuda_context().enter()?;
    let groups = (0..options.groups).flat_map(|group| std::iter::repeat_n(group, usize::from(options.lanes)));
    groups.map(|group| overtake.quiet_stream(top_of(group))).collect()
}

fn shared(
    layers: &[Arc<Overtake>],
    lanes: Vec<PriorityStream>,
    (graph, policy): (Graph, Option<Box<Policy>>),
    options: &DispatchOptions,
) -> Arc<Shared> {
    let (turn, count) = (Turn::default(), lanes.len());
    let of_a_device = usize::from(options.groups) * usize::from(options.lanes);
    let (mailboxes, is_handed_over) = (Arc::new(Mailboxes::new(turn.sign())), turn.sign_of_handing_over());
    let is_ranked = policy.is_some();
    if is_ranked {
        mailboxes.close();
    }
    let parts = Parts { turn, mailboxes: Arc::clone(&mailboxes), is_ranked };
    Arc::new_cyclic(|me| Shared {
        driver: Arc::clone(layers[0].driver()),
        layers: layers.to_vec(),
        lent: AtomicU64::new(0),
        // One more, which keeps the watch while the others run functions.
        bells: (0..=options.workers).map(|_| Bell::default()).collect(),
        state: Lock::new(state(me, layers, count, graph, parts)),
        lanes,
        devices: std::array::from_fn(|lane| lane.checked_div(of_a_device).unwrap_or(0) as u8),
        of_a_group: options.lanes,
        has_spans: options.order == graph::Order::Default && options.lanes > 0,
        span_events: Mutex::default(),
        span_launches: AtomicU64::new(0),
        graphs: Mutex::default(),
        graph_launches: AtomicU64::new(0),
        graph_fallbacks: AtomicU64::new(0),
        mailboxes: Arc::clone(&mailboxes),
        is_handed_over,
        steps_by: Last::default(),
        waiting: AtomicU32::new(0),
        policy,
        process: Process::this(),
    })
}

fn state(me: &Weak<Shared>, layers: &[Arc<Overtake>], lanes: usize, graph: Graph, parts: Parts) -> State {
    let Parts { turn, mailboxes, is_ranked } = parts;
    State {
        graph,
        bodies: Bodies::new(Weak::clone(me) as Home),
        sets: Sets::default(),
        marks: (0..lanes).map(|_| Marks::default()).collect(),
        faults: Faults::default(),
        statistics: DispatchStatistics::default(),
        expectations: Expectations::new(layers),
        turn,
        is_closed: false,
        losing: None,
        sleepers: Sleepers::default(),
        mailboxes,
        mail: Mail::default(),
        reached: Vec::new(),
        failed: Vec::new(),
        functions: 0,
        flush: false,
        may_want: 0,
        dead: Dead::default(),
        lifts: Vec::new(),
        replayed: Vec::new(),
        ranks: is_ranked.then(Box::default),
        kit: None,
    }
}

/// The parts of a state that others share.
struct Parts {
    turn: Turn,
    mailboxes: Arc<Arrivals>,
    is_ranked: bool,
}

impl Drop for Dispatcher {
    fn drop(&mut self) {
        if !self.shared.process.is_this() {
            // The threads and the device are the parent's.
            return std::mem::forget((std::mem::take(&mut self.threads), Arc::clone(&self.shared)));
        }
        let (shared, threads) = (Arc::clone(&self.shared), std::mem::take(&mut self.threads));
        if !is_inside(Arc::as_ptr(&shared) as usize) {
            return close(&shared, threads);
        }
        // This thread is one of those that have to end first.
        shared.enter().is_closed = true;
        let (driver, threads) = (Arc::clone(&shared.driver), ManuallyDrop::new(threads));
        let closing = move || close(&shared, ManuallyDrop::into_inner(threads));
        if let Err(error) = hal::spawn(&driver, "overtake-closing", closing) {
            log::error!(
                "a dispatcher that one of its tasks drops is not closed, and tasks without an end stay: {error}"
            );
        }
    }
}

/// No further step is taken, those under way end, and so does every task.
fn close(shared: &Arc<Shared>, threads: Vec<Worker>) {
    shared.enter().is_closed = true;
    // The thread that dispatches may be in a function of the caller's, which has an end.
    while shared.enter().turn.is_taken() {
        shared.driver.host().sleep(hal::Nanos::from_us(10));
    }
    threads.iter().for_each(Worker::end);
    drop(threads);
    let mut dead = Dead::default();
    shared.at_home(|| {
        let rest = rest(&*shared.driver, &shared.lanes);
        let mut held = shared.enter();
        held.close_mailboxes();
        if let Err(error) = rest {
            held.lose_device(error);
        }
        if shared.has_lost_copies() {
            held.fail_lost();
        }
        held.end();
        std::mem::swap(&mut dead, &mut held.dead);
        let events: Vec<_> = held.marks.iter_mut().flat_map(|marks| std::mem::take(marks).into_events()).collect();
        drop(held);
        let graphs = std::mem::take(&mut *hal::locks::lock(&shared.graphs));
        graphs.iter().filter_map(Weak::upgrade).for_each(|graphs| graphs.end(Arc::as_ptr(shared).addr()));
        let of_spans = std::mem::take(&mut *hal::locks::lock(&shared.span_events));
        for event in events.into_iter().chain(of_spans.iter().flat_map(|(_, events)| events.iter().copied())) {
            if let Err(error) = shared.driver.event_destroy(event) {
                log::warn!("an event of the dispatcher cannot be destroyed: {error}");
            }
        }
    });
    bury(dead);
}

impl fmt::Debug for Dispatcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dispatcher").field("lanes", &self.shared.lanes.len()).finish_non_exhaustive()
    }
}
