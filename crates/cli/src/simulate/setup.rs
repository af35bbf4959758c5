//! The scenario with every name resolved and every number checked, for the machine.

use std::collections::BTreeMap;

use channels::share::ShareOptions;
use channels::{Shape, chunk};
use hal::Nanos;
use overtake::options::DemandOptions;
use priority::{Priorities, Priority};
use shim::demand::Rank;

use super::alias::{self, ChannelSetup};
use super::scenario::{Copies, Device, Inc, Mode, Scenario, Stream, Unit, Way};
use super::{demand, dependencies};

/// The input of the machine.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The way in which copies are ordered.
    pub mode: Mode,
    /// The unit in which times are shown.
    pub unit: Unit,
    /// The time that a channel keeps its engine while others have work.
    pub slice: Nanos,
    /// The time that the host scheduler needs for one semaphore command.
    pub command: Nanos,
    pub priorities: Priorities,
    /// The time from which copies count.
    pub inc: Inc,
    /// Whether dependencies inherit priority.
    pub boost: bool,
    /// The starvation bound.
    pub share: ShareOptions,
    /// The engines that are used by some stream.
    pub engines: Vec<EngineSetup>,
    /// The channels that are used by some stream.
    pub channels: Vec<ChannelSetup>,
    pub streams: Vec<StreamSetup>,
    /// The copies, in order of submission.
    pub copies: Vec<CopySetup>,
}

/// A copy engine.
#[derive(Clone, Debug)]
pub struct EngineSetup {
    /// `DEVICE.DIRECTION`.
    pub name: String,
    /// Its device, by index in the file.
    pub device: usize,
    /// The direction of its copies.
    pub way: Way,
    /// The most channels that it can have.
    pub queues: usize,
    bytes_per_ns: f64,
    gap: Nanos,
}

/// A stream of the application.
#[derive(Clone, Debug)]
pub struct StreamSetup {
    pub name: String,
    /// Its place in the file, and the rank of its copies if the rule of demand decides: it then stands there twice.
    pub of: usize,
    pub rank: Option<Rank>,
    pub priority: Priority,
    /// The engine that its copies need.
    pub engine: usize,
    /// Whether no stream of its device is more urgent.
    pub is_top: bool,
    /// The channel that its copies use.
    pub channel: usize,
}

#[derive(Clone, Debug)]
pub struct CopySetup {
    pub name: String,
    pub stream: usize,
    /// The time of its submission.
    pub arrival: Nanos,
    /// The copies that it waits for, each submitted earlier.
    pub after: Vec<usize>,
    /// The duration of each of its chunks.
    pub chunks: Vec<Nanos>,
}

/// A scenario with more copies is not a small model.
const COPIES_MAX: usize = 10_000;
const CHUNKS_MAX: usize = 100_000;

impl Setup {
    /// Resolves and checks a scenario.
    pub fn new(scenario: &Scenario, mode: Mode, chunk_bytes: Option<u64>) -> Result<Setup, String> {
        let unit = scenario.unit;
        let priorities = Priorities::new(scenario.priorities)
            .ok_or_else(|| format!("priorities = {}: there can be 1 to {}", scenario.priorities, Priorities::MAX))?;
        let slice = time(unit, "slice", scenario.slice)?;
        if slice == Nanos::ZERO {
            return Err("slice = 0: no channel would ever get on; give it at least 1".to_owned());
        }
        let (engines, mut streams) = engines_and_streams(scenario, priorities)?;
        let channels = alias::assign(mode, priorities, &engines, &mut streams);
        let mut setup = Setup {
            mode,
            unit,
            slice,
            command: time(unit, "command", scenario.command)?,
            priorities,
            inc: scenario.inc,
            boost: scenario.boost.unwrap_or(mode == Mode::Hold),
            share: share(scenario)?,
            engines,
            channels,
            streams,
            copies: Vec::new(),
        };
        setup.copies = copies(scenario, &setup, chunk_bytes)?;
        Ok(setup)
    }
}

/// The index of `name` among the given names.
pub fn find<'a>(what: &str, name: &str, mut names: impl Iterator<Item = &'a str> + Clone) -> Result<usize, String> {
    let known = names.clone();
    names.position(|known| known == name).ok_or_else(|| {
        let listed: Vec<&str> = known.take(20).collect();
        format!("there is no {what} `{name}`; there is {}", listed.join(", "))
    })
}

fn unique<'a>(what: &str, names: impl Iterator<Item = &'a str>) -> Result<(), String> {
    let mut seen = std::collections::BTreeSet::new();
    for name in names {
        if name.is_empty() || name.contains(char::is_whitespace) {
            return Err(format!("{what} `{name}`: a name is one word; use hyphens instead of blanks"));
        }
        if !seen.insert(name) {
            return Err(format!("the {what} `{name}` is there twice; rename one"));
        }
    }
    Ok(())
}

fn time(unit: Unit, what: &str, value: u64) -> Result<Nanos, String> {
    unit.time(value).ok_or_else(|| format!("{what} = {value} {}: that is longer than a clock can hold", unit.name()))
}

fn share(scenario: &Scenario) -> Result<ShareOptions, String> {
    if !(0.0..1.0).contains(&scenario.bulk_share) {
        return Err(format!("bulk_share = {}: it is a part of the time, 0.0 to 0.99", scenario.bulk_share));
    }
    let slice = time(scenario.unit, "bulk_slice", scenario.bulk_slice)?;
    if slice == Nanos::ZERO {
        return Err("bulk_slice = 0: nothing would fit into it; give it the length of a chunk or more".to_owned());
    }
    Ok(ShareOptions { share: scenario.bulk_share, slice })
}

fn engines_and_streams(
    scenario: &Scenario,
    priorities: Priorities,
) -> Result<(Vec<EngineSetup>, Vec<StreamSetup>), String> {
    let devices = match scenario.devices.as_slice() {
        [] => vec![Device::default()],
        devices => devices.to_vec(),
    };
    unique("device", devices.iter().map(|device| device.name.as_str()))?;
    unique("stream", scenario.streams.iter().map(|stream| stream.name.as_str()))?;
    let (mut engines, mut streams) = (Vec::new(), Vec::new());
    for (of, stream) in scenario.streams.iter().enumerate() {
        let device = match &stream.device {
            None => 0,
            Some(name) => find("device", name, devices.iter().map(|device| device.name.as_str()))
                .map_err(|error| format!("stream `{}`: {error}", stream.name))?,
        };
        let engine = engine(scenario, &devices, device, stream.direction, &mut engines)?;
        let mut push = |name, priority, rank| {
            streams.push(StreamSetup { name, of, rank, priority, engine, is_top: false, channel: 0 });
        };
        match stream.priority {
            Some(number) => push(stream.name.clone(), priority(stream, number, priorities)?, None),
            None => [Rank::First, Rank::Bulk].into_iter().for_each(|rank| {
                push(demand::name(&stream.name, rank), demand::level(rank, priorities), Some(rank));
            }),
        }
    }
    mark_top(&engines, &mut streams);
    Ok((engines, streams))
}

fn priority(stream: &Stream, number: u8, priorities: Priorities) -> Result<Priority, String> {
    Priority::new(number).filter(|priority| priorities.contains(*priority)).ok_or_else(|| {
        let (name, count) = (&stream.name, priorities.count());
        format!("stream `{name}` has priority {number}, but priorities go from 1 (the lowest) to {count}")
    })
}

fn engine(
    scenario: &Scenario,
    devices: &[Device],
    device: usize,
    way: Way,
    engines: &mut Vec<EngineSetup>,
) -> Result<usize, String> {
    if let Some(at) = engines.iter().position(|engine| engine.device == device && engine.way == way) {
        return Ok(at);
    }
    let from = &devices[device];
    let name = format!("{}.{}", from.name, way.name());
    let bytes_per_ns = match way {
        Way::H2d => from.h2d_gbps,
        Way::D2h => from.d2h_gbps,
    };
    if !(bytes_per_ns.is_finite() && bytes_per_ns > 0.0) {
        return Err(format!("device `{}`: {}_gbps = {bytes_per_ns} must be above 0", from.name, way.name()));
    }
    if from.queues == 0 {
        return Err(format!("device `{}`: queues = 0 leaves nowhere to submit to; give it at least 1", from.name));
    }
    let gap = time(scenario.unit, "gap", from.gap)?;
    engines.push(EngineSetup { name, device, way, queues: from.queues, bytes_per_ns, gap });
    Ok(engines.len() - 1)
}

/// Priorities are compared within a device, as in overtake.
fn mark_top(engines: &[EngineSetup], streams: &mut [StreamSetup]) {
    for at in 0..streams.len() {
        let device = |stream: &StreamSetup| engines[stream.engine].device;
        let peers = streams.iter().filter(|other| device(other) == device(&streams[at]));
        streams[at].is_top = peers.map(|peer| peer.priority).max() == Some(streams[at].priority);
    }
}

fn copies(scenario: &Scenario, setup: &Setup, chunk_bytes: Option<u64>) -> Result<Vec<CopySetup>, String> {
    if chunk_bytes == Some(0) {
        return Err("chunk_bytes = 0 cuts nothing; leave it out to copy whole".to_owned());
    }
    if chunk_bytes.is_some() && scenario.copies.iter().all(|copy| copy.bytes.is_none()) {
        return Err(
            "chunk_bytes cuts copies by their bytes, but every copy gives its duration; give `bytes`".to_owned()
        );
    }
    let (mut copies, mut afters) = (Vec::new(), Vec::new());
    let mut ranks = ranks(scenario, setup)?;
    for (place, entry) in scenario.copies.iter().enumerate() {
        let ranks = ranks.remove(&place).unwrap_or_default();
        let made = instances(entry, (scenario, setup), &ranks, chunk_bytes);
        let made = made.map_err(|error| format!("copy `{}`: {error}", entry.name))?;
        afters.extend(std::iter::repeat_n(&entry.after, made.len()));
        copies.extend(made);
        let chunks: usize = copies.iter().map(|copy| copy.chunks.len()).sum();
        if copies.len() > COPIES_MAX || chunks > CHUNKS_MAX {
            return Err(format!(
                "more than {COPIES_MAX} copies or {CHUNKS_MAX} chunks; a scenario is a small model: use fewer, or \
                 larger chunks"
            ));
        }
    }
    if copies.is_empty() {
        return Err("there is nothing to copy; add a [[copies]] entry".to_owned());
    }
    unique("copy", copies.iter().map(|copy| copy.name.as_str()))?;
    let mut copies = dependencies::resolve(copies, &afters)?;
    let ranked = |copy: &CopySetup| (setup.streams[copy.stream].of, setup.streams[copy.stream].rank);
    let changes = demand::changes(&copies.iter().map(ranked).collect::<Vec<_>>());
    copies.iter_mut().zip(changes).for_each(|(copy, before)| copy.after.extend(before));
    Ok(copies)
}

/// The file's stream of that name.
fn stream_of(scenario: &Scenario, name: &str) -> Result<usize, String> {
    find("stream", name, scenario.streams.iter().map(|stream| stream.name.as_str()))
}

/// The time of the copy of that number of an entry.
fn arrival(entry: &Copies, unit: Unit, number: u32) -> Result<Nanos, String> {
    let offset = entry.every.checked_mul(u64::from(number)).and_then(|offset| entry.arrival.checked_add(offset));
    time(unit, "arrival", offset.unwrap_or(u64::MAX))
}

fn count(entry: &Copies) -> Result<u32, String> {
    let count = entry.count.unwrap_or(1);
    match count as usize {
        1..=COPIES_MAX => Ok(count),
        _ => Err(format!("count = {count}: it can be 1 to {COPIES_MAX}")),
    }
}

/// The ranks of copies in streams without a priority, for each entry that has such copies.
fn ranks(scenario: &Scenario, setup: &Setup) -> Result<BTreeMap<usize, Vec<Rank>>, String> {
    let options = DemandOptions { burst_bytes: scenario.demand.burst_bytes, gbps: scenario.demand.gbps };
    let mut ranks = BTreeMap::<usize, Vec<Rank>>::new();
    for (of, _) in scenario.streams.iter().enumerate().filter(|(_, stream)| stream.priority.is_none()) {
        let (mut asked, mut entries) = (Vec::new(), Vec::new());
        for (place, entry) in scenario.copies.iter().enumerate() {
            let explain = |error: String| format!("copy `{}`: {error}", entry.name);
            if stream_of(scenario, &entry.stream).map_err(explain)? != of {
                continue;
            }
            let bytes = entry.bytes.ok_or_else(|| explain("its stream has no priority, so give `bytes`".to_owned()))?;
            for number in 0..count(entry).map_err(explain)? {
                asked.push((arrival(entry, setup.unit, number).map_err(explain)?, bytes));
                entries.push(place);
            }
        }
        let ranked = entries.into_iter().zip(demand::ranks(options, &asked));
        ranked.for_each(|(place, rank)| ranks.entry(place).or_default().push(rank));
    }
    Ok(ranks)
}

fn instances(
    entry: &Copies,
    (scenario, setup): (&Scenario, &Setup),
    ranks: &[Rank],
    chunk_bytes: Option<u64>,
) -> Result<Vec<CopySetup>, String> {
    let of = stream_of(scenario, &entry.stream)?;
    let instance = |number: u32| {
        let rank = ranks.get(number as usize).copied();
        let is_its = |stream: &StreamSetup| stream.of == of && stream.rank == rank;
        let stream = setup.streams.iter().position(is_its).expect("each stream of the file is there");
        let chunks = chunks(entry, setup, stream, chunk_bytes)?;
        let name = match entry.count {
            None => entry.name.clone(),
            Some(_) => format!("{}{}", entry.name, number + 1),
        };
        let arrival = arrival(entry, setup.unit, number)?;
        Ok(CopySetup { name, stream, arrival, after: Vec::new(), chunks })
    };
    (0..count(entry)?).map(instance).collect()
}

fn chunks(entry: &Copies, setup: &Setup, stream: usize, chunk_bytes: Option<u64>) -> Result<Vec<Nanos>, String> {
    let stream = &setup.streams[stream];
    let engine = &setup.engines[stream.engine];
    match (entry.bytes, entry.duration) {
        (Some(0), _) | (_, Some(0)) => Err("it moves nothing; give it at least 1".to_owned()),
        (None, Some(duration)) => Ok(vec![time(setup.unit, "duration", duration)?]),
        (Some(bytes), None) => {
            // No copy overtakes one of the highest priority, so cutting it gains nothing.
            let size = chunk_bytes.filter(|_| !stream.is_top).unwrap_or(bytes);
            if bytes.div_ceil(size) > CHUNKS_MAX as u64 {
                return Err(format!("chunks of {size} bytes would be more than {CHUNKS_MAX}; make them larger"));
            }
            let cut = chunk::cut(&Shape::linear(0, 0, bytes), size);
            cut.iter().map(|chunk| engine.takes(chunk.bytes())).collect()
        }
        _ => Err("give its size with either `bytes` or `duration`".to_owned()),
    }
}

impl EngineSetup {
    /// The time that the engine needs for this many bytes.
    fn takes(&self, bytes: u64) -> Result<Nanos, String> {
        let moving = (bytes as f64 / self.bytes_per_ns).ceil();
        if moving > (u64::MAX / 4) as f64 {
            return Err(format!("{bytes} bytes take longer than a clock can hold"));
        }
        Ok(Nanos(moving as u64) + self.gap)
    }
}
