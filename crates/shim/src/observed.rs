//! What was seen of a program's copies: the figures of one process, or of several together. The drop-in writes them
//! into its report, and the command adds them up.

use serde::{Deserialize, Serialize};

/// The most call sites in a report.
pub const SITES_MAX: usize = 10;

/// The figures of one process, or of several together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Observed {
    /// Whether all copies were left to the driver.
    pub only: bool,
    /// One entry for each device and direction with copies.
    pub engines: Vec<Engine>,
    /// Copies that cross no link: within a device, between devices, or within the host.
    pub other_copies: u64,
    /// Kernels and graphs that were launched.
    pub launches: u64,
    /// The urgent copies that the program has waited for, from the call to the end of the wait.
    pub waits: Waits,
    /// The time that threads of the program were blocked in waits for streams, events and contexts.
    pub blocked_in_waits_us: u64,
    /// That part of it in which the last work of the stream was no copy.
    pub blocked_by_kernels_us: u64,
    /// The time from the first copy to the last.
    pub span_us: u64,
    /// The calls that blocked for long, those with most time first.
    pub sites: Vec<Site>,
    /// Calls that blocked for long and found no room in the list.
    pub sites_left_out: u64,
}

/// Copies of one direction, on one device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Engine {
    /// The device, by the number that the process uses.
    pub device: i32,
    /// `h2d` or `d2h`.
    pub direction: String,
    /// All copies but captured ones.
    pub copies: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The time that threads of the program spent in the calls.
    pub blocked_us: u64,
    /// The longest call.
    pub blocked_max_us: u64,
    /// Copies that were recorded into a graph.
    pub captured: u64,
    /// Copies that overtake would call urgent, by rules, priorities and demand.
    pub urgent: u64,
    /// Those that the program itself, a rule or their CUDA stream gives a priority.
    pub urgent_by_priority: u64,
    /// Copies that overtake would call bulk.
    pub bulk: u64,
    /// Their bytes.
    pub bulk_bytes: u64,
    /// Those of their bytes that are in copies of 1 MiB and more: smaller ones cannot give way.
    pub bulk_large_bytes: u64,
    /// Urgent copies that were issued while bulk of another stream was in flight, by estimate.
    pub behind: u64,
    /// How long that bulk was still to take, by estimate, in sum.
    pub behind_us: u64,
    /// Copies of 1 MiB and more from or to memory that is not pinned.
    pub large_pageable: u64,
    /// Their bytes.
    pub large_pageable_bytes: u64,
    /// The time that threads of the program spent in the calls.
    pub large_pageable_blocked_us: u64,
    /// Copies below 1 MiB of which the memory was looked at: one in 16.
    pub small_asked: u64,
    /// Those of them whose memory was not pinned.
    pub small_pageable: u64,
    /// Streams with copies.
    pub streams: u64,
    /// Those with urgent copies.
    pub streams_urgent: u64,
    /// Those with bulk.
    pub streams_bulk: u64,
}

/// Waits of urgent copies, by what stood before them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Waits {
    /// Bulk of another stream was in flight.
    pub behind: Spans,
    /// Nothing was.
    pub alone: Spans,
    /// Earlier work of their own stream may have been: these are counted, and not measured.
    pub after_own_work: u64,
}

/// Lengths of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Spans {
    /// Their number.
    pub count: u64,
    /// Their sum.
    pub sum_us: f64,
    /// The median; `None` for several processes together.
    pub p50_us: Option<f64>,
    /// The 99th percentile; `None` for several processes together.
    pub p99_us: Option<f64>,
    /// The longest.
    pub max_us: f64,
}

/// A place in the program from which calls that copy blocked for long.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Site {
    /// The functions, the innermost first: `module symbol+0x1a`.
    pub frames: Vec<String>,
    /// `file:line function` of a Python program: the innermost functions, the innermost first. Where the thread did not
    /// hold the interpreter's lock, the innermost function and its caller, of some of the calls.
    pub python: Vec<String>,
    /// The calls.
    pub calls: u64,
    /// Their time in sum.
    pub blocked_us: u64,
    /// The longest.
    pub blocked_max_us: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Calls with memory that was not pinned.
    pub pageable: u64,
    /// Calls that return when the copy has completed, by their name.
    pub blocking: u64,
    /// Calls while bulk of another stream was in flight.
    pub behind: u64,
}

impl Observed {
    /// Adds the figures of another process.
    pub fn add(&mut self, other: &Observed) {
        self.only |= other.only;
        for engine in &other.engines {
            let same = |known: &&mut Engine| (known.device, &known.direction) == (engine.device, &engine.direction);
            match self.engines.iter_mut().find(same) {
                Some(known) => known.add(engine),
                None => self.engines.push(engine.clone()),
            }
        }
        self.other_copies += other.other_copies;
        self.launches += other.launches;
        self.waits.behind.add(&other.waits.behind);
        self.waits.alone.add(&other.waits.alone);
        self.waits.after_own_work += other.waits.after_own_work;
        self.blocked_in_waits_us += other.blocked_in_waits_us;
        self.blocked_by_kernels_us += other.blocked_by_kernels_us;
        self.span_us = self.span_us.max(other.span_us);
        for site in &other.sites {
            match self.sites.iter_mut().find(|known| known.is_at(site)) {
                Some(known) => known.add(site),
                None => self.sites.push(site.clone()),
            }
        }
        self.sites_left_out += other.sites_left_out;
        self.keep_longest_sites();
    }

    /// Sorts the sites by their time, and drops all but the first ten.
    pub fn keep_longest_sites(&mut self) {
        self.sites.sort_by_key(|site| std::cmp::Reverse(site.blocked_us));
        let dropped = self.sites.iter().skip(SITES_MAX).map(|site| site.calls).sum::<u64>();
        self.sites_left_out += dropped;
        self.sites.truncate(SITES_MAX);
    }

    /// The sum over all engines.
    pub fn sum(&self, of: impl Fn(&Engine) -> u64) -> u64 {
        self.engines.iter().map(of).sum()
    }

    /// Bytes of bulk in a second, from the first copy to the last.
    #[must_use]
    pub fn bulk_gbps(&self) -> Option<f64> {
        let bytes = self.sum(|engine| engine.bulk_bytes);
        (bytes > 0 && self.span_us > 0).then(|| bytes as f64 / self.span_us as f64 / 1e3)
    }
}

impl Engine {
    fn add(&mut self, other: &Engine) {
        self.copies += other.copies;
        self.bytes += other.bytes;
        self.blocked_us += other.blocked_us;
        self.blocked_max_us = self.blocked_max_us.max(other.blocked_max_us);
        self.captured += other.captured;
        self.urgent += other.urgent;
        self.urgent_by_priority += other.urgent_by_priority;
        self.bulk += other.bulk;
        self.bulk_bytes += other.bulk_bytes;
        self.bulk_large_bytes += other.bulk_large_bytes;
        self.behind += other.behind;
        self.behind_us += other.behind_us;
        self.large_pageable += other.large_pageable;
        self.large_pageable_bytes += other.large_pageable_bytes;
        self.large_pageable_blocked_us += other.large_pageable_blocked_us;
        self.small_asked += other.small_asked;
        self.small_pageable += other.small_pageable;
        // Processes do not share streams, and none orders the copies of another one. So the most of one process counts.
        self.streams = self.streams.max(other.streams);
        self.streams_urgent = self.streams_urgent.max(other.streams_urgent);
        self.streams_bulk = self.streams_bulk.max(other.streams_bulk);
    }
}

impl Spans {
    fn add(&mut self, other: &Spans) {
        if other.count == 0 {
            return;
        }
        let is_first = self.count == 0;
        self.p50_us = other.p50_us.filter(|_| is_first);
        self.p99_us = other.p99_us.filter(|_| is_first);
        self.count += other.count;
        self.sum_us += other.sum_us;
        self.max_us = self.max_us.max(other.max_us);
    }

    /// The mean.
    #[must_use]
    pub fn mean_us(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_us / self.count as f64)
    }

    /// The median, or the mean where the medians of several processes do not add up.
    #[must_use]
    pub fn middle_us(&self) -> Option<f64> {
        self.mean_us().map(|mean| self.p50_us.unwrap_or(mean))
    }
}

impl Site {
    /// Whether both are the same place.
    fn is_at(&self, other: &Site) -> bool {
        (&self.frames, &self.python) == (&other.frames, &other.python)
    }

    fn add(&mut self, other: &Site) {
        self.calls += other.calls;
        self.blocked_us += other.blocked_us;
        self.blocked_max_us = self.blocked_max_us.max(other.blocked_max_us);
        self.bytes += other.bytes;
        self.pageable += other.pageable;
        self.blocking += other.blocking;
        self.behind += other.behind;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(name: &str, blocked_us: u64) -> Site {
        Site { frames: vec![name.to_owned()], calls: 1, blocked_us, ..Site::default() }
    }

    #[test]
    fn processes_add_up_and_their_percentiles_do_not() {
        let spans = Spans { count: 3, sum_us: 30.0, p50_us: Some(9.0), p99_us: Some(12.0), max_us: 12.0 };
        let engine = Engine { direction: "h2d".to_owned(), copies: 4, streams: 2, ..Engine::default() };
        let waits = Waits { alone: spans, ..Waits::default() };
        let sites = vec![site("a", 5), site("b", 7)];
        let one = Observed { engines: vec![engine], waits, sites, span_us: 10, ..Observed::default() };
        let mut all = Observed::default();
        all.add(&one);
        assert_eq!((all.waits.alone, &all.engines), (spans, &one.engines));
        all.add(&one);
        assert_eq!((all.engines[0].copies, all.engines[0].streams, all.span_us), (8, 2, 10));
        assert_eq!((all.waits.alone.count, all.waits.alone.p50_us, all.waits.alone.middle_us()), (6, None, Some(10.0)));
        let named: Vec<_> = all.sites.iter().map(|site| (site.frames[0].as_str(), site.blocked_us)).collect();
        assert_eq!(named, [("b", 14), ("a", 10)], "the longest first");
    }

    #[test]
    fn sites_beyond_the_tenth_are_counted() {
        let sites = (0..12).map(|at| site(&at.to_string(), at)).collect();
        let mut seen = Observed { sites, ..Observed::default() };
        seen.keep_longest_sites();
        assert_eq!((seen.sites.len(), seen.sites_left_out, seen.sites[0].blocked_us), (10, 2, 11));
    }
}
