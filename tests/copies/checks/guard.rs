//! Guarded copies: programs that end natively also end here, and every byte goes to the same place as without
//! overtake.

use std::sync::Arc;

use hal::{DevicePtr, Event, Function, Nanos, Stream};
use overtake::copy::{CopyHandle, Plan, Reason};
use overtake::{Options, Overtake, PriorityStream};

use crate::bed;
use crate::failure::{Failure, Outcome, ensure, same, same_bytes};
use crate::lane::{Lane, level};
use crate::memory::Pinned;
use crate::place::{Buffer, Side};
use crate::raw;
use crate::rig::Rig;
use crate::word::Gate;

/// The size of a bulk copy here.
pub const BYTES: u64 = 1 << 20;
const LANE_BYTES: u64 = 300_000;
/// More streams than there are copy queues in one direction.
const OTHERS: usize = 8;
/// Longer than a copy kernel may be overdue.
pub const LONG: Nanos = Nanos::from_ms(60);

/// The options of the drop-in, with small copies for large ones: no channels, and every kernel guarded.
pub fn options() -> Options {
    bed::small_options().with_profile(|profile| {
        profile.channels = false;
        profile.guard_bytes_min = Some(48 << 10);
    })
}

/// Random copies on lanes of three priorities, with kernels between.
pub fn bytes(rig: &Rig) -> Outcome {
    let spin = rig.kernels()?.spin;
    let overtake = bed::open(rig, options())?;
    let lanes = [1, 1, 2, 3].into_iter().zip(500..);
    let lanes = lanes.map(|(priority, seed)| Lane::new(rig, &overtake, priority, LANE_BYTES, seed));
    let mut lanes = lanes.collect::<Result<Vec<_>, _>>()?;
    for round in 0..40 {
        for index in 0..lanes.len() {
            lanes[index].copy_behind_kernels(rig.driver(), spin)?;
            if round % 7 == index {
                lanes[index].stream.wait_for(&lanes[(index + 1) % lanes.len()].stream)?;
            }
        }
        if round % 10 == 0 {
            lanes[0].bulk()?;
        }
    }
    lanes.iter().try_for_each(|lane| lane.stream.synchronize())?;
    bed::at_rest(rig, &overtake)?;
    lanes.iter().try_for_each(|lane| lane.verify(rig))?;
    let statistics = overtake.statistics();
    ensure!(statistics.guarded.copies > 8 && statistics.guarded == statistics.kernel, "{statistics:?}");
    same("errors", &statistics.errors, &0)
}

/// A program that ends natively: a kernel fills all multiprocessors and waits for a word that arrives behind bulk.
pub struct Filled<'a> {
    rig: &'a Rig,
    /// The stream of the copies.
    pub stream: PriorityStream,
    _other: PriorityStream,
    source: Arc<Pinned>,
    target: Buffer,
    back: Arc<Pinned>,
    word: Buffer,
    one: Arc<Pinned>,
    wait: Function,
    beside: Stream,
    others: Vec<Stream>,
    elsewhere: Buffer,
    copied: Event,
}

impl<'a> Filled<'a> {
    /// Makes its streams and memory. Its copies are bulk.
    pub fn new(rig: &'a Rig, overtake: &Overtake) -> Result<Filled<'a>, Failure> {
        Filled::with_copies_at(1, rig, overtake)
    }

    /// The same with copies of this priority: 1 is bulk, and 3 urgent.
    pub fn with_copies_at(priority: u8, rig: &'a Rig, overtake: &Overtake) -> Result<Filled<'a>, Failure> {
        let module = rig.kernels()?.module;
        Ok(Filled {
            rig,
            stream: overtake.adopt(rig.stream()?, level(priority))?,
            _other: overtake.adopt(rig.stream()?, level(4 - priority))?,
            source: rig.pinned(BYTES)?,
            target: rig.buffer_of(&vec![0; BYTES as usize])?,
            back: rig.pinned(BYTES)?,
            word: rig.buffer_of(&[0; 4])?,
            one: rig.pinned_of(&1u32.to_le_bytes())?,
            wait: rig.driver().module_function(module, "soft_wait_u32")?,
            beside: rig.stream()?,
            // Before anything waits: making one may wait for everything in the context.
            others: rig.streams(OTHERS)?,
            elsewhere: rig.buffer(BYTES)?,
            copied: rig.event()?,
        })
    }

    /// Fills the device, and queues `copies` bulk copies and the word. Earlier contents are cleared.
    pub fn begin(&self, copies: usize, content: u8) -> Result<Vec<CopyHandle>, Failure> {
        self.rig.htod_now((self.word, 0), &[0; 4])?;
        self.begin_until(self.word.at(0), copies, content)
    }

    /// The same, with a kernel that waits for another word.
    pub fn begin_until(&self, word: DevicePtr, copies: usize, content: u8) -> Result<Vec<CopyHandle>, Failure> {
        let rig = self.rig;
        rig.htod_now((self.target, 0), &vec![0; BYTES as usize])?;
        self.source.write(0, &vec![content; BYTES as usize]);
        raw::fill(rig.driver(), self.wait, word.0, self.beside)?;
        rig.driver().host().sleep(hal::Nanos::from_us(200));
        let bulk = (0..copies).map(|_| Ok(raw::htod(&self.stream, self.target, &self.source, BYTES)?));
        bulk.collect()
    }

    /// Queues a copy in each of the other streams: each behind the bulk copies, or behind a gate. They stand in every
    /// copy queue to the device.
    pub fn occupy_the_queues(&self, gate: Option<&Gate>) -> Outcome {
        let rig = self.rig;
        rig.driver().event_record(self.copied, self.stream.raw())?;
        for stream in &self.others {
            match gate {
                Some(gate) => rig.wait_at(gate, *stream)?,
                None => rig.driver().stream_wait_event(*stream, self.copied)?,
            }
            rig.htod((self.elsewhere, 0), (&*self.source, 0), BYTES, *stream)?;
        }
        Ok(())
    }

    /// Queues the word that releases the kernel.
    pub fn release(&self) -> Outcome {
        Ok(self.rig.htod((self.word, 0), (&*self.one, 0), 4, self.stream.raw())?)
    }

    /// Releases the kernel in any case.
    pub fn let_go(&self) -> Outcome {
        Ok(self.rig.htod_now((self.word, 0), &1u32.to_le_bytes())?)
    }

    /// Waits for all work and checks the bytes, also for copies by kernels that were given up.
    pub fn end(&self, content: u8) -> Outcome {
        self.stream.synchronize()?;
        self.source.write(0, &vec![0xee; BYTES as usize]);
        self.rig.driver().context_synchronize()?;
        let there = self.rig.download(self.target, self.beside)?;
        same_bytes("the bytes of the bulk copies", &there, &vec![content; BYTES as usize])
    }

    /// Queues a copy back to the host, which goes by kernel too.
    pub fn bring_back(&self) -> Result<CopyHandle, Failure> {
        Ok(raw::dtoh(&self.stream, &self.back, self.target, BYTES)?)
    }

    /// Queues a small plain copy over the first bytes of the bulk copy.
    pub fn overwrite(&self) -> Outcome {
        Ok(self.rig.htod((self.target, 0), (&*self.one, 0), 4, self.stream.raw())?)
    }

    /// The bytes that came back.
    pub fn brought_back(&self) -> Vec<u8> {
        self.back.read_all()
    }
}

fn rescued(rig: &Rig, overtake: &Overtake, copies: u64) -> Outcome {
    let statistics = overtake.statistics();
    same("rescued copies", &statistics.guard_rescues, &copies)?;
    same("errors", &statistics.errors, &0)?;
    bed::at_rest(rig, overtake)
}

/// One bulk copy before the word.
pub fn ends_as_natively(rig: &Rig) -> Outcome {
    let overtake = bed::open(rig, options())?;
    let filled = Filled::new(rig, &overtake)?;
    let bulk = filled.begin(1, 3)?;
    same("the plan", &bulk[0].plan(), &Plan::Kernel { raises: false })?;
    filled.release()?;
    filled.end(3)?;
    rescued(rig, &overtake, 1)
}

/// Several copies: the carrier stands still behind the first kernel, so none of the others is ever seen to be ready.
pub fn ends_behind_several(rig: &Rig) -> Outcome {
    let overtake = bed::open(rig, options())?;
    let filled = Filled::new(rig, &overtake)?;
    filled.begin(3, 4)?;
    filled.release()?;
    filled.end(4)?;
    rescued(rig, &overtake, 3)
}

/// Copies that wait for the bulk copy stand in every copy queue when its kernel is overdue. A rescue would stand behind
/// them, and they would wait for it: it is left to the kernel, which begins when there is a multiprocessor.
pub fn ends_with_every_queue_behind_it(rig: &Rig) -> Outcome {
    let overtake = bed::open(rig, options())?;
    let filled = Filled::new(rig, &overtake)?;
    for (content, blocks) in [(9, false), (10, true)] {
        let word = rig.word();
        filled.begin_until(word.address, 1, content)?;
        filled.occupy_the_queues(None)?;
        rig.driver().host().sleep(LONG);
        let blocking = blocks.then(|| overtake.blocking());
        word.store(1);
        filled.end(content)?;
        drop(blocking);
    }
    rescued(rig, &overtake, 0)
}

/// The same when the layer closes meanwhile: no thread looks after the copy any more.
pub fn closes_with_every_queue_behind_it(rig: &Rig) -> Outcome {
    let overtake = bed::open(rig, options())?;
    let filled = Filled::new(rig, &overtake)?;
    let word = rig.word();
    filled.begin_until(word.address, 1, 11)?;
    filled.occupy_the_queues(None)?;
    let opener = rig.spawn("opener", move |driver| {
        driver.host().sleep(LONG);
        word.store(1);
        Ok(())
    });
    drop(overtake);
    rig.join(opener)?;
    filled.end(11)
}

/// Copies that wait for something else stand in every copy queue for a while: the rescue is made when they have gone.
pub fn ends_when_the_queues_are_free(rig: &Rig) -> Outcome {
    let overtake = bed::open(rig, options())?;
    let filled = Filled::new(rig, &overtake)?;
    let gate = rig.new_gate();
    filled.begin(1, 12)?;
    filled.occupy_the_queues(Some(&gate))?;
    rig.driver().host().sleep(LONG);
    same("rescued behind copies that wait", &overtake.statistics().guard_rescues, &0)?;
    gate.open();
    filled.release()?;
    filled.end(12)?;
    rescued(rig, &overtake, 1)
}

/// Copies in both directions. The carrier is reused when its cancelled kernels have ended.
pub fn ends_both_ways(rig: &Rig) -> Outcome {
    let overtake = bed::open(rig, options())?;
    let filled = Filled::new(rig, &overtake)?;
    filled.begin(1, 5)?;
    let gate = rig.gate(filled.stream.raw())?;
    filled.overwrite()?;
    filled.bring_back()?;
    filled.release()?;
    rig.driver().host().sleep(hal::Nanos::from_ms(60));
    gate.open();
    filled.stream.synchronize()?;
    // A rescue that does not wait for its turn in the stream misses the bytes that were written between the two.
    let mut expected = vec![5; BYTES as usize];
    expected[..4].copy_from_slice(&1u32.to_le_bytes());
    same_bytes("the bytes that came back", &filled.brought_back(), &expected)?;
    rescued(rig, &overtake, 2)?;
    let host = rig.driver().host();
    for _ in 0..20 {
        host.sleep(hal::Nanos::from_ms(2));
        let again = filled.bring_back()?;
        again.wait()?;
        if again.plan() == (Plan::Kernel { raises: false }) {
            return rescued(rig, &overtake, 2);
        }
    }
    Err(Failure::new("the carrier takes nothing any more"))
}

/// A thread that is about to block inside the driver, and keeps others out, first takes over every copy that might
/// need a rescue.
pub fn blocking(rig: &Rig) -> Outcome {
    let mut options = options();
    options.guard.patience = hal::Nanos::from_ms(60_000);
    let overtake = bed::open(rig, options)?;
    let filled = Filled::new(rig, &overtake)?;
    let (guarded, natively) = (Plan::Kernel { raises: false }, Plan::Native(Reason::Occupied));
    let blocking = overtake.blocking();
    same("the plan with nothing under way", &filled.bring_back()?.plan(), &natively)?;
    filled.stream.synchronize()?;
    drop(blocking);
    let bulk = filled.begin(2, 6)?;
    same("the plan before", &bulk[0].plan(), &guarded)?;
    filled.release()?;
    let blocking = overtake.blocking();
    same("the plan meanwhile", &filled.bring_back()?.plan(), &natively)?;
    filled.end(6)?;
    drop(blocking);
    rescued(rig, &overtake, 2)
}

/// Copies that use memory which is about to be freed in stream order are taken over first, if the copy engine could
/// not make them afterwards. A free of other memory takes nothing over.
pub fn freeing(rig: &Rig) -> Outcome {
    let mut options = options();
    options.guard.patience = hal::Nanos::from_ms(60_000);
    let overtake = bed::open(rig, options)?;
    let filled = Filled::new(rig, &overtake)?;
    let elsewhere = rig.buffer(BYTES)?;
    filled.begin(2, 8)?;
    overtake.freeing(elsewhere.base);
    same("rescued for memory that no copy touches", &overtake.statistics().guard_rescues, &0)?;
    overtake.freeing(filled.target.base);
    same("rescued for memory that copies touch", &overtake.statistics().guard_rescues, &2)?;
    filled.release()?;
    filled.end(8)?;
    rescued(rig, &overtake, 2)
}

/// Copies that are not ready are not taken over by a thread that is about to block. No other thread takes anything
/// over while that thread may be inside the driver, because its copy could not enter.
pub fn left_alone(rig: &Rig) -> Outcome {
    let overtake = bed::open(rig, options())?;
    let filled = Filled::new(rig, &overtake)?;
    let gate = rig.gate(filled.stream.raw())?;
    let bulk = filled.begin(1, 7)?;
    same("the plan", &bulk[0].plan(), &Plan::Kernel { raises: false })?;
    let blocking = overtake.blocking();
    gate.open();
    rig.driver().host().sleep(hal::Nanos::from_ms(60));
    drop(overtake.blocking());
    same("rescued meanwhile", &overtake.statistics().guard_rescues, &0)?;
    drop(blocking);
    filled.release()?;
    filled.end(7)?;
    rescued(rig, &overtake, 1)
}

/// A stream has a carrier while it has guarded copies queued. If no carrier is free, copies go natively.
pub fn a_carrier_for_each(rig: &Rig) -> Outcome {
    let overtake = bed::open(rig, options())?;
    let _high = overtake.adopt(rig.stream()?, level(3))?;
    let lows = (0..3).map(|_| Ok(overtake.adopt(rig.stream()?, level(1))?));
    let mut lows = lows.collect::<Result<Vec<_>, Failure>>()?;
    let memory = (rig.pinned(BYTES)?, rig.buffer(BYTES)?);
    let copy = |stream: &PriorityStream| raw::htod(stream, memory.1, &memory.0, BYTES);
    let gates = [rig.gate(lows[0].raw())?, rig.gate(lows[1].raw())?];
    let (guarded, natively) = (Plan::Kernel { raises: false }, Plan::Native(Reason::Occupied));
    let plans = |expected: [Plan; 3]| -> Outcome {
        for (stream, plan) in lows.iter().zip(expected) {
            same("the plan", &copy(stream)?.plan(), &plan)?;
        }
        Ok(())
    };
    plans([guarded, guarded, natively])?;
    plans([guarded, guarded, natively])?;
    lows[2].synchronize()?;
    gates[0].open();
    lows[0].synchronize()?;
    // A call with the handle of a destroyed stream counts as another stream, and every carrier is taken again.
    let handle = lows[1].raw();
    drop(lows.remove(1));
    let stranger = overtake.adopt(handle, level(1))?;
    let gate = rig.gate(lows[0].raw())?;
    same("the plan of the first", &copy(&lows[0])?.plan(), &guarded)?;
    same("the plan of a stranger", &copy(&stranger)?.plan(), &natively)?;
    gate.open();
    lows[0].synchronize()?;
    same("the plan with a free carrier", &copy(&lows[1])?.plan(), &guarded)?;
    gates[1].open();
    stranger.synchronize()?;
    lows.iter().try_for_each(PriorityStream::synchronize)?;
    bed::at_rest(rig, &overtake)
}

/// The legacy stream, and the per-thread streams of two threads: neither of the latter waits for the other.
pub fn default_streams(rig: &Rig) -> Outcome {
    let overtake = Arc::new(bed::open(rig, options())?);
    let _high = overtake.adopt(rig.stream()?, level(3))?;
    for stream in [Stream::DEFAULT, Stream::LEGACY] {
        let legacy = overtake.adopt(stream, level(1))?;
        let (there, back) = (rig.pinned_of(&vec![7; BYTES as usize])?, rig.pinned(BYTES)?);
        let between = rig.buffer(BYTES)?;
        raw::htod(&legacy, between, &there, BYTES)?;
        raw::linear(&legacy, (Side::Host(&back), 0), (Side::Device(between), 0), BYTES, None)?;
        legacy.synchronize()?;
        same_bytes("the bytes that came back", &back.read_all(), &vec![7; BYTES as usize])?;
    }
    let gate = rig.gate(Stream::PER_THREAD)?;
    let mine = overtake.adopt(Stream::PER_THREAD, level(1))?;
    let memory = (rig.pinned(BYTES)?, rig.buffer(BYTES)?);
    let held = raw::htod(&mine, memory.1, &memory.0, BYTES)?;
    let (its, other, context) = (Arc::clone(&overtake), (rig.pinned(BYTES)?, rig.buffer(BYTES)?), rig.context());
    let thread = rig.spawn("another thread", move |driver| {
        driver.context_set_current(Some(context))?;
        let its = its.adopt(Stream::PER_THREAD, level(1))?;
        raw::htod(&its, other.1, &other.0, BYTES)?;
        Ok(its.synchronize()?)
    });
    rig.join(thread)?;
    ensure!(!crate::traffic::is_done(&held)?, "the gate is open");
    gate.open();
    mine.synchronize()?;
    bed::at_rest(rig, &overtake)
}

/// A thread that is about to block in the driver does not wait for copies that stand behind a running copy. They
/// cannot begin before that has ended, so waiting would tell nothing.
pub fn behind_a_copy_that_is_made(rig: &Rig) -> Outcome {
    const LARGE_BYTES: u64 = 32 << 20;
    let overtake = bed::open(rig, options())?;
    let (low, _high) = (overtake.adopt(rig.stream()?, level(1))?, overtake.adopt(rig.stream()?, level(3))?);
    let (source, target, host) = (rig.pinned(LARGE_BYTES)?, rig.buffer(LARGE_BYTES)?, rig.driver().host());
    for _ in 0..3 {
        let copy = raw::htod(&low, target, &source, LARGE_BYTES)?;
        same("the plan", &copy.plan(), &Plan::Kernel { raises: false })?;
    }
    host.sleep(hal::Nanos::from_us(200));
    let before = host.now();
    let blocking = overtake.blocking();
    let took = host.now().since(before);
    drop(blocking);
    low.synchronize()?;
    ensure!(took < hal::Nanos::from_us(100), "a thread waited {took} before it entered the driver");
    rescued(rig, &overtake, 0)
}
