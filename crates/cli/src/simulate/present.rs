//! Shows the outcome as text, picture and JSON.

use std::fmt::Write as _;

use hal::Nanos;
use report::figure::{Lane, Span, Steps, Timeline, Tone};
use report::{Column, Table};
use serde::Serialize;

use super::outcome::{self, Outcome, Semaphore};
use super::scenario::{Mode, Scenario};
use super::setup::Setup;

/// Columns of the timeline in the terminal.
const TEXT_WIDTH: usize = 110;
/// Longer lists are cut in the middle in the text; JSON has all items.
const ITEMS_MAX: usize = 60;

/// A scenario, its setup and its outcome.
pub struct Report<'a> {
    pub scenario: &'a Scenario,
    /// The resolved scenario.
    pub setup: &'a Setup,
    /// The size of chunks, if copies were cut.
    pub chunk_bytes: Option<u64>,
    /// Its outcome.
    pub outcome: &'a Outcome,
    /// The unmet expectations; `None` if the file has none for this mode and chunk size.
    pub unmet: Option<&'a [String]>,
}

#[derive(Serialize)]
struct Json<'a> {
    version: &'static str,
    name: &'a str,
    mode: Mode,
    chunk_bytes: Option<u64>,
    order: Vec<&'a str>,
    runs: Vec<JsonRun<'a>>,
    semaphores: Vec<JsonSemaphore<'a>>,
    deadlock: Option<JsonDeadlock<'a>>,
    unmet: Option<&'a [String]>,
}

#[derive(Serialize)]
struct JsonRun<'a> {
    copy: &'a str,
    chunk: usize,
    stream: &'a str,
    priority: u8,
    engine: &'a str,
    arrival_ns: u64,
    start_ns: u64,
    end_ns: u64,
}

#[derive(Serialize)]
struct JsonSemaphore<'a> {
    engine: &'a str,
    priority: u8,
    history_ns: Vec<(u64, u32)>,
}

#[derive(Serialize)]
struct JsonDeadlock<'a> {
    since_ns: u64,
    waits: &'a [String],
}

fn mode_text(mode: Mode) -> &'static str {
    match mode {
        Mode::None => "no semaphores, time slices only",
        Mode::Bracket => "semaphores written by the channels, the patent's literal sequence",
        Mode::Atomics => "semaphores added to by the channels",
        Mode::Hold => "semaphores counted when a copy becomes schedulable",
    }
}

/// The items. If there are many, those in the middle are left out.
fn abridged(items: &[String], separator: &str) -> String {
    if items.len() <= ITEMS_MAX {
        return items.join(separator);
    }
    let (first, last) = (&items[..ITEMS_MAX - 10], &items[items.len() - 10..]);
    let left_out = items.len() - ITEMS_MAX;
    format!("{}{separator}({left_out} more){separator}{}", first.join(separator), last.join(separator))
}

impl Report<'_> {
    fn copy_name(&self, copy: usize) -> &str {
        &self.setup.copies[copy].name
    }

    fn order(&self) -> Vec<&str> {
        self.outcome.order().into_iter().map(|copy| self.copy_name(copy)).collect()
    }

    fn semaphore_name(&self, semaphore: &Semaphore) -> String {
        match self.setup.engines.len() {
            1 => format!("semaphore {}", semaphore.priority),
            _ => format!("{} semaphore {}", self.setup.engines[semaphore.engine].name, semaphore.priority),
        }
    }

    /// The text for the terminal.
    pub fn text(&self) -> String {
        let mode = self.setup.mode;
        let mut text = format!("{}\nmode {}: {}\n\n", self.scenario.name, mode.name(), mode_text(mode));
        let mut line = |line: String| writeln!(text, "{line}").expect("writing to a String");
        let order: Vec<String> = self.order().into_iter().map(str::to_owned).collect();
        line(format!("order: {}", abridged(&order, " ")));
        for semaphore in &self.outcome.semaphores {
            let values: Vec<String> = semaphore.history.iter().map(|(_, value)| value.to_string()).collect();
            line(format!("{}: {}", self.semaphore_name(semaphore), abridged(&values, "-")));
        }
        line(format!("\n{}\n{}", self.timeline().to_text(TEXT_WIDTH), self.table()));
        if let Some(deadlock) = &self.outcome.deadlock {
            line(format!("deadlock since {}:", self.setup.unit.show(deadlock.since)));
            deadlock.waits.iter().for_each(|wait| line(format!("  {wait}")));
        }
        match self.unmet {
            None => line(format!("the file expects nothing of the mode {} run like this", mode.name())),
            Some([]) => line("as expected".to_owned()),
            Some(unmet) => unmet.iter().for_each(|unmet| line(format!("not as expected: {unmet}"))),
        }
        text
    }

    /// One row for each stream.
    fn table(&self) -> Table {
        let mut table = Table::new(vec![
            Column::words("stream"),
            Column::numbers("priority"),
            Column::words("engine"),
            Column::words("channel"),
            Column::numbers("copies done"),
            Column::numbers("longest from arrival to completion"),
            Column::numbers("last completed"),
        ]);
        for (at, stream) in self.setup.streams.iter().enumerate() {
            let engine = &self.setup.engines[stream.engine].name;
            let channel = &self.setup.channels[stream.channel].name;
            let copies = self.setup.copies.iter().enumerate().filter(|(_, copy)| copy.stream == at);
            let total = copies.clone().count();
            let done: Vec<(Nanos, Nanos)> =
                copies.filter_map(|(index, copy)| Some((self.outcome.completed[index]?, copy.arrival))).collect();
            let show = |time: Option<Nanos>| time.map_or("-".to_owned(), |time| self.setup.unit.show(time));
            table.push([
                stream.name.clone(),
                stream.priority.to_string(),
                engine.clone(),
                channel.strip_prefix(engine.as_str()).unwrap_or(channel).trim_start().to_owned(),
                format!("{} of {total}", done.len()),
                show(done.iter().map(|(end, arrival)| end.since(*arrival)).max()),
                show(done.iter().map(|(end, _)| *end).max()),
            ]);
        }
        table
    }

    /// Streams above, semaphores below.
    pub fn timeline(&self) -> Timeline {
        let streams = self.setup.streams.iter().enumerate();
        Timeline {
            title: format!("{} (mode {})", self.scenario.name, self.setup.mode.name()),
            lanes: streams.map(|(at, _)| self.lane(at)).collect(),
            steps: self.outcome.semaphores.iter().map(|semaphore| self.steps(semaphore)).collect(),
            marks: Vec::new(),
        }
    }

    fn lane(&self, stream: usize) -> Lane {
        let made = &self.setup.streams[stream];
        let tone = match (made.is_top, made.priority.get()) {
            (_, 1) => Tone::Orange,
            (true, _) => Tone::Green,
            _ => Tone::Blue,
        };
        let runs = self.outcome.runs.iter().filter(|run| self.setup.copies[run.copy].stream == stream);
        let span = |run: &outcome::Run| Span {
            start_us: run.start.as_us(),
            end_us: run.end.as_us(),
            label: self.copy_name(run.copy).to_owned(),
            tone,
        };
        Lane { name: made.name.clone(), spans: runs.map(span).collect() }
    }

    fn steps(&self, semaphore: &Semaphore) -> Steps {
        let points = semaphore.history.iter().map(|(time, value)| (time.as_us(), u64::from(*value)));
        // The picture has little room for names.
        let name = self.semaphore_name(semaphore).replace(" semaphore ", " sem ");
        Steps { name, tone: Tone::Violet, points: points.collect() }
    }

    /// The JSON for programs.
    pub fn json(&self) -> serde_json::Result<String> {
        let deadlock = self.outcome.deadlock.as_ref();
        serde_json::to_string_pretty(&Json {
            version: overtake::VERSION,
            name: &self.scenario.name,
            mode: self.setup.mode,
            chunk_bytes: self.chunk_bytes,
            order: self.order(),
            runs: self.outcome.runs.iter().map(|run| self.json_run(run)).collect(),
            semaphores: self.outcome.semaphores.iter().map(|semaphore| self.json_semaphore(semaphore)).collect(),
            deadlock: deadlock.map(|one| JsonDeadlock { since_ns: one.since.0, waits: &one.waits }),
            unmet: self.unmet,
        })
    }

    fn json_run(&self, run: &outcome::Run) -> JsonRun<'_> {
        let copy = &self.setup.copies[run.copy];
        let stream = &self.setup.streams[copy.stream];
        JsonRun {
            copy: &copy.name,
            chunk: run.chunk,
            stream: &stream.name,
            priority: stream.priority.get(),
            engine: &self.setup.engines[stream.engine].name,
            arrival_ns: copy.arrival.0,
            start_ns: run.start.0,
            end_ns: run.end.0,
        }
    }

    fn json_semaphore(&self, semaphore: &Semaphore) -> JsonSemaphore<'_> {
        JsonSemaphore {
            engine: &self.setup.engines[semaphore.engine].name,
            priority: semaphore.priority.get(),
            history_ns: semaphore.history.iter().map(|(time, value)| (time.0, *value)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_say_how_much_they_leave_out() {
        let items = |count: u32| (1..=count).map(|item| item.to_string()).collect::<Vec<_>>();
        assert_eq!(abridged(&items(3), "-"), "1-2-3");
        let long = abridged(&items(65), " ");
        assert!(long.contains(" 50 (5 more) 56 ") && long.ends_with(" 65"), "{long}");
    }
}
