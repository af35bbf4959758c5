//! Traces as Perfetto and chrome://tracing open them: slices on tracks, drawn as a timeline.

mod copies;

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::figure::{Lane, Mark, Span, Timeline, Tone};

pub use copies::Beside;

/// The colours of names, in the order in which these first come.
const TONES: [Tone; 8] =
    [Tone::Blue, Tone::Orange, Tone::Green, Tone::Violet, Tone::Teal, Tone::Pink, Tone::Olive, Tone::Sky];

/// The slices of a trace. Its times begin with the first of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    slices: Vec<Slice>,
    /// Deadlines: instants of that name, by their time.
    deadlines: Vec<(u64, String)>,
    /// The name of each track.
    tracks: BTreeMap<Track, String>,
}

/// The names of deadlines begin with this word.
const DEADLINE: &str = "deadline";

/// A process and a thread of it, as the format calls them.
type Track = (u64, u64);

#[derive(Clone, Debug, PartialEq)]
struct Slice {
    track: Track,
    name: String,
    begin_ns: u64,
    span_ns: u64,
    args: Map<String, Value>,
}

/// The form with other members beside the events.
#[derive(Deserialize)]
struct Document<'a> {
    #[serde(borrow, rename = "traceEvents")]
    events: Vec<Event<'a>>,
}

/// Numbers stay text: 64-bit floats hold no time of today to the nanosecond.
#[derive(Deserialize)]
struct Event<'a> {
    ph: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    pid: u64,
    #[serde(default)]
    tid: u64,
    #[serde(borrow, default)]
    ts: Option<&'a RawValue>,
    #[serde(borrow, default)]
    dur: Option<&'a RawValue>,
    #[serde(default)]
    args: Map<String, Value>,
}

impl Trace {
    /// Reads both forms of the format: an array of events, and an object with such an array.
    ///
    /// # Errors
    /// It is no trace, or has no slice.
    pub fn read(text: &str) -> Result<Trace, String> {
        let is_list = text.trim_start().starts_with('[');
        let events = match is_list {
            true => serde_json::from_str::<Vec<Event<'_>>>(text),
            false => serde_json::from_str::<Document<'_>>(text).map(|document| document.events),
        };
        let events = events.map_err(|error| format!("no trace in JSON: {error}"))?;
        let mut trace = Trace::default();
        for event in &events {
            match event.ph.as_str() {
                "X" => trace.slices.push(slice(event)?),
                "M" if event.name == "thread_name" => {
                    let name = event.args.get("name").and_then(Value::as_str).unwrap_or_default();
                    trace.tracks.insert((event.pid, event.tid), name.to_owned());
                }
                "i" if event.name.starts_with(DEADLINE) => {
                    trace.deadlines.push((time_ns(event, event.ts, "ts")?, event.name.clone()));
                }
                _ => {}
            }
        }
        let first_ns = trace.slices.iter().map(|slice| slice.begin_ns).min().ok_or("it has no slice with a span")?;
        trace.slices.iter_mut().for_each(|slice| slice.begin_ns -= first_ns);
        trace.deadlines.iter_mut().for_each(|(at_ns, _)| *at_ns = at_ns.saturating_sub(first_ns));
        trace.deadlines.sort();
        Ok(trace)
    }

    /// Its slices and the names of its tracks as events of the format.
    #[must_use]
    pub fn events(&self) -> Vec<Value> {
        let us = |ns: u64| ns as f64 / 1e3;
        let slices = self.slices.iter().map(|slice| {
            let ((pid, tid), name, args) = (slice.track, &slice.name, &slice.args);
            let (begin_us, span_us) = (us(slice.begin_ns), us(slice.span_ns));
            json!({ "ph": "X", "name": name, "pid": pid, "tid": tid, "ts": begin_us, "dur": span_us, "args": args })
        });
        let tracks = self.tracks.iter().map(|((pid, tid), name)| {
            json!({ "ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": { "name": name } })
        });
        let deadlines =
            self.deadlines.iter().map(|(at_ns, name)| json!({ "ph": "i", "name": name, "s": "g", "ts": us(*at_ns) }));
        slices.chain(tracks).chain(deadlines).collect()
    }

    /// A lane for each track, that of urgent copies first and then by name, and a bar for each slice.
    #[must_use]
    pub fn timeline(&self, title: &str) -> Timeline {
        let mut tones: BTreeMap<&str, Tone> = BTreeMap::new();
        let mut lanes: BTreeMap<Track, Vec<Span>> = BTreeMap::new();
        for slice in &self.slices {
            let next = TONES[tones.len() % TONES.len()];
            let of_copy = copies::tone(slice, &self.name(slice.track));
            let tone = of_copy.unwrap_or_else(|| *tones.entry(&slice.name).or_insert(next));
            let (start_us, end_us) = (slice.begin_ns as f64 / 1e3, (slice.begin_ns + slice.span_ns) as f64 / 1e3);
            lanes.entry(slice.track).or_default().push(Span { start_us, end_us, label: slice.name.clone(), tone });
        }
        let mut lanes: Vec<(Track, Vec<Span>)> = lanes.into_iter().collect();
        lanes.sort_by_cached_key(|(track, _)| (self.order(*track), self.name(*track), *track));
        let lanes = lanes.into_iter().map(|(track, spans)| Lane { name: self.name(track), spans }).collect();
        let mark = |(at_ns, label): &(u64, String)| Mark { at_us: *at_ns as f64 / 1e3, label: label.clone() };
        let marks = self.deadlines.iter().map(mark).collect();
        Timeline { title: title.to_owned(), lanes, steps: Vec::new(), marks }
    }

    fn name(&self, track: Track) -> String {
        let named = self.tracks.get(&track).filter(|name| !name.is_empty());
        named.cloned().unwrap_or_else(|| format!("{}, {}", track.0, track.1))
    }

    /// Its size in words.
    #[must_use]
    pub fn summary(&self) -> String {
        let end_ns = self.slices.iter().map(|slice| slice.begin_ns + slice.span_ns).max().unwrap_or(0);
        let tracks: std::collections::BTreeSet<Track> = self.slices.iter().map(|slice| slice.track).collect();
        let span = crate::format::span_us(end_ns as f64 / 1e3);
        format!("{} slices on {} tracks in {span}", self.slices.len(), tracks.len())
    }
}

fn time_ns(event: &Event<'_>, value: Option<&RawValue>, name: &str) -> Result<u64, String> {
    let text = value.map(RawValue::get).ok_or_else(|| format!("a slice `{}` without `{name}`", event.name))?;
    nanoseconds(text).ok_or_else(|| format!("`{name}` of a slice is {text}, no time in microseconds"))
}

fn slice(event: &Event<'_>) -> Result<Slice, String> {
    Ok(Slice {
        track: (event.pid, event.tid),
        name: event.name.clone(),
        begin_ns: time_ns(event, event.ts, "ts")?,
        span_ns: time_ns(event, event.dur, "dur")?,
        args: event.args.clone(),
    })
}

/// Nanoseconds of a number of microseconds. Digits behind the nanosecond are dropped.
fn nanoseconds(text: &str) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(part) {
        // An exponent, as other programs may write it, or a time before the origin, which has no place.
        let us = text.parse::<f64>().ok().filter(|us| (0.0..1e16).contains(us))?;
        return Some((us * 1e3) as u64);
    }
    let part: String = part.chars().chain("000".chars()).take(3).collect();
    whole.parse::<u64>().ok()?.checked_mul(1_000)?.checked_add(part.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVENTS: &str = r#"[
{"ph":"X","name":"blur","pid":7,"tid":2,"ts":1764000000000001.500,"dur":2.25,"args":{"block":1}},
{"ph":"X","name":"scale","pid":7,"tid":1,"ts":1764000000000000.250,"dur":10},
{"ph":"i","name":"lost","pid":7,"tid":0,"ts":0},
{"ph":"M","name":"thread_name","pid":7,"tid":1,"args":{"name":"b"}},
{"ph":"M","name":"thread_name","pid":7,"tid":2,"args":{"name":"a"}}]"#;

    #[test]
    fn times_are_exact_to_the_nanosecond_and_begin_with_the_first_slice() {
        let timeline = Trace::read(EVENTS).unwrap().timeline("both");
        let lanes: Vec<(&str, f64, f64)> = timeline
            .lanes
            .iter()
            .map(|lane| (lane.name.as_str(), lane.spans[0].start_us, lane.spans[0].end_us))
            .collect();
        assert_eq!(lanes, [("a", 1.25, 3.5), ("b", 0.0, 10.0)]);
        assert_ne!(timeline.lanes[0].spans[0].tone, timeline.lanes[1].spans[0].tone);
        assert_eq!(Trace::read(EVENTS).unwrap().summary(), "2 slices on 2 tracks in 10 us");
    }

    #[test]
    fn instants_of_that_name_are_deadlines() {
        let event = r#",{"ph":"i","name":"deadline of frame 1","ts":1764000000000004.250}]"#;
        let trace = Trace::read(&(EVENTS.trim_end_matches(']').to_owned() + event)).unwrap();
        let marks = trace.timeline("both").marks;
        assert_eq!(marks, [Mark { at_us: 4.0, label: "deadline of frame 1".to_owned() }]);
        assert!(trace.timeline("both").to_svg().contains(">deadline of frame 1<"));
        assert_eq!(Trace::read(&Value::from(trace.events()).to_string()), Ok(trace));
    }

    #[test]
    fn names_may_hold_anything() {
        let events = EVENTS.replace("\"blur\"", r#""\u0000\u001b[2J<b>\ufffe""#).replace("\"a\"", r#""\u0007a""#);
        let svg = Trace::read(&events).unwrap().timeline("a\u{1b}b").to_svg();
        let is_in_xml =
            |letter: char| letter == '\n' || (letter >= ' ' && !('\u{fffe}'..='\u{ffff}').contains(&letter));
        assert!(svg.chars().all(is_in_xml), "{svg:?}");
        assert!(svg.contains(">a\u{fffd}b<"), "{svg}");
    }

    #[test]
    fn its_events_are_a_trace_again_in_both_forms() {
        let trace = Trace::read(EVENTS).unwrap();
        let list = Value::from(trace.events());
        assert_eq!(Trace::read(&list.to_string()), Ok(trace.clone()));
        assert_eq!(Trace::read(&json!({ "header": {}, "traceEvents": list }).to_string()), Ok(trace));
    }

    #[test]
    fn other_files_are_refused_with_a_reason() {
        let error = |text: &str| Trace::read(text).unwrap_err();
        assert!(error("[]").contains("no slice"), "{}", error("[]"));
        assert!(error("{}").contains("traceEvents"), "{}", error("{}"));
        assert!(error("ELF").contains("no trace"), "{}", error("ELF"));
        let without = r#"[{"ph":"X","name":"blur","ts":1}]"#;
        assert!(error(without).contains("without `dur`"), "{}", error(without));
        let before = r#"[{"ph":"X","name":"blur","ts":-1,"dur":1}]"#;
        assert!(error(before).contains("-1"), "{}", error(before));
    }

    #[test]
    fn numbers_of_microseconds() {
        assert_eq!(
            [nanoseconds("1.5"), nanoseconds("12"), nanoseconds("0.0019")],
            [Some(1_500), Some(12_000), Some(1)]
        );
        assert_eq!([nanoseconds("1e3"), nanoseconds("nan"), nanoseconds("\"1\"")], [Some(1_000_000), None, None]);
    }
}
