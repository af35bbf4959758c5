//! The rows of the table, and the rounds of a row.

use std::fmt;

use overtake::hal::ExternalSemaphoreKind::{self, Binary, Timeline};

use crate::layer::Urgency;
use crate::sides::{Ours, Outcome, Round, Theirs, Wait};

pub const HEAD: &str = "semaphores | copies | waits              | wrong down | wrong up | outcome";

/// The circumstances of some rounds.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    pub kind: ExternalSemaphoreKind,
    pub urgency: Urgency,
    pub our_wait: Wait,
    pub their_wait: Wait,
}

/// All rows; those without a proper wait only if `is_alone` is false, because one queue of Vulkan may keep an order
/// that no wait demands.
pub fn rows(is_alone: bool) -> Vec<Row> {
    let waits = [(Wait::Before, Wait::Before), (Wait::Behind, Wait::Before), (Wait::Before, Wait::Behind)];
    let waits = &waits[..if is_alone { 1 } else { waits.len() }];
    let mut rows = Vec::new();
    for &(our_wait, their_wait) in waits {
        for kind in [Binary, Timeline] {
            for urgency in [Urgency::Bulk, Urgency::Urgent] {
                rows.push(Row { kind, urgency, our_wait, their_wait });
            }
        }
    }
    rows
}

/// A row with its results.
pub struct Line {
    row: Row,
    rounds: u64,
    /// Rounds in which our side, or the other one, has read bytes that are not all of this round.
    wrong_down: u64,
    wrong_up: u64,
    ways: String,
}

impl Line {
    /// No round is wrong; but where a side waits too late, most of its rounds are.
    pub fn is_right(&self) -> bool {
        let judge = |wait, wrong: u64| if wait == Wait::Before { wrong == 0 } else { wrong * 2 > self.rounds };
        // Bytes that come too early are overwritten, so the other side cannot see them either.
        let is_up_judged = self.row.our_wait == Wait::Before;
        judge(self.row.our_wait, self.wrong_down) && (!is_up_judged || judge(self.row.their_wait, self.wrong_up))
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Row { kind, urgency, our_wait, their_wait } = self.row;
        let waits = match (our_wait, their_wait) {
            (Wait::Before, Wait::Before) => "both before",
            (Wait::Behind, _) => "overtake's behind",
            (_, Wait::Behind) => "the other's behind",
        };
        let is_control = our_wait == Wait::Behind || their_wait == Wait::Behind;
        let outcome = match (is_control, self.is_right()) {
            (false, true) => "in order",
            (false, false) => "ORDER LOST",
            (true, true) => "order lost, as it must be",
            (true, false) => "NOT NOTICED",
        };
        let (kind, urgency) = (format!("{kind:?}").to_lowercase(), format!("{urgency:?}").to_lowercase());
        let (down, up) = (self.wrong_down, self.wrong_up);
        write!(f, "{kind:10} | {urgency:6} | {waits:18} | {down:>10} | {up:>8} | {outcome}")?;
        if self.ways.is_empty() { Ok(()) } else { write!(f, "; {}", self.ways) }
    }
}

/// Plays the rounds of a row.
pub fn play(row: Row, rounds: u64, theirs: &mut dyn Theirs, ours: &mut dyn Ours) -> Outcome<Line> {
    let (mut wrong_down, mut wrong_up) = (0, 0);
    for round in (1..=rounds).map(Round) {
        ours.prepare(round);
        theirs.write(round)?;
        ours.exchange(round, row.our_wait)?;
        theirs.read(round, row.their_wait)?;
        let (up, down) = (theirs.seen()?, ours.seen()?);
        wrong_down += u64::from(down != round.their_bytes(down.len()));
        wrong_up += u64::from(up != round.our_bytes(up.len()));
    }
    Ok(Line { row, rounds, wrong_down, wrong_up, ways: ours.ways() })
}
