//! The completion thread: it looks at the marks of all lanes, and reports those that the device has come to.

use std::sync::Arc;

use hal::{Host, Nanos};

use crate::dispatch::expectations::LINGER;
use crate::dispatch::marks::Mark;
use crate::dispatch::shared::Shared;

/// Points that no thread waits for are marked after so long, together.
const FLUSH_AFTER: Nanos = Nanos::from_us(200);
/// The shortest and the longest time between two looks.
const LOOK_SPANS: (Nanos, Nanos) = (Nanos::from_us(1), Nanos::from_us(200));
/// The time between two looks is this part of the time that the oldest mark has been pending, so that its end is
/// seen late by this part of it at most.
const LOOKS: u64 = 16;

/// Looks until the dispatcher is closed.
pub(crate) fn look_after(shared: &Arc<Shared>, host: &dyn Host) {
    let bell = &shared.bells.completion;
    bell.listen();
    if let Err(error) = shared.driver.context_set_current(Some(shared.overtake.context())) {
        shared.enter().lose_device(error);
    }
    let mut uncovered_since: Option<Nanos> = None;
    while !bell.has_ended() {
        let (seen, now) = (bell.count(), host.now());
        let mut held = shared.enter();
        let first: Vec<(u8, Mark)> =
            (0..).zip(&held.marks).filter_map(|(lane, marks)| Some((lane, marks.first()?))).collect();
        let is_uncovered = held.marks.iter().any(|marks| marks.is_uncovered());
        held.expectations.look(now);
        if first.is_empty() && !is_uncovered {
            let again = held.expectations.is_lingering().then(|| now + LINGER);
            held.is_completion_asleep = true;
            drop(held);
            uncovered_since = None;
            bell.wait(host, again, &mut || bell.count() != seen);
            continue;
        }
        let since = *uncovered_since.get_or_insert(now);
        if !is_uncovered {
            uncovered_since = None;
        } else if now >= since + FLUSH_AFTER {
            uncovered_since = None;
            held.flush = true;
            shared.pump(held);
            continue;
        }
        drop(held);
        if !look(shared, &first) {
            let oldest = first.iter().map(|(_, mark)| mark.recorded).min().unwrap_or(now);
            let span = Nanos(now.since(oldest).0 / LOOKS).clamp(LOOK_SPANS.0, LOOK_SPANS.1);
            host.sleep(if first.is_empty() { (since + FLUSH_AFTER).since(now) } else { span });
        }
    }
}

/// Asks about these marks. Returns whether the device has come to one.
fn look(shared: &Arc<Shared>, first: &[(u8, Mark)]) -> bool {
    let mut reached = Vec::new();
    for (lane, mark) in first {
        match shared.driver.event_query(mark.event) {
            Ok(true) => reached.push((*lane, *mark)),
            Ok(false) => {}
            Err(error) => {
                let mut held = shared.enter();
                held.lose_device(error);
                shared.pump(held);
                return true;
            }
        }
    }
    if reached.is_empty() {
        return false;
    }
    let mut held = shared.enter();
    for (lane, mark) in reached {
        held.reached(lane, mark);
    }
    shared.pump(held);
    true
}
