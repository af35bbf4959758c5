//! The places in the program from which calls that copy blocked for long. They are looked up on the thread that copies,
//! after the call: a call that blocked for a millisecond pays some microseconds for it.
#![allow(unsafe_code)] // the C library's backtrace, and its loader

use std::collections::HashMap;
use std::ffi::{CStr, c_void};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Mutex;

use hal::Nanos;
use hal::locks::lock;

use super::python;
use crate::observed::{Observed, Site};

/// So many places are told apart.
const SITES_MAX: usize = 64;

/// The frames that are looked at, ours among them.
const DEPTH: usize = 24;

/// The frames of the program that tell a place, and that a report names.
const FRAMES: usize = 6;

/// So many lines of a Python program are named for a place that several of them reach.
const LINES_MAX: usize = 4;

/// A call that has blocked for long.
pub(super) struct Stall {
    pub(super) blocked: Nanos,
    pub(super) bytes: u64,
    pub(super) is_pageable: Option<bool>,
    pub(super) is_blocking: bool,
    pub(super) is_behind: bool,
}

/// All of them.
#[derive(Default)]
pub(super) struct Sites(Mutex<Known>);

#[derive(Default)]
struct Known {
    sites: HashMap<u64, Site>,
    left_out: u64,
}

impl Sites {
    /// Notes a stall of the calling thread, with its place.
    #[cold]
    pub(super) fn note(&self, stall: &Stall) {
        let frames = frames();
        let python = python::lines();
        let mut hasher = DefaultHasher::new();
        (&frames, &python).hash(&mut hasher);
        let key = hasher.finish();
        // The loader has a lock of its own, so names are looked up without ours.
        let calls = lock(&self.0).sites.get(&key).map_or(0, |site| site.calls);
        let is_new = calls == 0;
        // Of calls that come again and again a few are enough.
        let is_looked_at = python.is_empty() && (calls + 1).is_power_of_two();
        let line = is_looked_at.then(python::line_without_lock).flatten();
        let names = if is_new { frames.iter().map(|address| name_of(*address)).collect() } else { Vec::new() };
        let mut known = lock(&self.0);
        if !known.sites.contains_key(&key) && known.sites.len() >= SITES_MAX {
            known.left_out += 1;
            return;
        }
        let new = || Site { frames: names, python, ..Site::default() };
        let site = known.sites.entry(key).or_insert_with(new);
        add(site, stall);
        site.python.extend(line.filter(|line| site.python.len() < LINES_MAX && !site.python.contains(line)));
    }

    /// Adds the ten with most time to the figures.
    pub(super) fn add_to(&self, seen: &mut Observed) {
        let known = lock(&self.0);
        seen.sites.extend(known.sites.values().cloned());
        seen.sites_left_out += known.left_out;
        drop(known);
        seen.keep_longest_sites();
    }
}

fn add(site: &mut Site, stall: &Stall) {
    let blocked_us = stall.blocked.0 / 1_000;
    site.calls += 1;
    site.blocked_us += blocked_us;
    site.blocked_max_us = site.blocked_max_us.max(blocked_us);
    site.bytes += stall.bytes;
    site.pageable += u64::from(stall.is_pageable == Some(true));
    site.blocking += u64::from(stall.is_blocking);
    site.behind += u64::from(stall.is_behind);
}

/// The return addresses of the calling thread outside of this library, the innermost first.
fn frames() -> Vec<usize> {
    let mut buffer = [std::ptr::null_mut::<c_void>(); DEPTH];
    // SAFETY: the buffer has so many places.
    let count = unsafe { libc::backtrace(buffer.as_mut_ptr(), DEPTH as i32) };
    let own = object_of(frames as fn() -> Vec<usize> as usize).map(|info| info.dli_fbase);
    let is_ours = |address: &usize| object_of(*address).map(|info| info.dli_fbase) == own;
    let addresses = buffer[..usize::try_from(count).unwrap_or(0)].iter().map(|address| address.addr());
    // A return address is that of the next instruction.
    addresses.map(|address| address.saturating_sub(1)).skip_while(is_ours).take(FRAMES).collect()
}

fn object_of(address: usize) -> Option<libc::Dl_info> {
    // SAFETY: the structure is plain data, for which zeroes are valid.
    let mut found: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: dladdr takes any address and writes to a live local.
    let is_known = unsafe { libc::dladdr(std::ptr::without_provenance(address), &mut found) } != 0;
    is_known.then_some(found)
}

/// `module symbol+0x1a`, or `module+0x1234` where no symbol is known.
fn name_of(address: usize) -> String {
    let Some(found) = object_of(address) else { return format!("{address:#x}") };
    let text = |text: *const libc::c_char| {
        // SAFETY: a NUL-terminated text of the loader's, which stays while the library is open; its code is running.
        (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
    };
    let path = text(found.dli_fname).unwrap_or_default();
    let module = path.rsplit('/').next().unwrap_or_default();
    match text(found.dli_sname) {
        Some(symbol) => format!("{module} {symbol}+{:#x}", address - found.dli_saddr.addr()),
        None => format!("{module}+{:#x}", address - found.dli_fbase.addr()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stall(us: u64) -> Stall {
        let blocked = Nanos::from_us(us);
        Stall { blocked, bytes: 8, is_pageable: Some(true), is_blocking: false, is_behind: true }
    }

    #[test]
    fn stalls_of_one_place_add_up_and_the_longest_comes_first() {
        let sites = Sites::default();
        let short = |us| sites.note(&stall(us));
        let long = |us| sites.note(&stall(us));
        (0..3).for_each(|_| short(1_000));
        long(9_000);
        let mut seen = Observed::default();
        sites.add_to(&mut seen);
        let calls: u64 = seen.sites.iter().map(|site| site.calls).sum();
        let us: u64 = seen.sites.iter().map(|site| site.blocked_us).sum();
        assert_eq!((calls, us, seen.sites_left_out), (4, 12_000, 0));
        assert!(seen.sites[0].blocked_max_us == 9_000 && seen.sites[0].behind > 0, "{seen:?}");
    }

    #[test]
    fn a_function_of_a_library_has_its_name() {
        let known = name_of(libc::malloc as *const () as usize + 4);
        assert!(known.starts_with("libc.so.6 ") && known.ends_with("+0x4"), "{known}");
        assert!(name_of(4).starts_with("0x"), "no object is there");
    }
}
