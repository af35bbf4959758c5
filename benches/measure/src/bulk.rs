//! The feeder: a thread that keeps copies of a flow outstanding and notes their completions.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hal::{Code, HostThread, Nanos, Result, Wait};

use super::flow::Flow;

/// A bulk request that takes longer than this has failed.
const PATIENCE: Nanos = Nanos::from_ms(10_000);

/// Larger requests take so long that their completion is looked for in naps of [`NAP`]. A thread that polled all the
/// time would take a processor, or half of one, from the urgent copies.
const LARGE_BYTES: u64 = 16 << 20;
/// A nap that is short beside a large request.
const NAP: Nanos = Nanos::from_us(250);

/// The work between the first and the last completion that were seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Throughput {
    /// Bytes that completed in between.
    pub bytes: u64,
    /// Time in between.
    pub span: Nanos,
}

impl Throughput {
    /// Both measurements together.
    #[must_use]
    pub fn and(self, other: Throughput) -> Throughput {
        Throughput { bytes: self.bytes + other.bytes, span: self.span + other.span }
    }

    /// In 10^9 bytes a second; `None` if fewer than two requests completed.
    #[must_use]
    pub fn gbps(self) -> Option<f64> {
        (self.bytes > 0 && self.span > Nanos::ZERO).then(|| self.bytes as f64 / self.span.0 as f64)
    }
}

/// A thread that feeds a flow until it is stopped, and another one that watches it: a feeder that is blocked inside a
/// call would see completions late.
pub struct Feeder {
    flow: Arc<dyn Flow>,
    stop: Arc<AtomicBool>,
    pause: Arc<AtomicBool>,
    feeding: HostThread<Result<()>>,
    watching: HostThread<Throughput>,
}

impl Feeder {
    /// Starts to feed. Returns when the first request is complete: from then on the engine is busy.
    pub fn start(flow: &Arc<dyn Flow>) -> Result<Feeder> {
        let (stop, driver) = (Arc::new(AtomicBool::new(false)), flow.ground().driver());
        let pause = Arc::new(AtomicBool::new(false));
        let (its_flow, its_stop, its_pause) = (Arc::clone(flow), Arc::clone(&stop), Arc::clone(&pause));
        let feeding = hal::spawn(driver, "bulk feeder", move || feed(&*its_flow, &its_stop, &its_pause))?;
        let (its_flow, its_stop) = (Arc::clone(flow), Arc::clone(&stop));
        let watching = hal::spawn(driver, "bulk watcher", move || watch(&*its_flow, &its_stop))?;
        let feeder = Feeder { flow: Arc::clone(flow), stop, pause, feeding, watching };
        let has_begun = flow.ground().rig().wait_for(PATIENCE, &mut || flow.done() > 0 || feeder.feeding.is_done());
        if !has_begun || feeder.feeding.is_done() {
            feeder.stop()?;
            return Err(late("the first bulk request did not complete"));
        }
        Ok(feeder)
    }

    /// The number of completed requests.
    pub fn completed(&self) -> u32 {
        self.flow.done()
    }

    /// Submits no more while `is_paused`.
    pub fn pause(&self, is_paused: bool) {
        self.pause.store(is_paused, Ordering::Release);
    }

    /// Whether the thread has given up; `stop` returns the reason.
    pub fn has_failed(&self) -> bool {
        self.feeding.is_done()
    }

    /// Stops feeding, waits for all outstanding requests, and returns their throughput while they were fed.
    pub fn stop(self) -> Result<Throughput> {
        self.stop.store(true, Ordering::Release);
        let host = self.flow.ground().driver().host();
        let throughput = self.watching.join(host);
        self.feeding.join(host).map(|()| throughput)
    }
}

fn late(what: &str) -> hal::Error {
    Code::LAUNCH_TIMEOUT.at("cuStreamWriteValue32").because(format!("{what} within {PATIENCE}"))
}

fn feed(flow: &dyn Flow, stop: &AtomicBool, pause: &AtomicBool) -> Result<()> {
    flow.ground().rig().make_current()?;
    let (mut submitted, outstanding) = (0_u32, flow.outstanding());
    while !stop.load(Ordering::Acquire) {
        submitted = submitted.wrapping_add(1);
        flow.copy()?;
        flow.count(submitted)?;
        let has_room = || submitted.wrapping_sub(flow.done()) < outstanding && !pause.load(Ordering::Acquire);
        if !look_out(flow, &|| has_room() || stop.load(Ordering::Acquire)) {
            return Err(late("no bulk request completed"));
        }
    }
    if flow.ground().rig().wait_for(PATIENCE, &mut || flow.done() == submitted) {
        Ok(())
    } else {
        Err(late("outstanding bulk requests did not complete"))
    }
}

/// Waits until `condition` holds. It leaves the processor to others if the flow is slow. `false` after too long.
fn look_out(flow: &dyn Flow, condition: &(dyn Fn() -> bool + Sync)) -> bool {
    let host = flow.ground().driver().host();
    let deadline = host.now() + PATIENCE;
    if host.is_virtual() || flow.cargo().bytes < LARGE_BYTES {
        return host.wait_until(Some(deadline), &mut { condition }) == Wait::Met;
    }
    while !condition() {
        if host.now() >= deadline {
            return false;
        }
        host.sleep(NAP);
    }
    true
}

/// Returns the throughput from the first completion seen to the last. Time after the last belongs to a request that
/// has not completed.
fn watch(flow: &dyn Flow, stop: &AtomicBool) -> Throughput {
    let host = flow.ground().driver().host();
    let mut first: Option<(Nanos, u32)> = None;
    let mut last = (Nanos::ZERO, 0);
    loop {
        let before = last.1;
        // The feeder reports a request that is late.
        let _is_on_time = look_out(flow, &|| flow.done() != before || stop.load(Ordering::Acquire));
        if stop.load(Ordering::Acquire) {
            break;
        }
        if flow.done() != before {
            last = (host.now(), flow.done());
            first.get_or_insert(last);
        }
    }
    let (start, before) = first.unwrap_or(last);
    let bytes = u64::from(last.1.wrapping_sub(before)) * flow.cargo().bytes;
    Throughput { bytes, span: last.0.since(start) }
}
