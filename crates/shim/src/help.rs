//! Whether overtake would help a program, or helps it, in one sentence, from what was seen of its copies.

use serde::{Deserialize, Serialize};

use crate::observed::{Engine, Observed};
use crate::verdict::Finding;

/// This share of a kind, in percent, is nearly all of it.
const NEARLY_ALL_PERCENT: u64 = 90;

/// A wait that is less than so many times the one without bulk is no gain worth a word.
const GAIN_MIN: f64 = 1.5;

/// A shorter wait behind bulk, by estimate, is not noticed.
const NOTICED_US: f64 = 50.0;

/// The answer in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Answer {
    /// It does, or it would.
    Helps,
    /// It would, by little.
    Little,
    /// Nobody knows before it is tried.
    Perhaps,
    /// It cannot.
    Cannot,
}

/// The answer with its reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Help {
    /// In one word.
    pub answer: Answer,
    /// In one sentence, without a capital and a full stop.
    pub what: String,
    /// A remedy to try.
    #[serde(rename = "try", default, skip_serializing_if = "Option::is_none")]
    pub cure: Option<String>,
}

impl Help {
    /// As one sentence of a verdict.
    #[must_use]
    pub fn finding(&self) -> Finding {
        Finding { what: self.what.clone(), cure: self.cure.clone() }
    }
}

fn cannot(why: impl AsRef<str>, cure: Option<&str>) -> Help {
    let what = format!("overtake cannot help this program: {}", why.as_ref());
    Help { answer: Answer::Cannot, what, cure: cure.map(str::to_owned) }
}

fn perhaps(why: impl AsRef<str>, cure: &str) -> Help {
    let what = format!("overtake may help this program: {}", why.as_ref());
    Help { answer: Answer::Perhaps, what, cure: Some(cure.to_owned()) }
}

/// Whether a part is nearly all of a whole.
fn is_nearly_all(part: u64, whole: u64) -> bool {
    whole > 0 && u128::from(part) * 100 >= u128::from(whole) * u128::from(NEARLY_ALL_PERCENT)
}

/// The answer. The first reason that applies decides.
#[must_use]
pub fn help(seen: &Observed) -> Help {
    let reasons = [nothing_to_order, one_stream, nothing_differs, never_met, pageable, bulk_of_small_copies];
    reasons.into_iter().find_map(|reason| reason(seen)).unwrap_or_else(|| by_how_much(seen))
}

/// No copies, or none that can have a priority.
fn nothing_to_order(seen: &Observed) -> Option<Help> {
    let (copies, captured) = (seen.sum(|engine| engine.copies), seen.sum(|engine| engine.captured));
    if is_nearly_all(captured, copies + captured) {
        let all = copies + captured;
        let why =
            format!("{captured} of its {all} copies are recorded into CUDA graphs, whose copies are the driver's");
        return Some(cannot(why, Some("copies outside the capture, where they are urgent or large")));
    }
    if copies > 0 {
        return None;
    }
    Some(match (seen.other_copies, seen.launches) {
        (0, 0) => cannot("it has made no copy between host and device", None),
        (0, launches) => cannot(format!("it has launched {launches} kernels and made no copy"), None),
        (other, _) => cannot(format!("none of its {other} copies is between host and device"), None),
    })
}

/// Copies of one stream keep their order.
fn one_stream(seen: &Observed) -> Option<Help> {
    let most = seen.engines.iter().map(|engine| engine.streams).max().unwrap_or(0);
    if most > 1 {
        return None;
    }
    let directions = seen.engines.iter().filter(|engine| engine.copies > 0).count();
    let why = match directions {
        0 | 1 => "all its copies are in one stream, and copies of one stream keep their order",
        _ => "no two of its streams copy in the same direction, and copies of one stream keep their order",
    };
    Some(staged(seen, why).unwrap_or_else(|| cannot(format!("{why}{}", kernels(seen)), None)))
}

/// Large pageable copies gain by staging, whatever their priority.
fn staged(seen: &Observed, why: &str) -> Option<Help> {
    let (pageable, bytes) = (seen.sum(|engine| engine.large_pageable), seen.sum(|engine| engine.bytes));
    let pageable_bytes = seen.sum(|engine| engine.large_pageable_bytes);
    let blocked_us = seen.sum(|engine| engine.large_pageable_blocked_us);
    if pageable == 0 || pageable_bytes * 10 < bytes {
        return None;
    }
    let calls = span(blocked_us as f64);
    Some(perhaps(
        format!(
            "{why}; but {pageable} large copies are of pageable memory, and took {calls} in their calls: several \
             threads copy it faster than the driver's one"
        ),
        "`overtake run --compare 3`, which measures that; or pinned memory, which needs neither",
    ))
}

/// Urgent copies and bulk have to be told apart.
fn nothing_differs(seen: &Observed) -> Option<Help> {
    let (urgent, bulk) = (seen.sum(|engine| engine.urgent), seen.sum(|engine| engine.bulk));
    if urgent > 0 && bulk == 0 {
        let why = format!(
            "its streams move little, so no copy stands behind much of another stream{}{}",
            by_priority(seen),
            kernels(seen)
        );
        return Some(staged(seen, "its streams move little").unwrap_or_else(|| cannot(why, None)));
    }
    (urgent == 0).then(|| {
        perhaps(
            "all its streams keep the link busy, and nothing says which of their copies are waited for",
            "a CUDA priority for the streams of copies that are waited for, or rules (--rules)",
        )
    })
}

/// Nothing stood in the way of an urgent copy.
fn never_met(seen: &Observed) -> Option<Help> {
    if seen.sum(|engine| engine.behind) > 0 || seen.waits.behind.count > 0 {
        return None;
    }
    let (urgent, bulk) = (seen.sum(|engine| engine.urgent), seen.sum(|engine| engine.bulk));
    let why = format!(
        "none of its {urgent} urgent copies stood behind any of its {bulk} bulk copies: they went at different times, \
         in different directions or in the same stream{}{}",
        by_priority(seen),
        kernels(seen)
    );
    Some(staged(seen, "no urgent copy stood behind bulk").unwrap_or_else(|| cannot(why, None)))
}

/// The driver copies small pageable memory in its own way.
fn pageable(seen: &Observed) -> Option<Help> {
    let (asked, pageable) = (seen.sum(|engine| engine.small_asked), seen.sum(|engine| engine.small_pageable));
    is_nearly_all(pageable, asked).then(|| {
        let behind = seen.sum(|engine| engine.behind);
        cannot(
            format!(
                "{behind} urgent copies stood behind bulk, but they are small and of pageable memory, which the driver \
                 copies in pieces of its own"
            ),
            Some("pinned memory for them: cudaHostAlloc, cudaHostRegister, or pin_memory=True in PyTorch"),
        )
    })
}

/// Bulk in small copies gives way only between two of them.
fn bulk_of_small_copies(seen: &Observed) -> Option<Help> {
    let (bytes, large) = (seen.sum(|engine| engine.bulk_bytes), seen.sum(|engine| engine.bulk_large_bytes));
    (large.saturating_mul(2) < bytes).then(|| {
        perhaps(
            "most of its bulk is in copies below 1 MiB, which do not give way by themselves",
            "`overtake run --compare 3`, which measures it; or bulk in copies of 1 MiB and more",
        )
    })
}

/// Urgent copies stood behind bulk: how long, and how long they take without it.
fn by_how_much(seen: &Observed) -> Help {
    let (behind, urgent) = (seen.sum(|engine| engine.behind), seen.sum(|engine| engine.urgent));
    let met = format!("{behind} of {urgent} urgent copies were issued while bulk of another stream was in flight");
    let to_go = seen.sum(|engine| engine.behind_us) as f64 / behind.max(1) as f64;
    let answer_of = |is_little: bool| if is_little { Answer::Little } else { Answer::Helps };
    // A few long waits decide, so the mean counts.
    let (answer, measured) = match (seen.waits.behind.mean_us(), seen.waits.alone.mean_us()) {
        // Under overtake they are as short as those without bulk. What they would be tells what it does.
        (Some(now), _) if !seen.only => {
            let took = format!("which had {} to go, by estimate, and took {} on average", span(to_go), span(now));
            (answer_of(to_go < NOTICED_US || to_go < now * GAIN_MIN), took)
        }
        (Some(before), Some(alone)) => {
            let took = format!("and took {} on average, {} where nothing was", span(before), span(alone));
            (answer_of(before < alone * GAIN_MIN), took)
        }
        (Some(before), None) => (answer_of(before < NOTICED_US), format!("and took {} on average", span(before))),
        _ => (answer_of(to_go < NOTICED_US), format!("which had {} to go, by estimate", span(to_go))),
    };
    let what = match (answer, seen.only) {
        (Answer::Little, true) => format!("overtake would help this program little: {met}, {measured}"),
        (Answer::Little, false) => format!("overtake changes little here: {met}, {measured}"),
        (_, true) => format!("overtake would help this program: {met}, {measured}"),
        (_, false) => format!("overtake is at work here: {met}, {measured}"),
    };
    let cure = "`overtake run --compare 3`, which measures the program with overtake and without";
    Help { answer, what, cure: Some(cure.to_owned()) }
}

/// What there is to say of copies to which the program itself gives a priority.
fn by_priority(seen: &Observed) -> String {
    match seen.sum(|engine| engine.urgent_by_priority) {
        0 => String::new(),
        copies => format!(" ({copies} of them have a priority of their own, which nothing had to yield to)"),
    }
}

/// What there is to say of a program that waits for kernels.
fn kernels(seen: &Observed) -> String {
    let (waits, by_kernels) = (seen.blocked_in_waits_us, seen.blocked_by_kernels_us);
    let in_copies = seen.sum(|engine: &Engine| engine.blocked_us);
    if waits < 1_000 || by_kernels * 2 < waits || by_kernels < in_copies {
        return String::new();
    }
    format!("; of {} that it was blocked in waits, {} were for kernels", span(waits as f64), span(by_kernels as f64))
}

/// A span of time for a sentence, such as `8.43 ms`.
pub(crate) fn span(us: f64) -> String {
    match us {
        _ if us < 1_000.0 => format!("{us:.1} us"),
        _ if us < 1e6 => format!("{:.2} ms", us / 1e3),
        _ => format!("{:.1} s", us / 1e6),
    }
}

#[cfg(test)]
mod tests;
