use super::*;
use crate::observed::{Spans, Waits};

fn spans(count: u64, us: f64) -> Spans {
    Spans { count, sum_us: count as f64 * us, p50_us: Some(us), p99_us: Some(us), max_us: us }
}

/// A program that overtake helps: each case below changes it.
fn contended() -> Observed {
    let engine = Engine {
        direction: "h2d".to_owned(),
        copies: 500,
        bytes: 10 << 30,
        blocked_us: 2_000,
        urgent: 400,
        bulk: 100,
        bulk_bytes: 10 << 30,
        bulk_large_bytes: 10 << 30,
        behind: 120,
        behind_us: 960_000,
        small_asked: 25,
        streams: 2,
        streams_urgent: 1,
        streams_bulk: 1,
        ..Engine::default()
    };
    let waits = Waits { behind: spans(60, 8_400.0), alone: spans(40, 12.0), after_own_work: 3 };
    Observed { only: true, engines: vec![engine], waits, span_us: 1_000_000, ..Observed::default() }
}

/// One case: its name, what differs from the contended program, the answer, and a part of the sentence.
type Case = (&'static str, fn(&mut Observed), Answer, &'static str);

const CASES: &[Case] = &[
    (
        "contended",
        |_| (),
        Answer::Helps,
        "would help this program: 120 of 400 urgent copies were issued while bulk of \
        another stream was in flight, and took 8.40 ms on average, 12.0 us where nothing was",
    ),
    (
        "under overtake",
        |seen| {
            seen.only = false;
            seen.waits.behind = spans(60, 14.0);
        },
        Answer::Helps,
        "is at work here: 120 of 400 urgent copies were issued while bulk of another stream was in flight, which had \
        8.00 ms to go, by estimate, and took 14.0 us on average",
    ),
    ("under overtake, to no avail", |seen| seen.only = false, Answer::Little, "changes little here: 120 of 400"),
    (
        "a few long waits",
        |seen| {
            seen.waits.behind = Spans { p50_us: Some(12.0), ..spans(60, 8_400.0) };
        },
        Answer::Helps,
        "and took 8.40 ms on average",
    ),
    ("never waited for", |seen| seen.waits = Waits::default(), Answer::Helps, "which had 8.00 ms to go, by estimate"),
    ("never alone", |seen| seen.waits.alone = Spans::default(), Answer::Helps, "and took 8.40 ms on average"),
    ("no gain", |seen| seen.waits.behind = spans(60, 15.0), Answer::Little, "would help this program little"),
    (
        "short bulk",
        |seen| {
            seen.waits = Waits::default();
            seen.engines[0].behind_us = 1_200;
        },
        Answer::Little,
        "had 10.0 us to go",
    ),
    ("no CUDA copies", |seen| *seen = Observed::default(), Answer::Cannot, "no copy between host and device"),
    (
        "kernels only",
        |seen| {
            seen.engines.clear();
            seen.launches = 7;
        },
        Answer::Cannot,
        "launched 7 kernels and made no copy",
    ),
    (
        "on the device only",
        |seen| {
            seen.engines.clear();
            seen.other_copies = 9;
        },
        Answer::Cannot,
        "none of its 9 copies is between host and device",
    ),
    (
        "in graphs",
        |seen| {
            seen.engines[0].captured = 9_000;
        },
        Answer::Cannot,
        "9000 of its 9500 copies are recorded into CUDA graphs",
    ),
    ("one stream", |seen| seen.engines[0].streams = 1, Answer::Cannot, "all its copies are in one stream"),
    (
        "one stream each way",
        |seen| {
            seen.engines[0].streams = 1;
            let back = Engine { direction: "d2h".to_owned(), copies: 3, streams: 1, ..Engine::default() };
            seen.engines.push(back);
        },
        Answer::Cannot,
        "no two of its streams copy in the same direction",
    ),
    (
        "one stream that waits for kernels",
        |seen| {
            seen.engines[0].streams = 1;
            (seen.blocked_in_waits_us, seen.blocked_by_kernels_us) = (5_000_000, 4_000_000);
        },
        Answer::Cannot,
        "; of 5.0 s that it was blocked in waits, 4.0 s were for kernels",
    ),
    (
        "one stream of large pageable copies",
        |seen| {
            seen.engines[0].streams = 1;
            (seen.engines[0].large_pageable, seen.engines[0].large_pageable_bytes) = (100, 10 << 30);
            seen.engines[0].large_pageable_blocked_us = 3_000_000;
        },
        Answer::Perhaps,
        "100 large copies are of pageable memory, and took 3.0 s in their calls",
    ),
    (
        "one stream of small pageable copies",
        |seen| {
            seen.engines[0].streams = 1;
            seen.engines[0].small_pageable = 25;
        },
        Answer::Cannot,
        "all its copies are in one stream",
    ),
    ("small pageable", |seen| seen.engines[0].small_pageable = 25, Answer::Cannot, "small and of pageable memory"),
    (
        "alone with a priority",
        |seen| {
            let engine = &mut seen.engines[0];
            (engine.bulk, engine.bulk_bytes, engine.behind) = (0, 0, 0);
            (engine.urgent, engine.urgent_by_priority) = (2, 2);
            seen.waits.behind = Spans::default();
        },
        Answer::Cannot,
        "(2 of them have a priority of their own, which nothing had to yield to)",
    ),
    ("nothing is told apart", |seen| seen.engines[0].urgent = 0, Answer::Perhaps, "nothing says which"),
    (
        "never met",
        |seen| {
            seen.engines[0].behind = 0;
            seen.waits.behind = Spans::default();
        },
        Answer::Cannot,
        "none of its 400 urgent copies stood behind any of its 100 bulk copies",
    ),
    (
        "bulk in small copies",
        |seen| {
            seen.engines[0].bulk_large_bytes = 1 << 30;
        },
        Answer::Perhaps,
        "copies below 1 MiB",
    ),
];

#[test]
fn each_program_gets_its_answer() {
    for (name, change, answer, part) in CASES {
        let mut seen = contended();
        change(&mut seen);
        let said = help(&seen);
        assert!(said.answer == *answer && said.what.contains(part), "{name}: {said:?}");
        assert!(said.what.starts_with("overtake ") && !said.what.ends_with('.'), "{name}: {said:?}");
    }
}

#[test]
fn every_answer_but_a_plain_no_has_a_cure() {
    for (name, change, answer, _) in CASES {
        let mut seen = contended();
        change(&mut seen);
        assert!(*answer == Answer::Cannot || help(&seen).cure.is_some(), "{name}");
    }
}

#[test]
fn spans_have_the_unit_that_a_reader_expects() {
    assert_eq!([8.62, 8_430.0, 2_500_000.0].map(span), ["8.6 us", "8.43 ms", "2.5 s"]);
}
