//! The copies of a program, as `overtake run --trace` writes them: who waited beside whom, and the longest wait.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Slice, Trace, Track};
use crate::figure::Tone;

/// Urgent copies of one stream, while bulk of another one was under way on their engine.
#[derive(Clone, Debug, PartialEq)]
pub struct Beside {
    /// The engine: `GPU 0 h2d`.
    pub engine: String,
    /// The stream of the urgent copies.
    pub stream: String,
    /// Their priority.
    pub priority: u64,
    /// The stream of the bulk that began before them; none where nothing of lower priority was under way.
    pub bulk: Option<String>,
    /// The number of copies.
    pub copies: u64,
    /// Of those whose end was seen: the median time from the call to the end, and the longest.
    pub p50_us: Option<f64>,
    /// See [`Beside::p50_us`].
    pub max_us: Option<f64>,
}

/// Engine, priority, stream, and the stream of the bulk.
type Key = (String, std::cmp::Reverse<u64>, String, Option<String>);

/// The ways of a copy, in the words of its track.
const URGENT: &str = " urgent";
const PASSED_ON: &str = " passed on";
const BULK: [&str; 3] = [" bulk by kernel", " bulk in chunks", " staged"];

/// The context around the longest wait, in its own lengths, and the least that is shown.
const AROUND: u64 = 3;
const AROUND_LEAST_NS: u64 = 100_000;

fn text<'a>(slice: &'a Slice, name: &str) -> Option<&'a str> {
    slice.args.get(name).and_then(Value::as_str)
}

fn priority(slice: &Slice) -> Option<u64> {
    slice.args.get("priority").and_then(Value::as_u64)
}

/// The colour of a copy by its track: green where overtake lets it pass, teal where it gives way, red where it went as
/// with CUDA alone. Nothing for other slices.
pub(super) fn tone(slice: &Slice, track: &str) -> Option<Tone> {
    priority(slice)?;
    match track {
        _ if track.contains(URGENT) => Some(Tone::Green),
        _ if track.contains(PASSED_ON) => Some(Tone::Red),
        _ if BULK.iter().any(|way| track.contains(way)) => Some(Tone::Teal),
        _ => None,
    }
}

/// The end that was seen.
fn seen_us(slice: &Slice) -> Option<f64> {
    (text(slice, "completion") == Some("seen")).then_some(slice.span_ns as f64 / 1e3)
}

impl Trace {
    /// The order of a track: those with the most urgent copies first, and of equals the ones that overtake lets pass.
    pub(super) fn order(&self, track: Track) -> (std::cmp::Reverse<Option<u64>>, bool) {
        let most = self.slices.iter().filter(|slice| slice.track == track).filter_map(priority).max();
        (std::cmp::Reverse(most), !self.name(track).contains(URGENT))
    }

    /// The engine of a copy: `GPU 0 h2d`.
    fn engine(&self, slice: &Slice) -> Option<String> {
        let name = self.name(slice.track);
        let ways = [URGENT, PASSED_ON].into_iter().chain(BULK);
        ways.filter_map(|way| name.find(way)).min().map(|end| name[..end].to_owned())
    }

    /// Urgent copies by their stream and by the stream of the bulk beside them.
    #[must_use]
    pub fn beside(&self) -> Vec<Beside> {
        let mut copies: Vec<(&Slice, String, u64)> =
            self.slices.iter().filter_map(|slice| Some((slice, self.engine(slice)?, priority(slice)?))).collect();
        copies.sort_by_key(|copy| copy.0.begin_ns);
        let lowest = copies.iter().map(|copy| copy.2).min();
        let mut under_way: Vec<&(&Slice, String, u64)> = Vec::new();
        let mut found: BTreeMap<Key, Vec<Option<f64>>> = BTreeMap::new();
        for copy in &copies {
            let (slice, engine, priority) = copy;
            let stream = text(slice, "stream").unwrap_or_default();
            under_way.retain(|other| other.0.begin_ns + other.0.span_ns > slice.begin_ns);
            if Some(*priority) > lowest {
                let is_ahead = |other: &&&(&Slice, String, u64)| {
                    other.1 == *engine && other.2 < *priority && text(other.0, "stream") != Some(stream)
                };
                let bulk = under_way.iter().find(is_ahead).and_then(|other| text(other.0, "stream"));
                let key = (engine.clone(), std::cmp::Reverse(*priority), stream.to_owned(), bulk.map(str::to_owned));
                found.entry(key).or_default().push(seen_us(slice));
            }
            under_way.push(copy);
        }
        let line = |((engine, priority, stream, bulk), spans): (Key, Vec<Option<f64>>)| {
            let (copies, mut seen) = (spans.len() as u64, spans.into_iter().flatten().collect::<Vec<f64>>());
            seen.sort_by(f64::total_cmp);
            let (p50_us, max_us) = (seen.get(seen.len() / 2).copied(), seen.last().copied());
            let std::cmp::Reverse(priority) = priority;
            Beside { engine, stream, priority, bulk, copies, p50_us, max_us }
        };
        found.into_iter().map(line).collect()
    }

    /// The trace around the urgent copy that took longest, if that is a small part of it.
    #[must_use]
    pub fn around_longest(&self) -> Option<Trace> {
        let lowest = self.slices.iter().filter_map(priority).min()?;
        let is_urgent = |slice: &&Slice| priority(slice) > Some(lowest) && seen_us(slice).is_some();
        let longest = self.slices.iter().filter(is_urgent).max_by_key(|slice| slice.span_ns)?;
        let around_ns = (AROUND * longest.span_ns).max(AROUND_LEAST_NS);
        let (from, to) = (longest.begin_ns.saturating_sub(around_ns), longest.begin_ns + longest.span_ns + around_ns);
        let end = self.slices.iter().map(|slice| slice.begin_ns + slice.span_ns).max()?;
        (2 * (to - from) < end).then(|| self.within(from, to))
    }

    /// The parts of slices and the deadlines between two times, which begins at 0.
    fn within(&self, from: u64, to: u64) -> Trace {
        let part = |slice: &Slice| {
            let (begin, end) = (slice.begin_ns.max(from), (slice.begin_ns + slice.span_ns).min(to));
            (begin < end).then(|| Slice { begin_ns: begin - from, span_ns: end - begin, ..slice.clone() })
        };
        let is_in = |deadline: &&(u64, String)| (from..=to).contains(&deadline.0);
        let deadlines = self.deadlines.iter().filter(is_in).map(|(at, name)| (at - from, name.clone())).collect();
        Trace { slices: self.slices.iter().filter_map(part).collect(), deadlines, tracks: self.tracks.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A copy for a stream: priority, stream, begin and span in microseconds.
    fn copy(tid: u64, priority: u64, stream: &str, ts: u64, dur: u64) -> String {
        format!(
            r#"{{"ph":"X","cat":"copy","name":"64 KiB","pid":1,"tid":{tid},"ts":{ts},"dur":{dur},
            "args":{{"priority":{priority},"stream":"{stream}","completion":"seen"}}}}"#
        )
    }

    fn trace() -> Trace {
        let name = |tid: u64, name: &str| {
            format!(r#"{{"ph":"M","name":"thread_name","pid":1,"tid":{tid},"args":{{"name":"{name}"}}}}"#)
        };
        let events = [
            name(1, "GPU 0 h2d bulk by kernel 1"),
            name(2, "GPU 0 h2d urgent 1"),
            name(3, "GPU 0 h2d passed on 1"),
            name(4, "GPU 0 d2h passed on 1"),
            copy(1, 1, "0xb", 1_000, 500),
            copy(2, 6, "0xa", 1_100, 30),
            copy(2, 6, "0xa", 1_200, 50),
            copy(2, 6, "0xa", 1_300, 40),
            copy(3, 6, "0xa", 9_000, 10),
            copy(4, 1, "0xc", 9_000, 500),
        ];
        Trace::read(&format!("[{}]", events.join(","))).unwrap()
    }

    #[test]
    fn urgent_copies_are_told_by_the_bulk_beside_them() {
        let found = trace().beside();
        let line = |bulk: Option<&str>| found.iter().find(|line| line.bulk.as_deref() == bulk).unwrap();
        let (beside, alone) = (line(Some("0xb")), line(None));
        assert_eq!((beside.copies, beside.p50_us, beside.max_us), (3, Some(40.0), Some(50.0)));
        assert_eq!((beside.engine.as_str(), beside.stream.as_str(), beside.priority), ("GPU 0 h2d", "0xa", 6));
        assert_eq!((alone.copies, alone.max_us, found.len()), (1, Some(10.0), 2), "another engine is no bulk ahead");
    }

    #[test]
    fn the_urgent_lane_comes_first_and_colours_have_one_meaning() {
        let lanes = trace().timeline("all").lanes;
        let shown: Vec<(&str, Tone)> = lanes.iter().map(|lane| (lane.name.as_str(), lane.spans[0].tone)).collect();
        let expected = [
            ("GPU 0 h2d urgent 1", Tone::Green),
            ("GPU 0 h2d passed on 1", Tone::Red),
            ("GPU 0 d2h passed on 1", Tone::Red),
            ("GPU 0 h2d bulk by kernel 1", Tone::Teal),
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn the_longest_wait_is_shown_from_near() {
        let near = trace().around_longest().unwrap().timeline("near");
        let urgent = &near.lanes[0].spans;
        assert_eq!((urgent.len(), urgent[1].start_us, urgent[1].end_us), (3, 150.0, 200.0));
        let bulk = &near.lanes[1].spans[0];
        assert_eq!((bulk.start_us, bulk.end_us), (0.0, 350.0), "the part that is in sight");
        assert_eq!(trace().around_longest().unwrap().around_longest(), None, "it would be most of the trace");
    }
}
