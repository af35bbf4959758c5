//! The streams that share a queue, and the designs that hang.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use hal::{Code, Event, Function, Launch, MemOp, Stream, Wait, WaitCondition};
use overtake_softgpu::{BUILTIN_PTX, Connections};

use crate::facts::{Direction, Hang, Map};
use crate::rig::{KIB, Random, Rig, SMALL};

/// The streams that are blocked by a blocked stream 0.
pub fn blocked_streams(map: &Map) -> Vec<usize> {
    let rig = Rig::new(Connections { max: map.connections, copy: None });
    let kernels = Kernels::load(&rig);
    let streams: Vec<Stream> = (0..16).map(|_| rig.stream(0)).collect();
    let gate = rig.word(1);
    gate.store(1);
    let submit = |stream| match map.direction {
        Direction::Kernel => kernels.spin(&rig, stream, 0).unwrap(),
        direction => rig.copy(direction, rig.small, 0, SMALL, stream),
    };
    rig.wait_zero(streams[0], gate.address());
    submit(streams[0]);
    rig.sleep_us(100);
    for &index in &map.order {
        submit(streams[index]);
        rig.sleep_us(map.gap_us);
    }
    rig.sleep_us(3_000);
    let blocked = (1..16).filter(|&index| !rig.driver.stream_query(streams[index]).unwrap()).collect();
    gate.store(0);
    rig.driver.context_synchronize().unwrap();
    blocked
}

/// The kernels that the hunts launch.
#[derive(Clone, Copy)]
struct Kernels {
    spin: Function,
    add: Function,
}

impl Kernels {
    fn load(rig: &Rig) -> Kernels {
        let module = rig.driver.module_load(BUILTIN_PTX.as_bytes()).unwrap();
        let find = |name| rig.driver.module_function(module, name).unwrap();
        Kernels { spin: find("soft_spin_ns"), add: find("soft_atomic_add_u32") }
    }

    fn launch(rig: &Rig, function: Function, stream: Stream, parameters: &[*mut std::ffi::c_void]) -> hal::Result<()> {
        let launch = Launch { function, grid: [1, 1, 1], block: [1, 1, 1], shared_bytes: 0, stream, parameters };
        // SAFETY: the two callers below pass as many parameters as their kernel declares, each as large.
        unsafe { rig.driver.launch(&launch) }
    }

    fn spin(&self, rig: &Rig, stream: Stream, us: u64) -> hal::Result<()> {
        let mut span_ns = us * 1_000;
        Kernels::launch(rig, self.spin, stream, &[(&raw mut span_ns).cast()])
    }

    fn add(&self, rig: &Rig, stream: Stream, word: hal::DevicePtr, value: i32) -> hal::Result<()> {
        let (mut address, mut value) = (word.0, value);
        Kernels::launch(rig, self.add, stream, &[(&raw mut address).cast(), (&raw mut value).cast()])
    }
}

/// The outcome of a design.
pub struct Verdict {
    pub hung: bool,
    /// Whether plain stores of the host drained it.
    pub drained: bool,
    pub report: String,
}

/// Runs a design until it hangs, or for long enough.
pub fn hunt(row: &Hang) -> Verdict {
    let rig = Rig::new(Connections { max: row.connections, copy: row.copy_connections });
    if row.design == "late fence" {
        return late_fence(&rig, row.streams);
    }
    let hunt = Arc::new(Hunt::new(rig.clone(), row));
    let threads: Vec<_> = (0..row.threads)
        .map(|thread| {
            let hunt = Arc::clone(&hunt);
            hal::spawn(&rig.driver, &format!("hunter {thread}"), move || hunt.work(thread + 1)).unwrap()
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join(rig.driver.host()));
    let hung = hunt.dead.load(Ordering::Acquire);
    verdict(&rig, hung, || rig.word(1).store(0))
}

fn verdict(rig: &Rig, hung: bool, open: impl Fn()) -> Verdict {
    let report = rig.gpu.deadlock().map(|deadlock| deadlock.to_string()).unwrap_or_default();
    let mut drained = !hung;
    // An application's own writes may raise the word again while the queues drain, so the store is repeated.
    for _ in 0..10_000 {
        if drained {
            break;
        }
        open();
        drained = rig.driver.context_synchronize().is_ok();
    }
    Verdict { hung, drained: drained && rig.gpu.live().operations == 0, report }
}

struct Hunt {
    rig: Rig,
    kernels: Kernels,
    design: String,
    low: Vec<Stream>,
    high: Vec<Stream>,
    /// The dedicated channels, and the locks that keep each one's sequences together.
    channels: [(Stream, Mutex<()>); 2],
    dead: AtomicBool,
    rounds: u32,
}

/// Events of a thread, used in turn.
struct Events {
    all: Vec<Event>,
    next: usize,
}

impl Events {
    fn take(&mut self) -> Event {
        self.next += 1;
        self.all[self.next % self.all.len()]
    }
}

impl Hunt {
    fn new(rig: Rig, row: &Hang) -> Hunt {
        let streams = |rig: &Rig| (0..row.streams).map(|_| rig.stream(0)).collect();
        let greatest = rig.driver.priority_range().unwrap().greatest;
        Hunt {
            kernels: Kernels::load(&rig),
            design: row.design.clone(),
            low: streams(&rig),
            high: streams(&rig),
            channels: [(rig.stream(0), Mutex::new(())), (rig.stream(greatest), Mutex::new(()))],
            dead: AtomicBool::new(false),
            rounds: if row.threads == 1 { 300 } else { 12 },
            rig,
        }
    }

    fn work(&self, thread: u32) {
        self.rig.driver.context_set_current(Some(self.rig.context)).unwrap();
        let mut random = Random::new(thread);
        let mut events = Events { all: (0..64).map(|_| self.rig.event()).collect(), next: 0 };
        for _ in 0..self.rounds {
            if self.dead.load(Ordering::Acquire) {
                return;
            }
            if let Err(error) = self.round(&mut random, &mut events) {
                assert_eq!(error.code(), Code::LAUNCH_TIMEOUT, "{error}");
                self.dead.store(true, Ordering::Release);
            }
        }
    }

    fn round(&self, random: &mut Random, events: &mut Events) -> hal::Result<()> {
        let driver = &self.rig.driver;
        let mut last = None;
        for _ in 0..32 {
            let low = self.low[random.below(self.low.len() as u32) as usize];
            let high = self.high[random.below(self.high.len() as u32) as usize];
            self.kernels.spin(&self.rig, low, u64::from(random.below(20)))?;
            if random.below(2) == 1 {
                self.kernels.spin(&self.rig, high, u64::from(random.below(20)))?;
            }
            if let Some(last) = last.filter(|_| random.below(3) == 0) {
                driver.stream_wait_event(high, last)?;
            }
            match self.design.as_str() {
                "channels" => self.through_channels(low, high, events)?,
                design => self.in_stream(low, high, design == "in-stream atomics")?,
            }
            if random.below(2) == 1 {
                self.kernels.spin(&self.rig, high, u64::from(random.below(5)))?;
            }
            let event = events.take();
            driver.event_record(event, low)?;
            last = Some(event);
        }
        self.low.iter().chain(&self.high).try_for_each(|&stream| driver.stream_synchronize(stream))
    }

    fn gated_chunks(&self, stream: Stream) -> hal::Result<()> {
        let wait = MemOp::wait32(self.rig.word(1).address(), 0, WaitCondition::Eq);
        (0..4).try_for_each(|_| {
            self.rig.driver.mem_op(stream, wait)?;
            self.rig.try_copy(Direction::H2d, self.rig.bulk, 0, 128 * KIB, stream)
        })
    }

    fn bracketed(&self, stream: Stream) -> hal::Result<()> {
        let word = self.rig.word(1).address();
        self.rig.driver.mem_op(stream, MemOp::write32(word, 1))?;
        self.rig.try_copy(Direction::H2d, self.rig.small, 0, SMALL, stream)?;
        self.rig.driver.mem_op(stream, MemOp::write32(word, 0))
    }

    fn in_stream(&self, low: Stream, high: Stream, atomics: bool) -> hal::Result<()> {
        self.gated_chunks(low)?;
        if !atomics {
            return self.bracketed(high);
        }
        let word = self.rig.word(1).address();
        self.kernels.add(&self.rig, high, word, 1)?;
        self.rig.try_copy(Direction::H2d, self.rig.small, 0, SMALL, high)?;
        self.kernels.add(&self.rig, high, word, -1)
    }

    fn through_channels(&self, low: Stream, high: Stream, events: &mut Events) -> hal::Result<()> {
        for (index, user) in [low, high].into_iter().enumerate() {
            let (channel, lock) = &self.channels[index];
            let (before, after) = (events.take(), events.take());
            let _guard = self.hold(lock);
            let driver = &self.rig.driver;
            driver.event_record(before, user)?;
            driver.stream_wait_event(*channel, before)?;
            if index == 0 {
                self.gated_chunks(*channel)?
            } else {
                self.bracketed(*channel)?
            }
            driver.event_record(after, *channel)?;
            driver.stream_wait_event(user, after)?;
        }
        Ok(())
    }

    /// Takes a lock that is held across driver calls. The wait for it is in the host's time.
    fn hold<'a>(&self, lock: &'a Mutex<()>) -> std::sync::MutexGuard<'a, ()> {
        let end = self.rig.driver.host().wait_until(None, &mut || lock.try_lock().is_ok());
        if let Some(held) = (end == Wait::Met).then(|| lock.try_lock().ok()).flatten() {
            return held;
        }
        // After the proof of a deadlock, the holder releases the lock as soon as its call returns the error.
        let mut late = None;
        self.rig.driver.host().outside(&mut || late = lock.lock().ok());
        late.expect("no thread panics while holding a channel")
    }
}

/// User streams wait for fences. The host raises these only after copies that are submitted later.
fn late_fence(rig: &Rig, users: usize) -> Verdict {
    let kernels = Kernels::load(rig);
    let fence = rig.word(1);
    let (low, high) = (rig.stream(0), rig.stream(rig.driver.priority_range().unwrap().greatest));
    let streams: Vec<(Stream, Event)> = (0..users).map(|_| (rig.stream(0), rig.event())).collect();
    let mut issued = 0;
    let mut hung = false;
    for _ in 0..3 {
        for (index, &(stream, event)) in streams.iter().enumerate() {
            kernels.spin(rig, stream, 0).unwrap();
            rig.driver.event_record(event, stream).unwrap();
            let wait = MemOp::wait32(fence.address(), issued + index as u32 + 1, WaitCondition::Geq);
            rig.driver.mem_op(stream, wait).unwrap();
            kernels.spin(rig, stream, 0).unwrap();
            if index % 2 == 1 {
                rig.copy(Direction::H2d, rig.small, 0, SMALL, stream);
            }
        }
        rig.sleep_us(5_000);
        for (index, &(_, event)) in streams.iter().enumerate() {
            let channel = if index % 3 == 0 { high } else { low };
            issued += 1;
            rig.driver.stream_wait_event(channel, event).unwrap();
            rig.copy(Direction::H2d, rig.bulk, 0, SMALL, channel);
            hung |= rig.driver.stream_synchronize(channel).is_err();
            if hung {
                return verdict(rig, true, || fence.store(0x7fff_ffff));
            }
            fence.store(issued);
        }
        hung |= streams.iter().any(|(stream, _)| rig.driver.stream_synchronize(*stream).is_err());
    }
    verdict(rig, hung, || fence.store(0x7fff_ffff))
}
