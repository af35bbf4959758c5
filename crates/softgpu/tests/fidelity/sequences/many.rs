//! Many streams at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use hal::{Event, Function, Launch, Stream};
use overtake_softgpu::{BUILTIN_PTX, Connections};

use super::Figures;
use super::feeder::walk;
use crate::facts::{Direction, Row};
use crate::rig::{MIB, Random, Rig, SMALL, Word, p50};

/// Bulk in requests of eight chunks over many streams, with a kernel before each and at most twelve outstanding.
struct Feed {
    rig: Rig,
    noop: Function,
    bulk: Vec<Stream>,
    /// The channel of the chunks, each behind a wait for the word; `None`: the request's own stream, without waits.
    channel: Option<Stream>,
    word: Word,
}

impl Feed {
    fn run(&self, stopped: &AtomicBool, fed: &AtomicU64) {
        let driver = &self.rig.driver;
        driver.context_set_current(Some(self.rig.context)).unwrap();
        let events = (self.rig.event(), self.rig.event());
        let mut random = Random::new(7);
        let (mut issued, mut total, mut offset) = (vec![0u32; self.bulk.len()], 0u32, 0);
        let over = || stopped.load(Ordering::Acquire);
        loop {
            driver.host().wait_until(None, &mut || over() || total - self.done() < 12);
            if over() {
                break;
            }
            let index = random.below(self.bulk.len() as u32) as usize;
            self.request(self.bulk[index], events, &mut offset);
            total += 1;
            issued[index] += 1;
            fed.fetch_add(16 * MIB, Ordering::AcqRel);
            self.rig.write(self.bulk[index], self.progress(index).address(), issued[index]);
        }
        driver.context_synchronize().unwrap();
    }

    fn progress(&self, index: usize) -> Word {
        self.rig.word(8 + index as u64)
    }

    fn done(&self) -> u32 {
        (0..self.bulk.len()).map(|index| self.progress(index).load()).sum()
    }

    fn request(&self, stream: Stream, (before, after): (Event, Event), offset: &mut u64) {
        let driver = &self.rig.driver;
        let function = self.noop;
        let launch = Launch { function, grid: [1; 3], block: [1; 3], shared_bytes: 0, stream, parameters: &[] };
        // SAFETY: the kernel takes no parameters.
        unsafe { driver.launch(&launch).unwrap() };
        if let Some(channel) = self.channel {
            driver.event_record(before, stream).unwrap();
            driver.stream_wait_event(channel, before).unwrap();
        }
        let lane = self.channel.unwrap_or(stream);
        for _ in 0..8 {
            if self.channel.is_some() {
                self.rig.wait_zero(lane, self.word.address());
            }
            self.rig.copy(Direction::H2d, self.rig.bulk, walk(offset, 2 * MIB), 2 * MIB, lane);
        }
        if let Some(channel) = self.channel {
            driver.event_record(after, channel).unwrap();
            driver.stream_wait_event(stream, after).unwrap();
        }
    }
}

/// Bulk over many streams with kernels between, and small copies over as many others. Bulk goes natively, or through
/// one dedicated channel whose chunks wait for a word that the CPU raises and lowers.
pub fn many(row: &Row) -> Figures {
    let rig = Rig::new(Connections::default());
    let module = rig.driver.module_load(BUILTIN_PTX.as_bytes()).unwrap();
    let noop = rig.driver.module_function(module, "soft_noop").unwrap();
    let channel = rig.stream(0);
    let small: Vec<Stream> = (0..row.count).map(|_| rig.stream(0)).collect();
    let bulk: Vec<Stream> = (0..row.count).map(|_| rig.stream(0)).collect();
    let (word, flag, gated) = (rig.word(1), rig.word(0), row.method == "channel");
    let stop = Arc::new(AtomicBool::new(false));
    let bytes = Arc::new(AtomicU64::new(0));
    let (stopped, fed) = (Arc::clone(&stop), Arc::clone(&bytes));
    let feed = Feed { rig: rig.clone(), noop, bulk, channel: gated.then_some(channel), word };
    let feeder = hal::spawn(&rig.driver, "feeder", move || feed.run(&stopped, &fed)).unwrap();
    rig.sleep_us(50_000);
    let mut random = Random::new(99);
    let mut samples = Vec::new();
    let (started_us, before) = (rig.now_us(), bytes.load(Ordering::Acquire));
    for index in 1..=400 {
        let stream = small[random.below(small.len() as u32) as usize];
        let begin_us = rig.now_us();
        if gated {
            word.store(1);
        }
        rig.copy(Direction::H2d, rig.small, 0, SMALL, stream);
        rig.write(stream, flag.address(), index);
        rig.spin(flag, index);
        word.store(0);
        samples.push(rig.now_us() - begin_us);
        // The measurement asked for 600 us. There a sleep lasts at least 60 us longer than asked, and its end varies.
        // Without that variation the copies fall into step with the chunks, and the figure depends on the step.
        rig.sleep_us(660 + u64::from(random.below(40)));
    }
    let span_us = rig.now_us() - started_us;
    let bulk = bytes.load(Ordering::Acquire) - before;
    stop.store(true, Ordering::Release);
    feeder.join(rig.driver.host());
    Figures { p50_us: Some(p50(samples)), bulk_gbps: Some(bulk as f64 / span_us / 1e3) }
}
