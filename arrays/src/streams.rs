//! Streams by policy: the device of a computation follows from the computations before it (GR-20 to GR-24).
//!
//! A stream is a chain of computations on one device. To the dispatcher it is an order: a computation comes after the
//! previous one in its stream, and so continues in its lane.

use std::collections::{BTreeMap, HashMap, HashSet};

use graph::NewStream;
use graph::{Choice, LanePolicy, NodeId, Parent, Parents, Unplaced};
use overtake_tasks::task::{Handle, Submitted};

/// A computation that may not have ended.
struct Running {
    /// Those that were submitted before have lower ones.
    number: u64,
    stream: usize,
    task: Handle,
    /// Another computation goes on in its stream.
    is_taken: bool,
}

struct Stream {
    device: u8,
    /// The last computation in it.
    last: Handle,
}

/// A place in a stream, for a computation that is to be submitted.
#[derive(Debug)]
pub(super) struct Spot {
    pub device: u8,
    stream: usize,
    /// The computation before it, whose stream it goes on in.
    parent: Option<NodeId>,
    /// The last computation in the stream, if that has not ended. The stream is an order: no failure goes along it.
    pub behind: Option<Handle>,
}

/// All streams.
pub(super) struct Streams {
    policy: Parents,
    rule: NewStream,
    running: HashMap<NodeId, Running>,
    /// By their numbers, in the order in which they were made.
    streams: BTreeMap<usize, Stream>,
    next: u64,
    next_stream: usize,
    /// So many computations are worth a look at which have ended.
    many: usize,
}

const MANY: usize = 64;

/// Chooses one of these devices, or of all, by the streams of each that are busy.
pub(super) type SelectBy<'s> = dyn FnMut(Option<&[u8]>, &[u32]) -> Result<u8, Unplaced> + 's;

impl Streams {
    pub fn new(policy: Parents, rule: NewStream) -> Streams {
        let (running, streams) = (HashMap::new(), BTreeMap::new());
        Streams { policy, rule, running, streams, next: 0, next_stream: 0, many: MANY }
    }

    /// The last computation of each stream, if that has not ended.
    pub fn last(&self) -> Vec<NodeId> {
        let last = self.streams.values().map(|stream| &stream.last);
        last.filter(|task| !task.is_done()).map(Handle::node).collect()
    }

    /// Chooses for a computation that comes after the nodes `before`, on one of the first devices, and can begin when
    /// those `over` have ended too, which are in ascending order. It is submitted ([`Streams::enter`]), or given up
    /// ([`Streams::leave`]).
    pub fn choose(
        &mut self,
        (before, over): (&[NodeId], &[NodeId]),
        devices: u8,
        select: &mut SelectBy<'_>,
    ) -> Result<Spot, Unplaced> {
        let running =
            |node: &NodeId| self.running.get(node).filter(|it| !it.task.is_done()).map(|it| (it.number, *node));
        let mut parents: Vec<(u64, NodeId)> = before.iter().filter_map(running).collect();
        parents.retain(|(_, node)| self.streams[&self.running[node].stream].device < devices);
        parents.sort_unstable();
        let parent = |(_, node): &(u64, NodeId)| {
            let running = &self.running[node];
            Parent { device: self.streams[&running.stream].device, is_taken: running.is_taken }
        };
        let known: Vec<Parent> = parents.iter().map(parent).collect();
        let load = self.load(over);
        let (device, stream, parent) = match self.policy.choose(&known, &mut |among| select(among, &load))? {
            Choice::Behind(parent) => {
                let node = parents[parent].1;
                let parent = self.running.get_mut(&node).expect("it was found");
                parent.is_taken = true;
                (self.streams[&parent.stream].device, parent.stream, Some(node))
            }
            Choice::Other(device) => (device, self.other(device, over), None),
        };
        let last = self.streams.get(&stream).map(|stream| &stream.last);
        let behind = last.filter(|last| !last.is_done()).cloned();
        Ok(Spot { device, stream, parent, behind })
    }

    /// A stream of the device in which all computations have ended, or will have when the one at hand can begin, if the
    /// rule lets it be used again, or a new one, which has an entry when its first computation is submitted.
    fn other(&mut self, device: u8, over: &[NodeId]) -> usize {
        let idle = |is_over: &dyn Fn(&Handle) -> bool| {
            let mut own = self.streams.iter().filter(|(_, stream)| stream.device == device);
            own.find(|(_, stream)| is_over(&stream.last)).map(|(number, _)| *number)
        };
        let is_over = |last: &Handle| over.binary_search(&last.node()).is_ok();
        let free = (self.rule == NewStream::Reuse).then(|| idle(&Handle::is_done).or_else(|| idle(&is_over)));
        if let Some(number) = free.flatten() {
            return number;
        }
        self.next_stream += 1;
        self.next_stream - 1
    }

    /// For each device the streams that are busy when the computation at hand can begin (GR-31).
    fn load(&self, over: &[NodeId]) -> Vec<u32> {
        let mut load = vec![0; usize::from(u8::MAX)];
        let is_busy = |last: &Handle| !last.is_done() && over.binary_search(&last.node()).is_err();
        for stream in self.streams.values() {
            load[usize::from(stream.device)] += u32::from(is_busy(&stream.last));
        }
        load
    }

    /// The device of a computation that was submitted.
    #[cfg(test)]
    pub fn device_of(&self, task: &Handle) -> Option<u8> {
        self.running.get(&task.node()).map(|running| self.streams[&running.stream].device)
    }

    /// Its stream.
    #[cfg(test)]
    pub fn stream_of(&self, task: &Handle) -> Option<u32> {
        self.running.get(&task.node()).map(|running| running.stream as u32)
    }

    /// How many were made.
    #[cfg(test)]
    pub fn count(&self) -> usize {
        self.next_stream
    }

    /// How many are known.
    #[cfg(test)]
    pub fn known(&self) -> usize {
        self.streams.len()
    }

    /// The computation has been submitted.
    pub fn enter(&mut self, spot: &Spot, task: &Handle) {
        self.enter_in(spot.stream, spot.device, task);
    }

    /// A computation of this device, whose caller has named it, has been submitted.
    pub fn enter_on(&mut self, device: u8, task: &Handle) {
        let stream = self.other(device, &[]);
        self.enter_in(stream, device, task);
    }

    fn enter_in(&mut self, stream: usize, device: u8, task: &Handle) {
        if self.running.len() >= self.many {
            self.forget_ended();
        }
        self.streams.insert(stream, Stream { device, last: task.clone() });
        let running = Running { number: self.next, stream, task: task.clone(), is_taken: false };
        self.running.insert(task.node(), running);
        self.next += 1;
    }

    fn forget_ended(&mut self) {
        self.running.retain(|_, running| !running.task.is_done());
        self.many = MANY.max(2 * self.running.len());
        if self.rule != NewStream::Reuse {
            // No computation comes to the others any more.
            let busy: HashSet<usize> = self.running.values().map(|running| running.stream).collect();
            self.streams.retain(|number, _| busy.contains(number));
        }
    }

    /// The computation is not submitted: others may have its place.
    pub fn leave(&mut self, spot: &Spot) {
        if let Some(parent) = spot.parent.and_then(|parent| self.running.get_mut(&parent)) {
            parent.is_taken = false;
        }
    }
}

#[cfg(test)]
mod ties;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use contexts::CudaContext;
    use copies::{Options, Overtake};
    use graph::NewStream;
    use graph::{Bandwidth, Mode};
    use hal::{Device, Driver};
    use overtake_plan::dag::{Computation as Planned, Plan, Policies, Program};
    use overtake_tasks::dispatch::{DispatchOptions, Dispatcher};
    use overtake_tasks::task::{Handle, More};
    use testkit::plans::{Row, cases};

    use super::MANY;
    use crate::computation::{Computation, Describe, Where};
    use crate::{Array, ArrayOptions, Arrays};

    /// The arrays of programs with more bytes are made smaller, all by one factor: policies look at proportions only.
    const BYTES_MAX: u64 = 2 << 20;

    /// The program with arrays of at most so many bytes in all.
    fn smaller(mut program: Program) -> Program {
        let factor = program.arrays.iter().map(|array| array.bytes).sum::<u64>().div_ceil(BYTES_MAX).max(1);
        program.arrays.iter_mut().for_each(|array| array.bytes = array.bytes.div_ceil(factor));
        for argument in program.computations.iter_mut().flat_map(|computation| &mut computation.arguments) {
            argument.range = argument.range.start / factor..argument.range.end.div_ceil(factor);
        }
        program
    }

    /// Arrays on so many devices, by the policies of a row.
    fn open(layers: &[Arc<Overtake>], row: &Row, policies: &Policies) -> (Dispatcher, Arrays) {
        let options = DispatchOptions { lanes: 2, inference: policies.inference(), ..Default::default() };
        let dispatcher = Dispatcher::open_on(&layers[..usize::from(row.devices)], options).unwrap();
        let read = |file| Bandwidth::read(&std::fs::read_to_string(file).unwrap(), row.devices).unwrap();
        let (parents, selection) = (policies.parents, policies.selection.unwrap());
        let bandwidth = row.bandwidth.as_ref().map(read);
        let new_stream = policies.new_stream.unwrap_or_default();
        let options =
            ArrayOptions { parents, selection, bandwidth, grcuda_compat: true, new_stream, ..ArrayOptions::default() };
        let arrays = Arrays::open(&dispatcher, options).unwrap();
        (dispatcher, arrays)
    }

    /// Submits a computation that is held, and returns the device that it has.
    fn submit(arrays: &Arrays, bytes: &[Array<u8>], planned: &Planned) -> (Handle, String) {
        let claim = |argument: &overtake_plan::dag::Argument| {
            let mode = if argument.mode == Mode::Read { Mode::Read } else { Mode::ReadWrite };
            let mut claim = crate::read(&bytes[argument.array]).claim();
            (claim.bytes, claim.mode) = (argument.range.clone(), mode);
            claim
        };
        let claims = planned.arguments.iter().map(claim).collect();
        let describe = Describe::launch(|_, _| Ok(More::Done));
        let computation = Computation::new(&arrays.store, "planned", Where::Chosen(u8::MAX), claims, describe);
        let task = computation.held().submit().unwrap();
        let device = arrays.store.places.device_of(&task).unwrap();
        (task, device.to_string())
    }

    /// The computations that one comes after, by way of others too.
    fn before(plan: &Plan, number: usize) -> Vec<usize> {
        let (mut all, mut next) = (Vec::new(), plan.steps[number].parents.clone());
        while let Some(parent) = next.pop() {
            if !all.contains(&parent) {
                all.push(parent);
                next.extend(&plan.steps[parent].parents);
            }
        }
        all
    }

    /// The host accesses an array: all before that ends, and nothing else, as GrCUDA sees it.
    fn access(bytes: &[Array<u8>], planned: &Planned) {
        for argument in &planned.arguments {
            let array = &bytes[argument.array];
            match argument.mode {
                Mode::Read => drop(array.read().unwrap()),
                _ => drop(array.change().unwrap()),
            }
        }
    }

    /// The devices and the streams of a row.
    fn found(layers: &[Arc<Overtake>], program: &Program, row: &Row, policies: &Policies) -> (Vec<String>, usize) {
        let (_dispatcher, arrays) = open(layers, row, policies);
        let plan = program.plan(policies, row.devices).unwrap();
        let zeros = |array: &overtake_plan::dag::Array| arrays.array_of(&vec![0_u8; array.bytes as usize]).unwrap();
        let bytes: Vec<Array<u8>> = program.arrays.iter().map(zeros).collect();
        let (mut devices, mut held) = (Vec::new(), Vec::new());
        for (number, planned) in program.computations.iter().enumerate() {
            if planned.is_host {
                let take = |it: usize| held.get_mut(it).and_then(Option::take);
                let ended: Vec<Handle> = before(&plan, number).into_iter().filter_map(take).collect();
                ended.iter().for_each(|task| task.release().unwrap());
                access(&bytes, planned);
                // The end of one may be seen before that of another that it came after in a lane of its own.
                ended.iter().for_each(|task| task.wait().unwrap());
                devices.push("host".to_owned());
                held.push(None);
            } else {
                let (task, device) = submit(&arrays, &bytes, planned);
                devices.push(device);
                held.push(Some(task));
            }
        }
        let streams = arrays.store.places.streams();
        held.iter().flatten().for_each(|task| task.release().unwrap());
        arrays.wait().unwrap();
        assert!(arrays.failure().is_none(), "{:?}", arrays.failure());
        (devices, streams)
    }

    fn open_streams(parents: graph::Parents, new_stream: NewStream) -> (Dispatcher, Arrays) {
        let driver: Arc<dyn Driver> = Arc::new(softgpu::SoftGpu::builder().build());
        let overtake = Arc::new(Overtake::open(&driver, Device(0), Options::default()).unwrap());
        let dispatcher = Dispatcher::open(&overtake, DispatchOptions::default()).unwrap();
        let options = ArrayOptions { parents: Some(parents), new_stream, ..ArrayOptions::default() };
        let arrays = Arrays::open(&dispatcher, options).unwrap();
        (dispatcher, arrays)
    }

    /// A computation that is refused, and a choice without one, leave their place to others.
    #[test]
    fn a_place_is_free_again() {
        let (_dispatcher, arrays) = open_streams(graph::Parents::Disjoint, NewStream::Reuse);
        let [one, never] = [(); 2].map(|()| arrays.array::<u8>(&[8]).unwrap());
        let uses = || crate::read(&one);
        let parent = arrays.launch("parent", (crate::discard(&one),), |_, _| Ok(More::Done)).held().submit().unwrap();
        let refused = arrays.launch("refused", (uses(), crate::read(&never)), |_, _| Ok(More::Done));
        assert!(refused.submit().is_err(), "no task has written it");
        assert_eq!(arrays.choose((uses(),)).unwrap(), 0);
        assert!(arrays.launch("refused", (crate::read(&never),), |_, _| Ok(More::Done)).submit().is_err());
        arrays.launch("child", (uses(),), |_, _| Ok(More::Done)).submit().unwrap();
        assert_eq!(arrays.store.places.known_streams(), 1, "it goes on behind its parent");
        arrays.launch("second", (uses(),), |_, _| Ok(More::Done)).submit().unwrap();
        assert_eq!(arrays.store.places.known_streams(), 2, "that place is taken");
        parent.release().unwrap();
        arrays.wait().unwrap();
    }

    /// Streams that no computation comes to any more are forgotten.
    #[test]
    fn many_streams_are_few() {
        let (_dispatcher, arrays) = open_streams(graph::Parents::Disjoint, NewStream::AlwaysNew);
        let one = arrays.array::<u8>(&[8]).unwrap();
        for _ in 0..20 * MANY {
            arrays.launch("alone", (crate::discard(&one),), |_, _| Ok(More::Done)).submit().unwrap();
            arrays.wait().unwrap();
        }
        assert_eq!(arrays.store.places.streams(), 20 * MANY);
        assert!(arrays.store.places.known_streams() <= 2 * MANY, "{}", arrays.store.places.known_streams());
    }

    /// All rows that GrCUDA's policies decide.
    #[test]
    fn devices_and_streams_are_those_of_the_plans() {
        let driver: Arc<dyn Driver> = Arc::new(softgpu::SoftGpu::builder().devices(8).build());
        let layer = |device: i32| {
            let context = CudaContext::primary(&driver, Device(device)).unwrap();
            Arc::new(Overtake::open_in(&context, Options::default()).unwrap())
        };
        let layers: Vec<_> = (0..8).map(layer).collect();
        let (mut count, mut wrong) = (0, String::new());
        for case in cases() {
            let program = smaller(Program::parse(&case.program).unwrap());
            for row in &case.rows {
                let mut policies = Policies::default();
                row.policies.iter().for_each(|name| policies.choose(name).unwrap());
                let read = |file| Bandwidth::read(&std::fs::read_to_string(file).unwrap(), row.devices).unwrap();
                policies.bandwidth = row.bandwidth.as_ref().map(read);
                let is_ours = policies.is_grcuda && policies.selection.is_some() && policies.parents.is_some();
                if !is_ours {
                    continue;
                }
                let (devices, streams) = found(&layers, &program, row, &policies);
                for line in row.lines.iter().filter(|line| line.first.is_none()) {
                    let seen = match line.kind.as_str() {
                        "devices" => devices.clone(),
                        "streams" => vec![streams.to_string()],
                        _ => continue,
                    };
                    count += 1;
                    if seen != line.words {
                        wrong += &format!("{}: {row:?}\n{line:?}\nfound {}\n", case.name, seen.join(" "));
                    }
                }
            }
        }
        assert!(wrong.is_empty(), "{wrong}");
        assert!(count >= 235, "{count} lines were compared");
    }
}
