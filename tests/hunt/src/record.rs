//! The result of a hunt: text for people, JSON for programs.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use overtake::Statistics;
use report::{BenchRow, Header, format};
use serde::Serialize;

use super::tally::Tallies;
use super::worker::Finding;
use crate::args::HuntArguments;

/// A hunt's JSON: a header, a row for each priority, and the finding.
#[derive(Debug, Serialize)]
pub struct Record {
    /// The origin of the numbers.
    pub header: Header,
    /// Latencies of tracked copies by priority, from submission to completion as overtake saw it.
    pub rows: Vec<BenchRow>,
    pub hunt: Hunt,
}

/// The result of a hunt.
#[derive(Debug, Serialize)]
pub struct Hunt {
    /// `ok`, `HUNG`, `WRONG BYTES` or `FAILED`.
    pub verdict: &'static str,
    /// The operation that hung, the wrong byte, or the failure.
    pub finding: Option<String>,
    /// Threads that submitted.
    pub threads: u32,
    /// Streams they shared.
    pub streams: u32,
    /// The seed of all random choices.
    pub seed: u64,
    /// The length of the hunt, in the device's time.
    pub seconds: f64,
    pub copies: u64,
    /// Bytes submitted.
    pub bytes: u64,
    /// Bytes compared at the end of their journeys.
    pub verified_bytes: u64,
    /// The number of operations of each kind.
    pub kinds: BTreeMap<String, u64>,
    /// The number of copies by their way through overtake.
    pub ways: BTreeMap<String, u64>,
    /// Copies that were passed on unchanged, by reason.
    pub fallbacks: BTreeMap<String, u64>,
    /// Chunks that engine copies were cut into.
    pub chunks: u64,
    /// The number of times that the watchdog opened the semaphores.
    pub rescues: u64,
    /// The number of times that a copy was boosted because an urgent copy depended on it.
    pub boosts: u64,
    /// Driver calls of overtake that failed.
    pub errors: u64,
    /// Whether overtake stood down to plain copies.
    pub stood_down: bool,
}

impl Hunt {
    /// Collects the result of a hunt.
    #[must_use]
    pub fn new(
        arguments: &HuntArguments,
        seconds: f64,
        tallies: &Tallies,
        statistics: &Statistics,
        finding: Option<Finding>,
    ) -> Hunt {
        let (verdict, finding) = match finding {
            None => ("ok", None),
            Some(Finding::Hung(what)) => ("HUNG", Some(what)),
            Some(Finding::WrongBytes(what)) => ("WRONG BYTES", Some(what)),
            Some(Finding::Failed(what)) => ("FAILED", Some(what)),
        };
        let ways = [("urgent", statistics.urgent), ("kernel", statistics.kernel), ("engine", statistics.engine)];
        let (bytes, verified_bytes) = tallies.bytes();
        Hunt {
            verdict,
            finding,
            threads: arguments.threads,
            streams: arguments.streams,
            seed: arguments.seed,
            seconds,
            copies: tallies.copies(),
            bytes,
            verified_bytes,
            kinds: tallies.by_kind(),
            ways: ways.into_iter().map(|(name, class)| (name.to_owned(), class.copies)).collect(),
            fallbacks: statistics.native.iter().map(|(why, class)| (why.name().to_owned(), class.copies)).collect(),
            chunks: statistics.chunks,
            rescues: statistics.rescues,
            boosts: statistics.boosts,
            errors: statistics.errors,
            stood_down: statistics.stood_down,
        }
    }

    /// Whether nothing was found.
    #[must_use]
    pub fn is_ok(&self) -> bool {
        self.verdict == "ok"
    }

    /// The result as text.
    #[must_use]
    pub fn text(&self) -> String {
        let count = |number: u64| format::grouped(number as f64, 0);
        let list = |counts: &BTreeMap<String, u64>| {
            let used = counts.iter().filter(|(_, number)| **number > 0);
            let words: Vec<String> = used.map(|(name, number)| format!("{name} {}", count(*number))).collect();
            if words.is_empty() { "none".to_owned() } else { words.join(", ") }
        };
        let mut text = String::new();
        let lines = [
            (
                "hunt",
                format!(
                    "{} threads, {} streams, seed {}, {:.2} s",
                    self.threads, self.streams, self.seed, self.seconds
                ),
            ),
            ("copies", format!("{} ({})", count(self.copies), list(&self.kinds))),
            ("bytes", format!("{}, of these {} compared", format::size(self.bytes), format::size(self.verified_bytes))),
            ("ways", format!("{}; {} chunks, {} boosts", list(&self.ways), count(self.chunks), count(self.boosts))),
            ("fallbacks", list(&self.fallbacks)),
            ("rescues", format!("{}{}", count(self.rescues), if self.stood_down { "; stood down" } else { "" })),
            ("errors", count(self.errors)),
            ("verdict", self.verdict.to_owned()),
        ];
        for (name, value) in lines {
            writeln!(text, "{name:<10} {value}").expect("writing to a String");
        }
        if let Some(finding) = &self.finding {
            text += finding.trim_end();
            text.push('\n');
        }
        text
    }
}

/// A row for each priority.
#[must_use]
pub fn rows(statistics: &Statistics, transport: &str, emulation: &str) -> Vec<BenchRow> {
    let count = |latency: &overtake::Latency| usize::try_from(latency.count).unwrap_or(usize::MAX);
    let row = |(priority, latency): (&u8, &overtake::Latency)| BenchRow {
        method: "hunt".to_owned(),
        transport: transport.to_owned(),
        emulation: emulation.to_owned(),
        direction: "both".to_owned(),
        priority: Some(*priority),
        samples: count(latency),
        p50_us: Some(latency.p50_us),
        p99_us: report::carries(count(latency), 0.99).then_some(latency.p99_us),
        max_us: Some(latency.max_us),
        rescues: statistics.rescues,
        ..BenchRow::default()
    };
    statistics.latencies.iter().map(row).collect()
}
