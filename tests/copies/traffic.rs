//! Endless urgent traffic: a thread that keeps urgent copies pending, so that words stay up.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hal::{Driver, HostThread, Nanos};
use overtake::{Direction, Overtake, PriorityStream};

use crate::failure::{Failure, Outcome};
use crate::lane::level;
use crate::place::Side;
use crate::raw;
use crate::rig::Rig;

/// Streams with one pending copy each, so that two are pending while a third is submitted anew.
const STREAMS: usize = 3;
/// The traffic ends by itself after this: the check has failed.
const SPAN_MAX: Nanos = Nanos::from_ms(1_000);

/// Traffic that goes on until it is stopped.
pub struct Traffic {
    driver: Arc<dyn Driver>,
    stop: Arc<AtomicBool>,
    thread: Option<HostThread<Outcome>>,
}

impl Drop for Traffic {
    /// A check that fails early must not destroy the streams while the traffic uses them.
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            // The check has failed for another reason, so an error of the traffic adds nothing.
            let _ = thread.join(self.driver.host());
        }
    }
}

impl Traffic {
    /// Starts copies of `bytes` at the highest priority. Returns when the first has been submitted.
    pub fn start(rig: &Rig, overtake: &Overtake, direction: Direction, bytes: u64) -> Result<Traffic, Failure> {
        let (host, device) = (rig.pinned(bytes)?, rig.buffer(bytes)?);
        let highest = level(overtake.priorities().count());
        let streams = (0..STREAMS).map(|_| Ok(overtake.adopt(rig.stream()?, highest)?));
        let streams = streams.collect::<Result<Vec<PriorityStream>, Failure>>()?;
        let (stop, begun) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let (stopped, has_begun) = (Arc::clone(&stop), Arc::clone(&begun));
        let thread = rig.spawn("traffic", move |driver| {
            let end = driver.host().now() + SPAN_MAX;
            for stream in streams.iter().cycle() {
                stream.synchronize()?;
                if stopped.load(Ordering::SeqCst) || driver.host().now() >= end {
                    break;
                }
                let sides = [(Side::Device(device), 0), (Side::Host(&host), 0)];
                let [target, source] = match direction {
                    Direction::DeviceToHost => [sides[1], sides[0]],
                    _ => sides,
                };
                // Nothing is before it in its stream.
                raw::batch(stream, &[raw::request(target, source, bytes).ready(true)])?;
                has_begun.store(true, Ordering::SeqCst);
            }
            streams.iter().try_for_each(PriorityStream::synchronize)?;
            Ok(())
        });
        rig.driver().host().wait_until(None, &mut || begun.load(Ordering::SeqCst) || thread.is_done());
        Ok(Traffic { driver: Arc::clone(rig.shared_driver()), stop, thread: Some(thread) })
    }

    /// Ends the traffic. Fails if it had ended before.
    pub fn stop(mut self) -> Outcome {
        let Some(thread) = self.thread.take() else { return Ok(()) };
        let ended_before = thread.is_done();
        self.stop.store(true, Ordering::SeqCst);
        thread.join(self.driver.host())?;
        if ended_before {
            return Err(Failure::new("the urgent traffic ended before the check did"));
        }
        Ok(())
    }
}

/// Whether the copy has completed.
pub fn is_done(handle: &overtake::copy::CopyHandle) -> Result<bool, Failure> {
    Ok(handle.is_done()?)
}

/// Waits at most `span` for the copy. Returns whether it has completed.
pub fn done_within(rig: &Rig, handle: &overtake::copy::CopyHandle, span: Nanos) -> Result<bool, Failure> {
    let host = rig.driver().host();
    let end = host.now() + span;
    while !is_done(handle)? {
        if host.now() >= end {
            return Ok(false);
        }
        host.sleep(Nanos::from_us(20));
    }
    Ok(true)
}
