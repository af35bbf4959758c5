//! The smallest program found that still fails.

use super::call::{Call, PLAIN, Task};

pub fn shrink(mut calls: Vec<Call>, fails: impl Fn(&[Call]) -> bool) -> Vec<Call> {
    let mut size = calls.len() / 2;
    while size > 0 {
        let mut at = 0;
        while at + size <= calls.len() {
            let mut fewer = calls.clone();
            fewer.drain(at..at + size);
            if fails(&fewer) {
                calls = fewer;
            } else {
                at += size;
            }
        }
        size /= 2;
    }
    for at in 0..calls.len() {
        for one in simpler(&calls[at]) {
            let mut other = calls.clone();
            other[at] = one;
            if fails(&other) {
                calls = other;
            }
        }
    }
    calls
}

/// The same call with less in it.
fn simpler(call: &Call) -> Vec<Call> {
    let Call::Append(task, uses) = call else { return vec![] };
    let mut all = vec![];
    for at in 0..uses.len() {
        let mut fewer = uses.clone();
        fewer.remove(at);
        all.push(Call::Append(task.clone(), fewer));
    }
    all.push(Call::Append(Task { bits: PLAIN, ..task.clone() }, uses.clone()));
    all.push(Call::Append(Task { kind: task.kind, bits: task.bits, ..Task::PLAIN }, uses.clone()));
    all
}
