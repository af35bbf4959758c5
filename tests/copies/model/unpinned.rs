//! Small copies beside staged bulk, where no stream has a priority of its own: the times that a program sees.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use hal::{Driver, HostThread, Nanos};
use overtake::{Options, Overtake, PriorityStream};

use crate::bed;
use crate::failure::{Failure, Outcome, ensure};
use crate::lane::level;
use crate::memory::Pinned;
use crate::model::on;
use crate::place::{Buffer, Side};
use crate::raw;
use crate::rig::Rig;

const SMALL_BYTES: u64 = 64 << 10;
const BULK_BYTES: u64 = 16 << 20;
/// Samples of each small copy, and the time between two of them.
const SAMPLES: usize = 40;
const PAUSE: Nanos = Nanos::from_us(150);
/// A small copy beside bulk takes at most so many times its time on an idle device in the median, and so long at most.
const FACTOR_MAX: f64 = 2.0;
const LONGEST_MAX: Nanos = Nanos::from_us(200);
/// Bulk keeps at least this rate beside small copies, in GB/s. The driver alone reaches 7.
const BULK_GBPS_MIN: f64 = 20.0;

/// The options of the drop-in that concern these copies, and threads as on a machine of 16 cores.
pub(super) fn options() -> Options {
    Options { staging: true, staging_threads: 8, ..Options::default() }.with_profile(|profile| {
        profile.channels = false;
        profile.guard_bytes_min = Some(256 << 10);
        profile.lull = true;
    })
}

/// Pageable bulk of a thread with a stream of its own, one way, until it is stopped.
struct Bulk<'a> {
    rig: &'a Rig,
    stop: Arc<AtomicBool>,
    /// The copies that were made.
    count: Arc<AtomicU64>,
    thread: Option<HostThread<Outcome>>,
}

impl Bulk<'_> {
    fn start<'a>(rig: &'a Rig, overtake: &Overtake, to_device: bool) -> Result<Bulk<'a>, Failure> {
        let (stream, device) = (overtake.adopt_plain(rig.stream()?), rig.buffer(BULK_BYTES)?);
        let (stop, count) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (stopped, counted) = (Arc::clone(&stop), Arc::clone(&count));
        let thread = rig.spawn("bulk", move |_| {
            let mut memory = vec![1; BULK_BYTES as usize];
            while !stopped.load(Ordering::SeqCst) {
                raw::pageable(&stream, device, &mut memory, (to_device, level(1)))?;
                stream.synchronize()?;
                counted.fetch_add(1, Ordering::SeqCst);
            }
            Ok(())
        });
        Ok(Bulk { rig, stop, count, thread: Some(thread) })
    }

    /// Waits until its copies are staged: the first ones have the slots made.
    fn warm(&self, overtake: &Overtake) -> Outcome {
        bed::eventually(self.rig, "bulk is staged", || overtake.statistics().staged.copies > 2)
    }

    fn end(mut self) -> Outcome {
        self.stop.store(true, Ordering::SeqCst);
        self.thread.take().map_or(Ok(()), |thread| thread.join(self.rig.driver().host()))
    }
}

impl Drop for Bulk<'_> {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            // The check has failed for another reason, so an error of the bulk adds nothing.
            let _ = thread.join(self.rig.driver().host());
        }
    }
}

/// A small copy and its wait, as a program makes it.
struct Small {
    stream: PriorityStream,
    device: Buffer,
    pinned: Option<Arc<Pinned>>,
    pageable: Vec<u8>,
    to_device: bool,
}

impl Small {
    fn new(rig: &Rig, overtake: &Overtake, to_device: bool, is_pinned: bool) -> Result<Small, Failure> {
        let pinned = if is_pinned { Some(rig.pinned(SMALL_BYTES)?) } else { None };
        let stream = overtake.adopt_plain(rig.stream()?);
        Ok(Small {
            stream,
            device: rig.buffer(SMALL_BYTES)?,
            pinned,
            pageable: vec![2; SMALL_BYTES as usize],
            to_device,
        })
    }

    fn copy(&mut self) -> Outcome {
        match &self.pinned {
            Some(host) => {
                let sides = [(Side::Device(self.device), 0), (Side::Host(host), 0)];
                let [target, source] = if self.to_device { sides } else { [sides[1], sides[0]] };
                raw::linear(&self.stream, target, source, SMALL_BYTES, Some(level(2)))?;
            }
            None => {
                raw::pageable(&self.stream, self.device, &mut self.pageable, (self.to_device, level(2)))?;
            }
        }
        Ok(self.stream.synchronize()?)
    }

    /// The median and the longest time.
    fn times(&mut self, driver: &dyn Driver) -> Result<(Nanos, Nanos), Failure> {
        let mut samples = Vec::new();
        for number in 0..SAMPLES {
            // Bulk and small copies do not fall into step.
            driver.host().sleep(PAUSE + Nanos(7_919 * number as u64 % 40_000));
            let began = driver.host().now();
            self.copy()?;
            samples.push(driver.host().now().since(began));
        }
        samples.sort_unstable();
        Ok((samples[SAMPLES / 2], samples[SAMPLES - 1]))
    }
}

fn beside_bulk(is_pinned: bool) -> Outcome {
    for to_device in [true, false] {
        on(|builder| builder, |_, rig| one_way(rig, to_device, is_pinned))?;
    }
    Ok(())
}

fn one_way(rig: &Rig, to_device: bool, is_pinned: bool) -> Outcome {
    let (overtake, driver) = (bed::open(rig, options())?, rig.driver());
    let mut small = Small::new(rig, &overtake, to_device, is_pinned)?;
    let (idle, _) = small.times(driver)?;
    let bulk = Bulk::start(rig, &overtake, to_device)?;
    bulk.warm(&overtake)?;
    let (began, before) = (driver.host().now(), bulk.count.load(Ordering::SeqCst));
    let (median, longest) = small.times(driver)?;
    let copied = (bulk.count.load(Ordering::SeqCst) - before) * BULK_BYTES;
    let gbps = copied as f64 / driver.host().now().since(began).0 as f64;
    bulk.end()?;
    let factor = median.0 as f64 / idle.0 as f64;
    let found = format!("to the device {to_device}: {idle} idle, {median} and at most {longest}, bulk {gbps:.1} GB/s");
    ensure!(factor <= FACTOR_MAX && longest <= LONGEST_MAX && gbps >= BULK_GBPS_MIN, "{found}");
    Ok(())
}

/// Pageable copies of 64 KiB, both ways.
pub fn pageable_beside_bulk() -> Outcome {
    beside_bulk(false)
}

/// Pinned copies of 64 KiB, both ways.
pub fn pinned_beside_bulk() -> Outcome {
    beside_bulk(true)
}
