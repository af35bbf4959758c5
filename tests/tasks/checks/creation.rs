//! After warm-up no call makes or frees a stream, an event, memory or a module: such calls wait for the device.

use std::sync::Arc;

use hal::{Code, Driver};
use overtake::Priority;
use overtake::dispatch::DispatchOptions;
use overtake::task::{Handle, Lane, More};

use crate::bed::{self, Bed};
use crate::failure::{Failure, Outcome, ensure, same};
use crate::faulty::Faulty;
use crate::memory::Pinned;
use crate::place::Buffer;
use crate::raw;
use crate::rig::Rig;

/// Tasks before the count begins, and counted ones.
const TASKS: [usize; 2] = [100, 10_000];
/// The caller waits after so many frames.
const FRAMES_UNDER_WAY: usize = 12;
const TASKS_OF_A_FRAME: usize = 6;
/// A few go by kernel beside the stream, if a more urgent copy is expected.
const BYTES: [u64; 4] = [4 << 10, 4 << 10, 4 << 10, 256 << 10];

/// Calls that make or free something.
const MAKING: [&str; 18] = [
    "context_create",
    "context_destroy",
    "event_create",
    "event_destroy",
    "graph_destroy",
    "host_alloc",
    "host_free",
    "host_register",
    "host_unregister",
    "mem_alloc",
    "mem_alloc_async",
    "mem_free",
    "mem_free_async",
    "module_load",
    "module_unload",
    "primary_context_retain",
    "stream_create",
    "stream_destroy",
];

/// The memory of a frame.
type Memory = (Arc<Pinned>, Buffer);

/// Upload, two kernels beside each other, one after both, download, a function of the host.
fn frame(bed: &Bed, (host, device): &Memory, number: usize) -> Result<Handle, Failure> {
    let priority = Priority::new([1, 4, 8][number % 3]).expect("a priority");
    let (bytes, device) = (BYTES[number % BYTES.len()], *device);
    let (source, target, add) = (Arc::clone(host), Arc::clone(host), bed.kernels.add.clone());
    let upload = bed.tasks.upload("upload", move |lane: &mut Lane<'_>| {
        raw::upload(lane, device, &source, bytes)?;
        Ok(More::Done)
    });
    let upload = upload.priority(priority).submit()?;
    let kernel = |number: u64| {
        let add = add.clone();
        let launch = move |lane: &mut Lane<'_>| {
            raw::word(lane, &add, device.at(number * 64), 1)?;
            Ok(More::Done)
        };
        bed.tasks.kernel("add", launch).priority(priority)
    };
    let beside = [kernel(0).after(&upload).submit()?, kernel(1).after(&upload).submit()?];
    let join = kernel(2).after(&beside[0]).after(&beside[1]).submit()?;
    let download = bed.tasks.download("download", move |lane: &mut Lane<'_>| {
        raw::download(lane, &target, device, bytes)?;
        Ok(More::Done)
    });
    let download = download.priority(priority).after(&join).submit()?;
    Ok(bed.tasks.host("read", || Ok(())).priority(priority).after(&download).submit()?)
}

pub fn none_after_warm_up(rig: &Rig) -> Outcome {
    let counting = Faulty::new(rig.shared_driver(), Code::UNKNOWN);
    let driver: Arc<dyn Driver> = Arc::clone(&counting) as Arc<dyn Driver>;
    let bed = bed::open_on(rig, &driver, DispatchOptions::default())?;
    let memory = (0..FRAMES_UNDER_WAY).map(|_| Ok((rig.pinned(256 << 10)?, rig.buffer(256 << 10)?)));
    let memory = memory.collect::<Result<Vec<Memory>, Failure>>()?;
    let making = || counting.made().into_iter().filter(|(name, _)| MAKING.contains(name)).collect::<Vec<_>>();
    let run = |tasks: usize| -> Outcome {
        for first in (0..tasks / TASKS_OF_A_FRAME).step_by(FRAMES_UNDER_WAY) {
            let frames = memory.iter().enumerate().map(|(place, memory)| frame(&bed, memory, first + place));
            let frames = frames.collect::<Result<Vec<_>, _>>()?;
            frames.iter().try_for_each(Handle::wait)?;
        }
        Ok(bed.tasks.wait()?)
    };
    run(TASKS[0])?;
    let made = making();
    ensure!(!made.is_empty(), "opening makes streams and events");
    run(TASKS[1])?;
    same("the calls that make or free something", &making(), &made)?;
    ensure!(bed.dispatcher.statistics().joins > 1000, "the frames join lanes: {:?}", bed.dispatcher.statistics());
    Ok(())
}
