//! The planner: appends the computations of a program to a graph, and places each by the policies.

use std::collections::HashMap;
use std::ops::Range;

use graph::{
    Access, Choice, DEVICES_MAX, DataId, Graph, Kind, Location, Locations, Mode, NodeId, Options, Parent, Runner,
    Selector, Spans, Spec, Stretch, Unplaced, Use, each_once,
};

use super::fault::Fault;
use super::policies::Policies;
use super::program::{Argument, Computation, Program};
use super::step::{Moved, Plan, Step, Totals};
use super::streams::Streams;

struct Planner<'p> {
    policies: &'p Policies,
    graph: Graph,
    data: Vec<DataId>,
    /// Where the bytes of each array are.
    locations: Vec<Spans<Locations>>,
    device: Selector,
    streams: Streams,
    steps: Vec<Step>,
    /// The computation of each node.
    numbers: HashMap<NodeId, usize>,
    /// Nodes that have begun and not ended.
    begun: Vec<NodeId>,
    /// For each computation, whether it is known to have ended, and whether another one goes on in its stream.
    has_ended: Vec<bool>,
    is_taken: Vec<bool>,
    /// The computation before it in its stream.
    before: Vec<Option<usize>>,
}

impl Program {
    /// Plans the program for so many devices. Nothing is run: a computation is known to have ended when an access of
    /// the host has waited for it.
    ///
    /// # Errors
    ///
    /// [`Fault`].
    pub fn plan(&self, policies: &Policies, devices: u8) -> Result<Plan, Fault> {
        let no_line = |message: String| Fault { line: 1, message };
        if !(1..=DEVICES_MAX).contains(&devices) {
            return Err(no_line(format!(
                "{devices} devices are not between 1 and {DEVICES_MAX}: choose another number"
            )));
        }
        let selection = policies.selection();
        if selection.needs_bandwidth() && policies.bandwidth.is_none() {
            let message = "a policy that looks at transfer times needs bandwidths: state a file of them".to_owned();
            return Err(no_line(message));
        }
        let room = u32::try_from(self.computations.len() + 1).unwrap_or(u32::MAX - 1);
        let inference = policies.inference();
        let options = Options { inference, nodes_max: room, edges_max: u32::MAX - 1, ..Options::default() };
        let mut graph = Graph::new(options).map_err(|refused| no_line(refused.to_string()))?;
        let start = |array: &super::program::Array| Spans::new(array.bytes, Locations::only(Location::Host));
        let mut device = Selector::new(selection, devices);
        device.threshold = policies.threshold.unwrap_or(device.threshold);
        device.bandwidth.clone_from(&policies.bandwidth);
        device.is_grcuda = policies.is_grcuda;
        let mut planner = Planner {
            policies,
            data: self.arrays.iter().map(|array| graph.data(array.bytes)).collect(),
            graph,
            locations: self.arrays.iter().map(start).collect(),
            device,
            streams: Streams::new(devices, policies.new_stream()),
            steps: Vec::new(),
            numbers: HashMap::new(),
            begun: Vec::new(),
            has_ended: Vec::new(),
            is_taken: Vec::new(),
            before: Vec::new(),
        };
        for computation in &self.computations {
            let told = if computation.is_host { planner.access(computation) } else { planner.compute(computation) };
            let step = told.map_err(|message| Fault { line: computation.line, message })?;
            planner.steps.push(step);
        }
        Ok(planner.finish())
    }
}

impl Planner<'_> {
    fn finish(mut self) -> Plan {
        // Those after a computation stand behind it, so theirs are known.
        for number in (0..self.steps.len()).rev() {
            let priority = self.steps[number].priority;
            for parent in self.steps[number].parents.clone() {
                self.steps[parent].priority = self.steps[parent].priority.max(priority);
            }
        }
        let mut totals = Totals { frontier: self.graph.frontier().len(), ..Totals::default() };
        let streams = self.streams.devices();
        totals.streams = streams.len();
        self.steps.iter().for_each(|step| totals.add(step));
        Plan { steps: self.steps, streams, totals }
    }

    /// Appends a node, and tells those before it.
    fn append(&mut self, computation: &Computation) -> Result<Vec<usize>, String> {
        let access = |argument: &Argument| Access {
            data: self.data[argument.array],
            range: Some(argument.range.clone()),
            mode: argument.mode,
        };
        let accesses: Vec<Access> = computation.arguments.iter().map(access).collect();
        let spec = Spec { name: &computation.label, ..Spec::of(Kind::Light) };
        let node = self.graph.append_using(&spec, &accesses).map_err(|refused| refused.to_string())?;
        let mut parents = Vec::new();
        self.graph.predecessors(node, |before| parents.extend(self.numbers.get(&before)));
        parents.sort_unstable();
        self.numbers.insert(node, self.steps.len());
        self.has_ended.push(false);
        self.is_taken.push(false);
        self.before.push(None);
        Ok(parents)
    }

    /// A computation of a device.
    fn compute(&mut self, computation: &Computation) -> Result<Step, String> {
        let number = self.steps.len();
        let parents = self.append(computation)?;
        let stretches = each_once(computation.stretches());
        // GrCUDA counts each argument.
        let uses = if self.policies.is_grcuda { self.uses(&computation.stretches()) } else { self.uses(&stretches) };
        let choice = self.choose(&parents, &uses).map_err(|unplaced| unplaced.to_string())?;
        let stream = match choice {
            Choice::Behind(parent) => {
                let parent = parents[parent];
                self.is_taken[parent] = true;
                self.steps[parent].stream.unwrap_or_default()
            }
            Choice::Other(device) => {
                let over = self.over(&parents);
                self.streams.other(device, |other| over[other])
            }
        };
        self.before[number] = self.streams.active(stream).last().copied();
        self.streams.enter(stream, number);
        let at = Location::Device(self.streams.device(stream));
        let joins = parents.iter().filter(|parent| self.steps[**parent].stream != Some(stream)).count() as u32;
        let transfers = self.transfer(&stretches, at);
        let priority = computation.priority;
        Ok(Step { at, stream: Some(stream), parents, joins, priority, transfers, is_skipped: false })
    }

    fn choose(&mut self, parents: &[usize], uses: &[Use]) -> Result<Choice, Unplaced> {
        let over = self.over(parents);
        let load = self.streams.load(|other| over[other]);
        let all: Vec<u8> = (0..load.len() as u8).collect();
        let device = &mut self.device;
        let mut select = |among: Option<&[u8]>| device.select(uses, among.unwrap_or(&all), &load);
        let parent = |number: &usize| Parent {
            device: self.streams.device(self.steps[*number].stream.unwrap_or_default()),
            is_taken: self.is_taken[*number],
        };
        let parents: Vec<Parent> = parents.iter().map(parent).collect();
        self.policies.parents().choose(&parents, &mut select)
    }

    /// The computations that have ended when one with these parents can begin. To GrCUDA only those have that the host
    /// has waited for.
    fn over(&self, parents: &[usize]) -> Vec<bool> {
        if self.policies.is_grcuda { self.has_ended.clone() } else { self.ended_with(parents) }
    }

    /// The computations that have ended when these have: those before them by edges and in their streams.
    fn ended_with(&self, these: &[usize]) -> Vec<bool> {
        let mut over = self.has_ended.clone();
        let mut stack = these.to_vec();
        while let Some(number) = stack.pop() {
            if !std::mem::replace(&mut over[number], true) {
                stack.extend(&self.steps[number].parents);
                stack.extend(self.before[number]);
            }
        }
        over
    }

    /// The bytes of the arguments, by the memories in which they are.
    fn uses(&self, stretches: &[Stretch]) -> Vec<Use> {
        let mut uses = Vec::new();
        for (array, range, mode) in stretches {
            let first = uses.len();
            let add = |range: Range<u64>, at: &Locations| mode.on(range.end - range.start, *at).add(&mut uses, first);
            self.locations[*array].each(range, add);
        }
        uses
    }

    /// The transfers that bring the arguments there. From now on they are there (GR-08).
    fn transfer(&mut self, stretches: &[Stretch], to: Location) -> Vec<Moved> {
        let mut transfers = Vec::new();
        for (array, range, mode) in stretches {
            let bandwidth = self.policies.bandwidth.as_ref();
            let add = |range: Range<u64>, at: &Locations| {
                // Without bandwidths the host is the nearest memory, then the devices in their order.
                let best = bandwidth.and_then(|bandwidth| bandwidth.best(to, *at)).map(|(_, from)| from);
                if let Some(from) = best.or(at.iter().next()).filter(|_| mode.needs_bytes() && !at.has(to)) {
                    push(&mut transfers, Moved { array: *array, range, from, to });
                }
            };
            self.locations[*array].each(range, add);
            let is_read = *mode == Mode::Read && (self.policies.sees_const() || !self.policies.is_grcuda);
            let change = |at: &mut Locations| *at = if is_read { at.and(to) } else { Locations::only(to) };
            self.locations[*array].change(range, change);
            self.locations[*array].tidy(|_| (), |one, other| one == other);
        }
        transfers
    }

    /// An access of the host.
    fn access(&mut self, computation: &Computation) -> Result<Step, String> {
        let (at, priority) = (Location::Host, computation.priority);
        if computation.arguments.iter().all(|argument| self.may_skip(argument)) {
            self.has_ended.push(true);
            self.is_taken.push(false);
            self.before.push(None);
            let (parents, transfers) = (Vec::new(), Vec::new());
            return Ok(Step { at, stream: None, parents, joins: 0, priority, transfers, is_skipped: true });
        }
        let parents = self.append(computation)?;
        if self.policies.is_grcuda {
            self.wait_for_streams(&parents);
        } else {
            self.wait_for(&parents);
        }
        self.has_ended[self.steps.len()] = true;
        self.tell_ends();
        let transfers = self.transfer(&each_once(computation.stretches()), at);
        Ok(Step { at, stream: None, parents, joins: 0, priority, transfers, is_skipped: false })
    }

    /// The host needs no node to read bytes that it has, and none to write bytes that only it has (GR-07).
    fn may_skip(&self, argument: &Argument) -> bool {
        let mut may_skip = true;
        let only = Locations::only(Location::Host);
        self.locations[argument.array].each(&argument.range, |_, at| {
            may_skip &= if argument.mode == Mode::Read { at.has(Location::Host) } else { *at == only };
        });
        may_skip
    }

    /// The host waits for the parents, and no longer.
    fn wait_for(&mut self, parents: &[usize]) {
        let over = self.ended_with(parents);
        let ended: Vec<usize> = (0..over.len()).filter(|number| over[*number] && !self.has_ended[*number]).collect();
        for number in ended {
            self.end(number, &[]);
        }
    }

    /// GrCUDA waits for all computations in the streams of the parents. All before those have ended then, by edges,
    /// and streams that only these were in are free (GR-06).
    fn wait_for_streams(&mut self, parents: &[usize]) {
        let mut waited: Vec<u32> = parents.iter().filter_map(|parent| self.steps[*parent].stream).collect();
        waited.sort_unstable();
        waited.dedup();
        for stream in waited.clone() {
            for number in self.streams.active(stream).to_vec() {
                let mut queue = std::collections::VecDeque::from([number]);
                while let Some(number) = queue.pop_front() {
                    if !self.has_ended[number] {
                        self.end(number, &waited);
                        queue.extend(self.steps[number].parents.clone());
                    }
                }
            }
            self.streams.release(stream);
        }
    }

    fn end(&mut self, number: usize, kept: &[u32]) {
        self.has_ended[number] = true;
        if let Some(stream) = self.steps[number].stream {
            self.streams.end(stream, number, kept);
        }
    }

    /// Tells the graph which nodes have ended. It hands nodes out in their order, so each comes after its parents.
    fn tell_ends(&mut self) {
        loop {
            while let Some(node) = self.graph.next(Runner::Light).map(|ready| ready.node) {
                self.begun.push(node);
            }
            let has_ended = |node: &NodeId| self.numbers.get(node).is_some_and(|number| self.has_ended[*number]);
            let Some(place) = self.begun.iter().position(has_ended) else { break };
            let node = self.begun.swap_remove(place);
            let _is_begun = self.graph.launched(node);
            while self.graph.ended().is_some() {}
        }
    }
}

/// Adds a transfer, or makes the last one longer.
fn push(transfers: &mut Vec<Moved>, moved: Moved) {
    match transfers.last_mut() {
        Some(last) if last.array == moved.array && last.from == moved.from && last.range.end == moved.range.start => {
            last.range.end = moved.range.end;
        }
        _ => transfers.push(moved),
    }
}
