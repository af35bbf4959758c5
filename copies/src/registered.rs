//! Ranges of host memory that the program has registered, as far as the layer is told: by the drop-in.
//!
//! The driver says of a single address whether it is registered, and refuses a copy of pageable memory that is
//! registered in part. It does not say that a registration is read-only. An entry whose registration ended unseen, with
//! its context, is removed when it is found.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use hal::locks::lock;
use hal::{Driver, HostRegisterFlags, MemoryKind};

/// A registration, without its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Registration {
    end: u64,
    is_read_only: bool,
}

/// By their beginnings.
static ALL: Mutex<BTreeMap<u64, Registration>> = Mutex::new(BTreeMap::new());

/// The number of those for reading only. Most programs have none, and their copies take no lock.
static READ_ONLY: AtomicUsize = AtomicUsize::new(0);

fn change<T>(change: impl FnOnce(&mut BTreeMap<u64, Registration>) -> T) -> T {
    let mut all = lock(&ALL);
    let changed = change(&mut all);
    READ_ONLY.store(all.values().filter(|one| one.is_read_only).count(), Ordering::Relaxed);
    changed
}

/// The program has registered memory. The driver refuses what is registered already, so the entries that the new one
/// overlaps have ended unseen.
pub fn registered(start: u64, bytes: u64, flags: HostRegisterFlags) {
    let is_read_only = flags.0 & HostRegisterFlags::READ_ONLY.0 != 0;
    let end = start.saturating_add(bytes);
    change(|all| {
        while let Some((before, _)) = last_of(all, &(start..end)) {
            all.remove(&before);
        }
        all.insert(start, Registration { end, is_read_only })
    });
}

/// The program is about to end a registration. Returns it, for the case that the driver refuses.
pub fn unregistering(start: u64) -> Option<Registration> {
    change(|all| all.remove(&start))
}

/// The driver has refused to end a registration.
pub fn goes_on(start: u64, registration: Registration) {
    change(|all| all.entry(start).or_insert(registration).end);
}

/// Whether the address was registered for reading only.
pub(crate) fn is_read_only(address: u64) -> bool {
    READ_ONLY.load(Ordering::Relaxed) > 0
        && last_before(&(address..address.saturating_add(1))).is_some_and(|(_, one)| one.is_read_only)
}

/// Whether a part of the range is registered or otherwise the driver's, so far as is known.
pub(crate) fn is_partly(driver: &dyn Driver, range: &Range<u64>) -> bool {
    let is_pageable = |address| matches!(driver.pointer_kind(address), Ok(info) if info.kind == MemoryKind::Pageable);
    while let Some((start, met)) = last_before(range) {
        if !is_pageable(start.max(range.start)) {
            return true;
        }
        // Another thread may have registered the memory anew.
        change(|all| all.get(&start).is_some_and(|one| *one == met).then(|| all.remove(&start)));
    }
    // Memory that was registered unseen most likely begins or ends with an array.
    !is_pageable(range.end.saturating_sub(1))
}

/// The last registration that overlaps the range. They do not overlap each other.
fn last_before(range: &Range<u64>) -> Option<(u64, Registration)> {
    last_of(&lock(&ALL), range)
}

fn last_of(all: &BTreeMap<u64, Registration>, range: &Range<u64>) -> Option<(u64, Registration)> {
    let (&start, &last) = all.range(..range.end).next_back()?;
    (last.end > range.start).then_some((start, last))
}

#[cfg(test)]
mod tests;
