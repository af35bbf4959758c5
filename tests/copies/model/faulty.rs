//! A driver in which a chosen call fails on purpose.
#![allow(unsafe_code)] // the copies are passed on, with the caller's own promise

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use hal::{
    Attribute, CaptureMode, CaptureStatus, Code, Context, ContextFlags, Device, DevicePtr, Driver, Event, EventFlags,
    ExternalMemory, ExternalSemaphore, ExternalSemaphoreKind, Function, Graph, GraphExec, Host, HostAllocFlags,
    HostRegisterFlags, Launch, MemOp, Module, Nanos, PointerExtent, PointerInfo, PriorityRange, Result, Shape, Stream,
    StreamFlags, Uuid,
};

/// Queries of each kind that are counted.
const QUERIES_MAX: u64 = 20;

/// A polling thread makes as many of these calls as the wait lasts.
const QUERIES: [&str; 2] = ["stream_query", "event_query"];

/// The detail of the injected error.
pub const INJECTED: &str = "failed on purpose";

/// A driver that counts calls, and fails one of them.
pub struct Faulty {
    inner: Arc<dyn Driver>,
    calls: AtomicU64,
    fails: AtomicU64,
    /// Whether all calls fail after the first that has failed.
    lasts: AtomicBool,
    queries: [AtomicU64; QUERIES.len()],
    code: Code,
    failed: Mutex<Option<&'static str>>,
    refused: Mutex<&'static [&'static str]>,
    slow: Mutex<Option<(&'static str, Nanos)>>,
    then: Mutex<Option<Box<dyn Fn() + Send>>>,
    made: Mutex<BTreeMap<&'static str, u64>>,
}

impl Faulty {
    /// A driver in which no call fails yet. Later failures have this code.
    pub fn new(inner: &Arc<dyn Driver>, code: Code) -> Arc<Faulty> {
        let none = || AtomicU64::new(0);
        let (calls, fails, queries) = (none(), none(), QUERIES.map(|_| none()));
        Arc::new(Faulty {
            inner: Arc::clone(inner),
            calls,
            fails,
            lasts: AtomicBool::new(false),
            queries,
            code,
            failed: Mutex::default(),
            refused: Mutex::default(),
            slow: Mutex::default(),
            then: Mutex::default(),
            made: Mutex::default(),
        })
    }

    /// Runs `then` when a call fails, before the caller is told.
    pub fn on_failure(&self, then: impl Fn() + Send + 'static) {
        *self.then.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(then));
    }

    /// Fails the `nth` call from now on; 0 fails none.
    pub fn fail(&self, nth: u64) {
        self.calls.store(0, Ordering::SeqCst);
        self.fails.store(nth, Ordering::SeqCst);
    }

    /// Fails the `nth` call from now on and all after it, as when the device is lost.
    pub fn fail_for_good(&self, nth: u64) {
        self.lasts.store(true, Ordering::SeqCst);
        self.fail(nth);
    }

    /// Fails every call of these names from now on.
    pub fn refuse(&self, names: &'static [&'static str]) {
        *self.refused.lock().unwrap_or_else(PoisonError::into_inner) = names;
    }

    /// Every call of this name takes so much longer from now on.
    pub fn slow_down(&self, name: &'static str, by: Nanos) {
        *self.slow.lock().unwrap_or_else(PoisonError::into_inner) = Some((name, by));
    }

    /// The number of calls since then.
    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::SeqCst)
    }

    /// The number of calls of each name, the failed ones included.
    pub fn made(&self) -> BTreeMap<&'static str, u64> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The call that failed, if one did.
    pub fn failed(&self) -> Option<&'static str> {
        *self.failed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(&self, name: &'static str) -> Result<()> {
        *self.made.lock().unwrap_or_else(PoisonError::into_inner).entry(name).or_default() += 1;
        let slow = *self.slow.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, by)) = slow.filter(|(slow, _)| *slow == name) {
            self.inner.host().sleep(by);
        }
        if self.refused.lock().unwrap_or_else(PoisonError::into_inner).contains(&name) {
            return Err(self.code.at(name).because(INJECTED));
        }
        let is_lost = self.lasts.load(Ordering::SeqCst) && self.failed().is_some();
        if is_lost {
            return Err(self.code.at(name).because(INJECTED));
        }
        let queries = QUERIES.iter().position(|query| *query == name).map(|kind| &self.queries[kind]);
        if queries.is_some_and(|queries| queries.fetch_add(1, Ordering::SeqCst) >= QUERIES_MAX) {
            return Ok(());
        }
        let call = self.calls.fetch_add(1, Ordering::SeqCst) + 1;
        if call != self.fails.load(Ordering::SeqCst) {
            return Ok(());
        }
        *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(name);
        if let Some(then) = &*self.then.lock().unwrap_or_else(PoisonError::into_inner) {
            then();
        }
        Err(self.code.at(name).because(INJECTED))
    }
}

macro_rules! pass_on {
    (safe: $($name:ident($($argument:ident: $kind:ty),*) -> $result:ty;)+) => {
        $(fn $name(&self, $($argument: $kind),*) -> Result<$result> {
            self.enter(stringify!($name))?;
            self.inner.$name($($argument),*)
        })+
    };
    (unsafe: $($name:ident($($argument:ident: $kind:ty),*) -> $result:ty;)+) => {
        $(unsafe fn $name(&self, $($argument: $kind),*) -> Result<$result> {
            self.enter(stringify!($name))?;
            // SAFETY: the inner driver makes the same demands as this one.
            unsafe { self.inner.$name($($argument),*) }
        })+
    };
}

impl Driver for Faulty {
    fn backend(&self) -> &'static str {
        self.inner.backend()
    }

    fn version(&self) -> Result<i32> {
        self.inner.version()
    }

    fn host(&self) -> &dyn Host {
        self.inner.host()
    }

    testkit::calls!(pass_on);
    testkit::calls_on_the_way!(pass_on);
}
