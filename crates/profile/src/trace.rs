//! Events as text that Perfetto and chrome://tracing open: an array with one event in each line, as the traces of the
//! drop-in have it (`crates/shim/src/trace.rs`).

use std::collections::BTreeMap;

use super::events::BlockEvent;
use super::profiler::Profile;
use super::spans::spans;

/// The slices of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// One for each launch: a track for each kernel.
    Kernels,
    /// One for each block as well: a track for each multiprocessor.
    Blocks,
}

/// A slice on a track.
struct Slice {
    track: String,
    name: String,
    begin_ns: u64,
    end_ns: u64,
    /// Fields, as JSON.
    fields: String,
}

impl Profile {
    /// The trace. Its times are those of the device's global timer.
    #[must_use]
    pub fn trace(&self, detail: Detail) -> String {
        let mut slices: Vec<Slice> = Vec::new();
        for (batch, events) in self.batches.iter().enumerate() {
            slices.extend(spans(&events.events).into_iter().map(|span| Slice {
                track: format!("kernel {}", self.name(span.kernel)),
                name: self.name(span.kernel),
                begin_ns: span.begin_ns,
                end_ns: span.end_ns,
                fields: format!("\"batch\":{batch},\"blocks\":{}", span.blocks),
            }));
            if detail == Detail::Blocks {
                slices.extend(events.events.iter().map(|event| self.block(batch, event)));
            }
        }
        let lost: u64 = self.batches.iter().map(|events| events.lost).sum();
        let mut lines = lines(slices);
        for (count, of) in [(lost, "block events found no room"), (self.left_out, "batches found no free buffer")] {
            if count > 0 {
                let name = quoted(&format!("{count} {of}"));
                lines
                    .push(format!("{{\"ph\":\"i\",\"s\":\"p\",\"name\":{name},\"pid\":{},\"tid\":0,\"ts\":0}}", pid()));
            }
        }
        format!("[\n{}\n]\n", lines.join(",\n"))
    }

    fn block(&self, batch: usize, event: &BlockEvent) -> Slice {
        Slice {
            // With leading zeros, because viewers sort by name.
            track: format!("multiprocessor {:03}", event.multiprocessor),
            name: self.name(event.kernel),
            begin_ns: event.begin_ns,
            end_ns: event.end_ns,
            fields: format!("\"batch\":{batch},\"block\":{}", event.block),
        }
    }
}

fn pid() -> u32 {
    std::process::id()
}

/// The slices, each on a lane of its track where it overlaps no other, and the names of the lanes.
fn lines(mut slices: Vec<Slice>) -> Vec<String> {
    slices.sort_by_key(|slice| slice.begin_ns);
    let mut ends: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    let mut lanes: BTreeMap<(String, usize), usize> = BTreeMap::new();
    let mut lines = Vec::new();
    for slice in slices {
        let busy = ends.entry(slice.track.clone()).or_default();
        let free = busy.iter().position(|end| *end <= slice.begin_ns);
        let lane = free.unwrap_or(busy.len());
        match free {
            Some(lane) => busy[lane] = slice.end_ns,
            None => busy.push(slice.end_ns),
        }
        let next = lanes.len() + 1;
        let tid = *lanes.entry((slice.track, lane)).or_insert(next);
        let (begin, span) = (microseconds(slice.begin_ns), microseconds(slice.end_ns - slice.begin_ns));
        lines.push(format!(
            "{{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":{},\"pid\":{},\"tid\":{tid},\"ts\":{begin},\"dur\":{span},\
             \"args\":{{{}}}}}",
            quoted(&slice.name),
            pid(),
            slice.fields
        ));
    }
    lines.extend(lanes.into_iter().map(|((track, lane), tid)| {
        let name = quoted(&if lane == 0 { track } else { format!("{track}, {}", lane + 1) });
        let pid = pid();
        format!("{{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":{pid},\"tid\":{tid},\"args\":{{\"name\":{name}}}}}")
    }));
    lines
}

/// A time as JSON, to the nanosecond: 64-bit floats do not hold one of today.
fn microseconds(ns: u64) -> String {
    format!("{}.{:03}", ns / 1_000, ns % 1_000)
}

/// A text as JSON.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            letter if u32::from(letter) < 0x20 => quoted.push_str(&format!("\\u{:04x}", u32::from(letter))),
            letter => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::Events;

    fn event(kernel: u32, block: u32, multiprocessor: u32, begin_ns: u64, end_ns: u64) -> BlockEvent {
        BlockEvent { kernel, block, multiprocessor, begin_ns, end_ns }
    }

    fn parsed(profile: &Profile, detail: Detail) -> Vec<Value> {
        serde_json::from_str(&profile.trace(detail)).unwrap()
    }

    fn of<'a>(events: &'a [Value], phase: &str) -> Vec<&'a Value> {
        events.iter().filter(|event| event["ph"] == phase).collect()
    }

    #[test]
    fn launches_and_blocks_have_tracks_where_nothing_overlaps() {
        let events = vec![event(0, 0, 4, 1_500, 2_000), event(0, 1, 4, 1_600, 3_000), event(0, 2, 5, 2_000, 2_500)];
        let names = vec!["blur \"fast\"\n".to_owned()];
        let batches = vec![Events { events, ..Events::default() }];
        let profile = Profile { names, batches, left_out: 0 };
        let kernels = parsed(&profile, Detail::Kernels);
        assert_eq!((of(&kernels, "X").len(), of(&kernels, "M").len()), (1, 1));
        let slice = of(&kernels, "X")[0];
        assert_eq!(slice["name"], "blur \"fast\"\n");
        assert_eq!((&slice["ts"], &slice["dur"]), (&1.5.into(), &1.5.into()));
        assert_eq!(slice["args"]["blocks"], 3);
        let blocks = parsed(&profile, Detail::Blocks);
        assert_eq!((of(&blocks, "X").len(), of(&blocks, "M").len()), (4, 4), "two lanes on one multiprocessor");
    }

    #[test]
    fn missing_events_are_told() {
        let batches = vec![Events { lost: 3, ..Events::default() }, Events { lost: 4, ..Events::default() }];
        let profile = Profile { names: Vec::new(), batches, left_out: 2 };
        let told: Vec<Value> = parsed(&profile, Detail::Kernels);
        let names: Vec<&str> = told.iter().filter_map(|event| event["name"].as_str()).collect();
        assert_eq!(names, ["7 block events found no room", "2 batches found no free buffer"]);
    }
}
