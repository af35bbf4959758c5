//! The copy service on a driver that counts its calls, and fails them.

use std::sync::Arc;

use hal::{Code, Driver, Function};
use overtake::copy::{CopyQueue, Plan, Reason};
use overtake::{Options, Overtake, PriorityStream};

use super::{Held, on};
use crate::bed;
use crate::checks::guard;
use crate::failure::{Failure, Outcome, ensure, same, same_bytes};
use crate::faulty::{Faulty, INJECTED};
use crate::lane::level;
use crate::memory::Pinned;
use crate::place::{Buffer, Side};
use crate::raw;
use crate::rig::Rig;

const COPIES: u64 = 100;
const BYTES: u64 = 4 << 10;
const ALL_BYTES: u64 = COPIES * BYTES;

/// A layer on a driver whose calls fail on demand, with a queue and memory.
struct Bed<'a> {
    rig: &'a Rig,
    faulty: Arc<Faulty>,
    overtake: Overtake,
    stream: PriorityStream,
    host: Arc<Pinned>,
    back: Arc<Pinned>,
    device: Buffer,
}

impl<'a> Bed<'a> {
    fn new(rig: &'a Rig, options: Options) -> Result<Bed<'a>, Failure> {
        let faulty = Faulty::new(rig.shared_driver(), Code::OUT_OF_MEMORY);
        let driver: Arc<dyn Driver> = Arc::clone(&faulty) as Arc<dyn Driver>;
        let overtake = Overtake::open(&driver, hal::Device(0), options)?;
        let stream = overtake.adopt(rig.stream()?, level(1))?;
        let (host, back) = (rig.pinned(ALL_BYTES)?, rig.pinned(ALL_BYTES)?);
        Ok(Bed { rig, faulty, overtake, stream, host, back, device: rig.buffer(ALL_BYTES)? })
    }

    fn queue(&self) -> hal::Result<CopyQueue> {
        CopyQueue::new(&self.stream, COPIES as usize)
    }

    fn enqueue(&self, queue: &mut CopyQueue, to_device: bool) -> hal::Result<()> {
        (0..COPIES).map(|index| index * BYTES).try_for_each(|at| match to_device {
            true => raw::queue(queue, (Side::Device(self.device), at), (Side::Host(&self.host), at), BYTES),
            false => raw::queue(queue, (Side::Host(&self.back), at), (Side::Device(self.device), at), BYTES),
        })
    }

    /// Copies all bytes to the device and back.
    fn round(&self, queue: &mut CopyQueue, content: u8) -> Outcome {
        self.stream.synchronize()?;
        self.host.write(0, &[content; ALL_BYTES as usize]);
        for to_device in [true, false] {
            self.enqueue(queue, to_device)?;
            queue.flush()?;
        }
        self.stream.synchronize()?;
        same_bytes("the bytes", &self.back.read_all(), &[content; ALL_BYTES as usize])
    }
}

/// However many copies there are, the driver gets one launch, and a few calls besides: the allocations are asked for
/// once.
pub fn one_launch() -> Outcome {
    on(
        |builder| builder,
        |_, rig| {
            let bed = Bed::new(rig, Options::default())?;
            let mut queue = bed.queue()?;
            bed.round(&mut queue, 1)?;
            let launches = || bed.faulty.made().get("launch").copied();
            let before = launches();
            bed.faulty.fail(0);
            bed.enqueue(&mut queue, true)?;
            queue.flush()?;
            let calls = bed.faulty.calls();
            same("launches", &launches(), &before.map(|before| before + 1))?;
            ensure!(calls <= 12, "{calls} calls for {COPIES} copies");
            bed.stream.synchronize()?;
            bed::at_rest(rig, &bed.overtake)
        },
    )
}

/// Once it is warm, a queue makes no memory, stream, event or module, and frees none.
pub fn makes_nothing() -> Outcome {
    let makes: &'static [&'static str] = &[
        "host_alloc",
        "host_free",
        "host_register",
        "host_unregister",
        "mem_alloc",
        "mem_free",
        "module_load",
        "module_unload",
        "stream_create",
        "stream_destroy",
        "event_create",
        "event_destroy",
    ];
    on(
        |builder| builder,
        |_, rig| {
            for options in [Options::default(), guard::options()] {
                let bed = Bed::new(rig, options)?;
                let mut queue = bed.queue()?;
                bed.round(&mut queue, 1)?;
                bed.faulty.refuse(makes);
                for round in 0..100 {
                    bed.round(&mut queue, round)?;
                }
                queue.reset(&bed.stream, 1)?;
                bed.faulty.refuse(&[]);
                let statistics = bed.overtake.statistics();
                same("launches and errors", &(statistics.service_launches, statistics.errors), &(202, 0))?;
                drop(queue);
                bed::at_rest(rig, &bed.overtake)?;
            }
            Ok(())
        },
    )
}

/// A driver that refuses the kernel makes the copies one by one, and they are counted with that reason.
pub fn without_its_kernel() -> Outcome {
    on(
        |builder| builder,
        |_, rig| {
            let bed = Bed::new(rig, Options::default())?;
            bed.faulty.refuse(&["module_load"]);
            let mut queue = bed.queue()?;
            bed.round(&mut queue, 9)?;
            bed.enqueue(&mut queue, true)?;
            let handle = queue.flush()?.ok_or_else(|| Failure::new("nothing was flushed"))?;
            same("the plan", &handle.plan(), &Plan::Native(Reason::NoKernel))?;
            bed.stream.synchronize()?;
            let statistics = bed.overtake.statistics();
            same("copies counted", &statistics.native[&Reason::NoKernel].copies, &(3 * COPIES))?;
            same("launches and errors", &(statistics.service_launches, statistics.errors), &(0, 1))
        },
    )
}

/// A layer that closes while its batches wait frees their memory, and not before they are through.
pub fn leaves_nothing() -> Outcome {
    on(
        |builder| builder,
        |gpu, rig| {
            for options in [Options::default(), guard::options()] {
                let held = Held::by(gpu);
                let bed = Bed::new(rig, options)?;
                let mut queue = bed.queue()?;
                bed.round(&mut queue, 1)?;
                bed.host.write(0, &[2; ALL_BYTES as usize]);
                let gate = rig.gate(bed.stream.raw())?;
                for to_device in [true, false] {
                    bed.enqueue(&mut queue, to_device)?;
                    queue.flush()?;
                }
                let opener = rig.open_later(&gate);
                let Bed { overtake, stream, back, .. } = bed;
                drop((overtake, stream));
                drop(queue);
                rig.join(opener)?;
                rig.driver().context_synchronize()?;
                same_bytes("the bytes", &back.read_all(), &[2; ALL_BYTES as usize])?;
                let rigs = Held { allocations: held.allocations + 3, streams: held.streams + 1, ..held };
                same("the objects after closing", &Held::by(gpu), &rigs)?;
            }
            Ok(())
        },
    )
}

/// Opens a queue and uses it while the `nth` call fails; then it works, and nothing is left. Returns the calls.
fn once(rig: &Rig, options: &Options, nth: u64) -> Result<u64, Failure> {
    let bed = Bed::new(rig, options.clone())?;
    // Other copies meet these, so that the batches raise or wait.
    let _others = [2, 3].map(|number| rig.stream().map(|stream| bed.overtake.adopt(stream, level(number))));
    let spin = rig.kernels()?.spin;
    bed.faulty.fail(nth);
    let tried = try_it(&bed, spin);
    let calls = bed.faulty.calls();
    bed.faulty.fail(0);
    if let Err(failure) = tried {
        ensure!(failure.to_string().contains(INJECTED), "call {nth} ({:?}): {failure}", bed.faulty.failed());
    }
    let at = |e: Failure| Failure::from_text(format!("call {nth} ({:?}) failed: {e}", bed.faulty.failed()));
    bed.stream.synchronize().map_err(|e| at(e.into()))?;
    let mut queue = bed.queue().map_err(|e| at(e.into()))?;
    bed.round(&mut queue, 77).map_err(at)?;
    drop(queue);
    bed::at_rest(rig, &bed.overtake).map_err(at)?;
    Ok(calls)
}

/// Three batches of copies and sets behind a kernel.
fn try_it(bed: &Bed<'_>, spin: Function) -> Outcome {
    let mut queue = bed.queue()?;
    (0..3).try_for_each(|_| {
        bed.rig.launch_spin(spin, 100_000, bed.stream.raw())?;
        bed.enqueue(&mut queue, true)?;
        queue.flush()?;
        raw::queue_set(&mut queue, (Side::Device(bed.device), 3), 0x0102_0304, 77)?;
        raw::queue_set(&mut queue, (Side::Device(bed.device), 100), 0x0102_0304, 80 << 10)?;
        Ok(queue.flush().map(drop)?)
    })
}

fn every_call_with(options: &Options) -> Outcome {
    let (mut calls, mut nth) = (1, 0);
    while nth <= calls {
        on(
            |builder| builder,
            |_, rig| {
                let made = once(rig, options, nth)?;
                calls = if nth == 0 { made } else { calls };
                Ok(())
            },
        )?;
        nth += 1;
    }
    ensure!((40..5_000).contains(&calls), "the program makes {calls} calls");
    Ok(())
}

/// Every call of loading, of queues and of flushes fails once.
pub fn every_call() -> Outcome {
    every_call_with(&bed::small_options())
}

/// The same under the guard.
pub fn every_call_guarded() -> Outcome {
    every_call_with(&guard::options())
}
