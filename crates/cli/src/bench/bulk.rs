//! The feeder: a thread that keeps bulk requests outstanding and notes when they complete.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hal::{Code, HostThread, Nanos, Result, Wait};

use super::Method;

/// Bulk requests submitted and not complete: enough that the engine never runs dry.
const OUTSTANDING: u32 = 4;
/// A bulk request that takes longer than this will not come.
const PATIENCE: Nanos = Nanos::from_ms(10_000);

/// What completed between two completions, the first and the last that were seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Throughput {
    /// Bytes that completed in between.
    pub bytes: u64,
    /// Time in between.
    pub span: Nanos,
}

impl Throughput {
    /// Both together.
    #[must_use]
    pub fn and(self, other: Throughput) -> Throughput {
        Throughput { bytes: self.bytes + other.bytes, span: self.span + other.span }
    }

    /// In 10^9 bytes a second; `None` where fewer than two requests completed.
    #[must_use]
    pub fn gbps(self) -> Option<f64> {
        (self.bytes > 0 && self.span > Nanos::ZERO).then(|| self.bytes as f64 / self.span.0 as f64)
    }
}

/// A thread that feeds bulk requests of a method until it is stopped.
pub struct Feeder {
    method: Arc<dyn Method>,
    stop: Arc<AtomicBool>,
    thread: HostThread<Result<Throughput>>,
}

impl Feeder {
    /// Starts to feed, and returns when the first request is complete: from then on the engine is busy.
    pub fn start(method: &Arc<dyn Method>) -> Result<Feeder> {
        let stop = Arc::new(AtomicBool::new(false));
        let (its_method, its_stop) = (Arc::clone(method), Arc::clone(&stop));
        let thread = hal::spawn(method.rig().driver(), "bulk feeder", move || feed(&*its_method, &its_stop));
        let feeder = Feeder { method: Arc::clone(method), stop, thread };
        let is_fed = || method.bulk_done() > 0 || feeder.thread.is_done();
        let has_begun = method.rig().wait_for(PATIENCE, &mut { is_fed });
        if !has_begun || feeder.thread.is_done() {
            feeder.stop()?;
            return Err(late("the first bulk request did not complete"));
        }
        Ok(feeder)
    }

    /// Whether the thread has given up; `stop` says why.
    pub fn has_failed(&self) -> bool {
        self.thread.is_done()
    }

    /// Stops feeding, waits until everything outstanding is complete, and says how fast it went while it was fed.
    pub fn stop(self) -> Result<Throughput> {
        self.stop.store(true, Ordering::Release);
        self.thread.join(self.method.rig().driver().host())
    }
}

fn late(what: &str) -> hal::Error {
    Code::LAUNCH_TIMEOUT.at("cuStreamWriteValue32").because(format!("{what} within {PATIENCE}"))
}

fn feed(method: &dyn Method, stop: &AtomicBool) -> Result<Throughput> {
    method.rig().make_current()?;
    let host = method.rig().driver().host();
    let mut submitted = 0_u32;
    let mut first: Option<(Nanos, u32)> = None;
    let mut last = (Nanos::ZERO, 0);
    while !stop.load(Ordering::Acquire) {
        while submitted.wrapping_sub(method.bulk_done()) < OUTSTANDING {
            submitted = submitted.wrapping_add(1);
            method.submit_bulk(submitted)?;
        }
        let before = method.bulk_done();
        let mut changed = || method.bulk_done() != before || stop.load(Ordering::Acquire);
        if host.wait_until(Some(host.now() + PATIENCE), &mut changed) != Wait::Met {
            return Err(late("no bulk request completed"));
        }
        // Only a completion is a look: the time between the last one and the stop belongs to a request that is under way.
        let done = method.bulk_done();
        if done != before {
            last = (host.now(), done);
            first.get_or_insert(last);
        }
    }
    if !method.rig().wait_for(PATIENCE, &mut || method.bulk_done() == submitted) {
        return Err(late("outstanding bulk requests did not complete"));
    }
    let (start, before) = first.unwrap_or(last);
    let bytes = u64::from(last.1.wrapping_sub(before)) * method.bulk_bytes();
    Ok(Throughput { bytes, span: last.0.since(start) })
}
