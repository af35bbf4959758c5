//! The times of every copy, in the format of Perfetto and chrome://tracing. If `OVERTAKE_TRACE_DIR` is set,
//! `<pid>.trace.json` is written there when the process exits.
//!
//! Each engine and way has a track, with as many lanes as copies were in flight at the same time. Each engine has a
//! counter of pending urgent copies, which is the value of its semaphores.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::SystemTime;

use copies::TracedCopy;
use copies::copy::Plan;
use hal::locks::lock;
use hal::{Driver, Nanos};
use serde_json::{Value, json};

use crate::context::Local;
use crate::process::{Process, time_of_day};

/// The variable that names the folder for traces.
const FOLDER_VARIABLE: &str = "OVERTAKE_TRACE_DIR";

pub(crate) fn folder() -> Option<PathBuf> {
    os::variable::path(FOLDER_VARIABLE).map(PathBuf::from)
}

/// The copies of one context, with the clock that all processes of the machine share.
#[derive(Clone)]
pub(crate) struct Part {
    device: i32,
    copies: Vec<TracedCopy>,
    left_out: u64,
    /// The time of the machine's clock at time 0 of the driver's host.
    origin_ns: i128,
}

impl Part {
    /// The part of a context that is closing, if it has traced copies.
    pub(crate) fn of_closing(local: &Local) -> Option<Part> {
        Some(Part::of(local)).filter(|part| !part.copies.is_empty() || part.left_out > 0)
    }

    fn of(local: &Local) -> Part {
        let (copies, left_out) = local.overtake.trace();
        Part { device: local.device.0, copies, left_out, origin_ns: origin_ns(&**local.overtake.driver()) }
    }
}

fn origin_ns(driver: &dyn Driver) -> i128 {
    let since = time_of_day().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as i128) - i128::from(driver.host().now().0)
}

/// Writes the trace, if it is wanted.
pub(crate) fn end(process: &Process) {
    let Some(folder) = folder() else { return };
    let closed = lock(&process.closed_traces).clone();
    let parts: Vec<Part> = closed.into_iter().chain(process.locals().iter().map(|local| Part::of(local))).collect();
    let text = lines(&events(&parts, std::process::id()));
    let path = folder.join(format!("{}.trace.json", std::process::id()));
    if let Err(error) = os::file::write_whole(&path, text.as_bytes())
        && error.kind() != std::io::ErrorKind::NotFound
    {
        log::warn!("there is no trace of this process, because {} cannot be written: {error}", path.display());
    }
}

/// An array with one event in each line, so that the beginning of a file can be read by itself.
fn lines(events: &[Value]) -> String {
    let mut text = String::from("[\n");
    for (index, event) in events.iter().enumerate() {
        let comma = if index + 1 < events.len() { "," } else { "" };
        // A write to a string does not fail.
        let _ = writeln!(text, "{event}{comma}");
    }
    text.push_str("]\n");
    text
}

/// A track: an engine and a way.
type Track = (i32, &'static str, &'static str);

fn track(device: i32, copy: &TracedCopy) -> Track {
    let way = match copy.plan {
        Plan::Native(_) => "passed on",
        Plan::Urgent | Plan::UrgentKernel => "urgent",
        Plan::Kernel { .. } => "bulk by kernel",
        Plan::Staged { .. } => "staged",
        Plan::Engine { .. } => "bulk in chunks",
    };
    (device, copy.direction.map_or("copies", copies::Direction::name), way)
}

/// The known end of the copy, but not before its call returned.
fn end_of(copy: &TracedCopy) -> Nanos {
    copy.landed.unwrap_or(copy.returned).max(copy.returned)
}

fn events(parts: &[Part], pid: u32) -> Vec<Value> {
    let mut lanes: BTreeMap<(Track, usize), u32> = BTreeMap::new();
    let mut events = Vec::new();
    for part in parts {
        let mut busy: BTreeMap<Track, Vec<Nanos>> = BTreeMap::new();
        let mut copies = part.copies.clone();
        copies.sort_by_key(|copy| copy.began);
        for copy in &copies {
            let track = track(part.device, copy);
            let ends = busy.entry(track).or_default();
            let free = ends.iter().position(|end| *end <= copy.began);
            let lane = free.unwrap_or(ends.len());
            match free {
                Some(lane) => ends[lane] = end_of(copy),
                None => ends.push(end_of(copy)),
            }
            let next = lanes.len() as u32 + 1;
            let tid = *lanes.entry((track, lane)).or_insert(next);
            events.push(slice(part, copy, pid, tid));
        }
        events.extend(counters(part, &copies, pid));
        if part.left_out > 0 {
            let name = format!("{} more copies were not recorded", part.left_out);
            let ts = copies.last().map_or(0.0, |copy| microseconds(part, end_of(copy)));
            events.push(json!({ "ph": "i", "s": "p", "name": name, "pid": pid, "tid": 0, "ts": ts }));
        }
    }
    for (((device, engine, way), lane), tid) in &lanes {
        let name = format!("GPU {device} {engine} {way} {}", lane + 1);
        let args = json!({ "name": name });
        events.push(json!({ "ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": args }));
    }
    events
}

fn microseconds(part: &Part, time: Nanos) -> f64 {
    (part.origin_ns + i128::from(time.0)) as f64 / 1e3
}

fn slice(part: &Part, copy: &TracedCopy, pid: u32, tid: u32) -> Value {
    let name = match copy.plan {
        Plan::Native(reason) => format!("{} ({})", size(copy.bytes), reason.name()),
        _ => size(copy.bytes),
    };
    json!({
        "ph": "X", "cat": "copy", "name": name, "pid": pid, "tid": tid,
        "ts": microseconds(part, copy.began),
        "dur": (end_of(copy).0 - copy.began.0) as f64 / 1e3,
        "args": {
            "bytes": copy.bytes,
            "priority": copy.priority.get(),
            "stream": format!("{:#x}", copy.stream.0),
            "call_us": (copy.returned.0 - copy.began.0) as f64 / 1e3,
            "completion": if copy.landed.is_some() { "seen" } else { "not tracked" },
        },
    })
}

fn size(bytes: u64) -> String {
    match bytes {
        0..=1023 => format!("{bytes} B"),
        1024..=1_048_575 => format!("{} KiB", bytes >> 10),
        _ => format!("{} MiB", bytes >> 20),
    }
}

/// The number of pending urgent copies on each engine, after each change.
fn counters(part: &Part, copies: &[TracedCopy], pid: u32) -> Vec<Value> {
    let mut changes: Vec<(&'static str, Nanos, i64)> = Vec::new();
    for copy in copies.iter().filter(|copy| matches!(copy.plan, Plan::Urgent)) {
        let engine = copy.direction.map_or("copies", copies::Direction::name);
        changes.extend([(engine, copy.began, 1), (engine, end_of(copy), -1)]);
    }
    changes.sort_unstable();
    let mut pending: BTreeMap<&str, i64> = BTreeMap::new();
    let event = |(engine, time, change): (&'static str, Nanos, i64)| {
        let now = pending.entry(engine).or_default();
        *now += change;
        let name = format!("GPU {} {engine} urgent pending", part.device);
        json!({ "ph": "C", "name": name, "pid": pid, "ts": microseconds(part, time), "args": { "copies": *now } })
    };
    changes.into_iter().map(event).collect()
}

#[cfg(test)]
mod tests {
    use copies::{Direction, Priority};
    use hal::Stream;

    use super::*;

    fn copy(began: u64, landed: u64, plan: Plan) -> TracedCopy {
        TracedCopy {
            began: Nanos(began),
            returned: Nanos(began + 1),
            landed: Some(Nanos(landed)),
            stream: Stream(0x10),
            priority: Priority::LOWEST,
            direction: Some(Direction::HostToDevice),
            bytes: 65536,
            plan,
        }
    }

    #[test]
    fn copies_that_overlap_get_lanes_of_their_own_and_are_counted() {
        let copies = vec![copy(0, 100, Plan::Urgent), copy(10, 50, Plan::Urgent), copy(60, 90, Plan::Urgent)];
        let part = Part { device: 0, copies, left_out: 0, origin_ns: 0 };
        let events = events(&[part], 7);
        let of = |phase: &str| events.iter().filter(|event| event["ph"] == phase).collect::<Vec<_>>();
        let lanes: Vec<u64> = of("X").iter().map(|event| event["tid"].as_u64().unwrap()).collect();
        assert_eq!(lanes, [1, 2, 2]);
        assert_eq!(of("M").len(), 2);
        let pending: Vec<i64> = of("C").iter().map(|event| event["args"]["copies"].as_i64().unwrap()).collect();
        assert_eq!(pending, [1, 2, 1, 2, 1, 0]);
        let text = lines(&events);
        assert_eq!(serde_json::from_str::<Vec<Value>>(&text).unwrap().len(), events.len());
    }
}
