//! The summary of a report: the latency of urgent copies, the copies that could not be prioritised, with the causes,
//! and a remedy for each cause.

use copies::copy::Reason;
use serde::Serialize;

use crate::help::help;
use crate::observed::Observed;
use crate::record::{DeviceRecord, LatencyRecord, ReasonRecord};

/// A 99th percentile needs so many samples.
const P99_SAMPLES_MIN: u64 = 1_000;

/// One sentence of a verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The finding.
    pub what: String,
    /// A remedy to try; `None` if none is needed.
    #[serde(rename = "try", skip_serializing_if = "Option::is_none")]
    pub cure: Option<String>,
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.cure {
            None => f.write_str(&self.what),
            Some(cure) => write!(f, "{}; try: {cure}", self.what),
        }
    }
}

fn fine(what: String) -> Finding {
    Finding { what, cure: None }
}

fn curable(what: String, cure: &str) -> Finding {
    Finding { what, cure: Some(cure.to_owned()) }
}

/// The verdict on one process, or on several together: first the urgent copies, then copies that could not be
/// prioritised, by frequency, then the rest. `observed` is what was seen of all copies, where the drop-in watched.
#[must_use]
pub fn verdict(sum: &DeviceRecord, observed: Option<&Observed>) -> Vec<Finding> {
    let helps = observed.map(|seen| help(seen).finding());
    let mut findings = Vec::from_iter(helps);
    // Where it is known whether anything could be done, there is nothing to guess.
    let is_idle = sum.copies.urgent.copies == 0 && observed.is_some();
    findings.extend((!is_idle).then(|| urgent(sum)));
    findings.extend(unprioritised(sum));
    findings.extend(unneeded(sum));
    findings.extend(trouble(sum));
    findings
}

fn urgent(sum: &DeviceRecord) -> Finding {
    let (copies, bulk) = (sum.copies.urgent.copies, sum.copies.kernel.copies + sum.copies.engine.copies);
    let took = sum.most_urgent().map_or_else(String::new, |measured| format!("; {}", spans(measured)));
    let what = format!("urgent copies that bulk had to yield to: {copies}; bulk copies that could yield: {bulk}{took}");
    // A copy without company may have had the highest priority: nothing here says that none had one.
    let is_alone = |passed: &ReasonRecord| passed.reason == Reason::Alone.name() && passed.copies > 0;
    match (copies, sum.passed_on.iter().any(is_alone)) {
        (0, true) => curable(
            what,
            "nothing if no copy waits behind others of another priority; else priorities that differ: of the CUDA \
             streams, by rules (--rules) or by size (--bulk-bytes-min)",
        ),
        (0, false) => curable(
            what,
            "a CUDA priority for the streams of copies that are waited for, rules (--rules), or what is bulk by its \
             size (--bulk-bytes-min)",
        ),
        _ => fine(what),
    }
}

/// For example `those of priority 6 took 8.2 us at the median, 140.0 us at most (of 500)`.
fn spans(measured: &LatencyRecord) -> String {
    let median = measured.p50_us.map(|us| format!("{us:.1} us at the median, "));
    let tail = measured.p99_us.filter(|_| measured.count >= P99_SAMPLES_MIN);
    let tail = tail.map(|us| format!("{us:.1} us at the 99th percentile, "));
    let (median, tail) = (median.unwrap_or_default(), tail.unwrap_or_default());
    let LatencyRecord { priority, count, max_us, .. } = measured;
    format!("those of priority {priority} took {median}{tail}{max_us:.1} us at most (of {count} measured)")
}

/// The cause for passing copies on.
enum Cause {
    /// The copies needed no priority.
    Harmless(&'static str),
    /// The copies needed a priority and could not have it.
    Obstacle { why: &'static str, cure: &'static str },
}

/// As `docs/reasons.md` has it.
fn cause(reason: Reason) -> Cause {
    let obstacle = |why, cure| Cause::Obstacle { why, cure };
    match reason {
        Reason::Alone => Cause::Harmless("no copy of another priority was about"),
        Reason::WithinBudget => Cause::Harmless("they kept the engine for no longer than urgent copies may wait"),
        Reason::NoHostSide => Cause::Harmless("no host memory takes part; peer_gbps is for those between devices"),
        Reason::LeftAlone => {
            Cause::Harmless("a rule or the wait budget left them to the driver, or nothing gave a priority")
        }
        Reason::Disabled => Cause::Harmless("overtake is switched off"),
        Reason::StoodDown => obstacle(
            "overtake had stood down to plain copies",
            "CUDA_DEVICE_MAX_COPY_CONNECTIONS=8, so that fewer streams share a hardware queue",
        ),
        Reason::Capturing => obstacle(
            "their stream was captured into a graph, and copies of graphs are the driver's",
            "copy outside the capture where a copy is urgent or large",
        ),
        Reason::Pageable => obstacle(
            "their host memory is not pinned, so that the driver copies it in pieces of its own",
            "pin it: cudaHostAlloc, cudaHostRegister, or pin_memory=True in PyTorch",
        ),
        Reason::Unstaged => obstacle(
            "their pageable memory could not be staged: no slot was there or free, or pages were not in memory",
            "more slots (--set staging_threads=16), or a larger limit on locked memory (ulimit -l)",
        ),
        Reason::OtherMemory => obstacle(
            "their memory is managed, or a kernel does not reach it for certain",
            "device memory and pinned host memory of the context that copies, on both sides",
        ),
        Reason::Misshapen => obstacle("their shape is for the driver to judge", "a look at pitches and extents"),
        Reason::NoKernel => obstacle(
            "no copy kernel could make them, and on the copy engine they cannot give way",
            "the warnings of this report: one hardware queue for all kernels, kernels that leave no multiprocessor \
             free, copies below 1 MiB, or many batches at once",
        ),
        Reason::Occupied => obstacle(
            "bulk of more streams was under way at once than there are channels and guards, or too many copies were",
            "--set guard_streams_max=4, or bulk in fewer streams",
        ),
        Reason::Failed => obstacle("the planned way failed", "OVERTAKE_LOG=debug, and report its messages"),
    }
}

/// Copies that were passed on, by cause, most frequent first.
fn causes(sum: &DeviceRecord) -> Vec<(Cause, u64)> {
    let named = |name: &str| Reason::ALL.into_iter().find(|reason| reason.name() == name);
    let known = sum.passed_on.iter().filter_map(|passed| Some((named(&passed.reason)?, passed.copies)));
    let mut causes: Vec<(Cause, u64)> = known.map(|(reason, copies)| (cause(reason), copies)).collect();
    causes.sort_by_key(|(_, copies)| std::cmp::Reverse(*copies));
    causes
}

fn unprioritised(sum: &DeviceRecord) -> impl Iterator<Item = Finding> {
    causes(sum).into_iter().filter_map(|(cause, copies)| match cause {
        Cause::Obstacle { why, cure } => {
            Some(curable(format!("copies that could not be prioritised: {copies}, because {why}"), cure))
        }
        Cause::Harmless(_) => None,
    })
}

fn unneeded(sum: &DeviceRecord) -> Option<Finding> {
    let harmless = causes(sum).into_iter().filter_map(|(cause, copies)| match cause {
        Cause::Harmless(why) => Some((why, copies)),
        Cause::Obstacle { .. } => None,
    });
    let (reasons, counts): (Vec<String>, Vec<u64>) =
        harmless.map(|(why, copies)| (format!("{why} ({copies})"), copies)).unzip();
    let copies: u64 = counts.iter().sum();
    (copies > 0).then(|| fine(format!("copies that needed no priority: {copies}: {}", reasons.join(", "))))
}

fn trouble(sum: &DeviceRecord) -> impl Iterator<Item = Finding> {
    let (rescues, replaced, lost) = (sum.rescues, sum.guard_rescues, sum.lost);
    let stood_down = (sum.stand_downs > 0).then(|| {
        let (downs, returns) = (sum.stand_downs, sum.resumptions);
        let what =
            format!("times that overtake stood down, and copies became plain ones: {downs}; came back: {returns}");
        curable(what, "the cure that the warning names; CUDA_DEVICE_MAX_COPY_CONNECTIONS=8 if copies share queues")
    });
    let rescued = (rescues > 0).then(|| {
        let what = format!("times that the watchdog let waiting copies go, because nothing moved: {rescues}");
        curable(what, "CUDA_DEVICE_MAX_COPY_CONNECTIONS=8, or a higher rescue_after_us on a host with much to do")
    });
    let replaced = (replaced > 0).then(|| {
        let what = format!("bulk copies that found no multiprocessor, and were made by the copy engine: {replaced}");
        curable(what, "leaving a few multiprocessors free in kernels that run long")
    });
    let loaded = (sum.first_launches > 0).then(|| {
        let what = format!(
            "kernels that were launched for the first time beside bulk: {}; where the driver loads one then, the next \
             copies of all streams wait for that bulk",
            sum.first_launches
        );
        curable(what, "load_ahead_kernels_max=512, CUDA_MODULE_LOADING=EAGER, or a warm-up before bulk begins")
    });
    let lost = (lost > 0).then(|| {
        let what = format!("copies that could not be made, and were reported to the program as errors: {lost}");
        curable(what, "OVERTAKE=off to tell whose fault it is, and report it")
    });
    [lost, stood_down, rescued, replaced, loaded].into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Amount, Classes};

    fn passed_on(reasons: &[(&str, u64)]) -> Vec<ReasonRecord> {
        let of = |(name, copies): &(&str, u64)| ReasonRecord {
            reason: (*name).to_owned().into(),
            copies: *copies,
            bytes: 0,
        };
        reasons.iter().map(of).collect()
    }

    fn figures(reasons: &[(&str, u64)]) -> DeviceRecord {
        let [urgent, kernel, engine] = [1000, 4, 3].map(|copies| Amount { copies, bytes: 0 });
        let copies = Classes { urgent, kernel, engine, ..Classes::default() };
        let latency =
            LatencyRecord { priority: 6, count: 500, p50_us: Some(8.2), p99_us: Some(99.0), ..Default::default() };
        let latencies = vec![LatencyRecord { max_us: 140.0, ..latency }];
        DeviceRecord { copies, passed_on: passed_on(reasons), latencies, ..DeviceRecord::default() }
    }

    fn shown(sum: &DeviceRecord) -> Vec<String> {
        verdict(sum, None).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_run_without_trouble_says_how_long_urgent_copies_took() {
        let expected = "urgent copies that bulk had to yield to: 1000; bulk copies that could yield: 7; those of \
                        priority 6 took 8.2 us at the median, 140.0 us at most (of 500 measured)";
        assert_eq!(shown(&figures(&[])), [expected], "500 are too few for a 99th percentile");
    }

    #[test]
    fn unprioritised_copies_come_with_their_reason_and_its_cure() {
        let said = shown(&figures(&[("capturing", 2), ("alone", 5), ("pageable", 3), ("within budget", 1)]));
        assert!(
            said[1].starts_with("copies that could not be prioritised: 3, because their host memory is not pinned")
        );
        assert!(said[1].contains("; try: pin it") && said[2].contains("captured"), "{said:?}");
        assert!(said[3].starts_with("copies that needed no priority: 6: no copy of another priority was about (5), "));
        assert_eq!(said.len(), 4);
    }

    #[test]
    fn copies_without_company_may_have_had_a_priority() {
        let of = |reasons: &[(&str, u64)]| DeviceRecord { passed_on: passed_on(reasons), ..DeviceRecord::default() };
        let alone = shown(&of(&[("alone", 2)]));
        assert!(alone[0].contains("; try: nothing if no copy waits behind others"), "{alone:?}");
        let pageable = shown(&of(&[("pageable", 2)]));
        assert!(pageable[0].contains("; try: a CUDA priority"), "{pageable:?}");
        assert!(!alone.concat().contains("no copy was urgent") && !pageable.concat().contains("no copy was urgent"));
    }

    /// Those that a verdict calls harmless stand in the first table of the page, and the others in the second.
    #[test]
    fn every_reason_has_words_and_a_row_of_the_page() {
        let page = include_str!("../../../docs/reasons.md");
        let (harmless, obstacles) = page.split_once("## Copies that could not").unwrap();
        let rows = |part: &str| {
            let names = part.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next().map(str::to_owned));
            names.collect::<std::collections::BTreeSet<_>>()
        };
        let named = |is_harmless: bool| {
            let of =
                Reason::ALL.into_iter().filter(|reason| matches!(cause(*reason), Cause::Harmless(_)) == is_harmless);
            of.map(|reason| reason.name().to_owned()).collect::<std::collections::BTreeSet<_>>()
        };
        assert_eq!((rows(harmless), rows(obstacles)), (named(true), named(false)));
        for reason in Reason::ALL {
            assert_eq!(shown(&figures(&[(reason.name(), 4)])).len(), 2, "{}", reason.name());
        }
    }

    #[test]
    fn trouble_is_told_last_and_nothing_urgent_first() {
        let (rescues, guard_rescues, lost, stand_downs, resumptions, first_launches) = (1, 2, 3, 4, 3, 5);
        let sum = DeviceRecord { rescues, guard_rescues, lost, stand_downs, resumptions, ..DeviceRecord::default() };
        let said = verdict(&DeviceRecord { first_launches, ..sum }, None);
        assert!(said.len() == 6 && said.iter().all(|finding| finding.cure.is_some()), "{said:?}");
        assert!(
            said[0].what.starts_with("urgent copies that bulk had to yield to: 0;")
                && said[1].what.ends_with("errors: 3"),
            "{said:?}"
        );
        assert!(said[2].what.ends_with("plain ones: 4; came back: 3"), "{said:?}");
        assert!(said[5].what.contains("beside bulk: 5;"), "{said:?}");
    }
}
