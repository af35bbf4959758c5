//! The cases px-a to px-f of the graph with the product, its streams and its events: in both orders.

use hal::Nanos;
use overtake::dispatch::DispatchOptions;
use overtake::task::{Lane, More, Order};

use crate::bed::{self, Bed};
use crate::failure::{Failure, Outcome, ensure, same};
use crate::log::Log;
use crate::raw;
use crate::rig::Rig;

const ORDERS: [Order; 2] = [Order::Default, Order::PhysX];

fn open(rig: &Rig, order: Order) -> Result<Bed, Failure> {
    bed::open_with(rig, DispatchOptions { order, ..DispatchOptions::default() })
}

/// px-a: two tasks of three launches take turns.
pub fn turns(rig: &Rig) -> Outcome {
    let cases = [["A0", "B0", "A1", "B1", "A2", "B2"], ["B0", "A0", "B1", "A1", "B2", "A2"]];
    for (order, expected) in ORDERS.into_iter().zip(cases) {
        let (bed, log) = (open(rig, order)?, Log::default());
        let group = bed.tasks.group()?;
        bed.tasks.kernel("A", log.turns("A", 3)).submit()?;
        bed.tasks.kernel("B", log.turns("B", 3)).submit()?;
        drop(group);
        bed.tasks.wait()?;
        log.is(&expected)?;
        ensure!(log.lane("A0") != log.lane("B0"), "they are not ordered");
        same("joins", &bed.dispatcher.statistics().joins, &0)?;
    }
    Ok(())
}

/// px-c: copies to the device, kernels, copies to the host.
pub fn phases(rig: &Rig) -> Outcome {
    let cases = [["H1", "H2", "K1", "K2", "D1", "D2"], ["H2", "H1", "K2", "K1", "D2", "D1"]];
    for (order, expected) in ORDERS.into_iter().zip(cases) {
        let (bed, log) = (open(rig, order)?, Log::default());
        let group = bed.tasks.group()?;
        for (upload, kernel, download) in [("H1", "K1", "D1"), ("H2", "K2", "D2")] {
            let first = bed.tasks.upload(upload, log.launch(upload)).submit()?;
            let second = bed.tasks.kernel(kernel, log.launch(kernel)).after(&first).submit()?;
            bed.tasks.download(download, log.launch(download)).after(&second).submit()?;
        }
        drop(group);
        bed.tasks.wait()?;
        log.is(&expected)?;
        same("lanes of a chain", &log.lane("H1"), &log.lane("D1"))?;
        same("joins", &bed.dispatcher.statistics().joins, &0)?;
    }
    Ok(())
}

/// A launch that spins and then adds to a word, with its name noted.
fn adds(
    bed: &Bed,
    log: &Log,
    name: &'static str,
    word: hal::DevicePtr,
    span: Nanos,
) -> impl FnMut(&mut Lane<'_>) -> overtake::task::WorkResult<More> + use<> {
    let (mut note, spin, add) = (log.launch(name), bed.kernels.spin.clone(), bed.kernels.add.clone());
    move |lane| {
        raw::spin(lane, &spin, span)?;
        raw::word(lane, &add, word, 1)?;
        note(lane)
    }
}

/// px-d: of two tasks after one, the first goes on in its lane and the other one joins.
pub fn fork(rig: &Rig) -> Outcome {
    let (bed, log, word) = (open(rig, Order::Default)?, Log::default(), rig.buffer_of(&[0; 64])?);
    let group = bed.tasks.group()?;
    let first = bed.tasks.kernel("A", adds(&bed, &log, "A", word.at(0), Nanos::from_us(200))).submit()?;
    for name in ["B", "C"] {
        // A byte more for the copy of the word that it sees.
        let (kernel, add) = (bed.kernels.store.clone(), bed.kernels.add.clone());
        let mut note = log.launch(name);
        let launch = move |lane: &mut Lane<'_>| {
            raw::word(lane, &kernel, word.at(16), 1)?;
            raw::word(lane, &add, word.at(0), 1)?;
            note(lane)
        };
        bed.tasks.kernel(name, launch).after(&first).submit()?;
    }
    drop(group);
    bed.tasks.wait()?;
    log.is(&["A", "B", "C"])?;
    same("the lane of B", &log.lane("B"), &log.lane("A"))?;
    ensure!(log.lane("C") != log.lane("A"), "it has a lane of its own");
    same("joins", &bed.dispatcher.statistics().joins, &1)?;
    let stream = rig.stream()?;
    same("kernels", &rig.download(word, stream)?[0], &3)
}

/// px-e: a task after two waits for both, on the device.
pub fn join(rig: &Rig) -> Outcome {
    let (bed, log, words) = (open(rig, Order::Default)?, Log::default(), rig.buffer_of(&[0; 64])?);
    let back = rig.pinned_of(&[0; 64])?;
    let group = bed.tasks.group()?;
    // The copy goes on in the lane of the first, and joins that of the second.
    let short = bed.tasks.kernel("short", adds(&bed, &log, "short", words.at(1 << 2), Nanos::from_us(5))).submit()?;
    let long = bed.tasks.kernel("long", adds(&bed, &log, "long", words.at(0), Nanos::from_us(500))).submit()?;
    let (mut note, target) = (log.launch("copy"), std::sync::Arc::clone(&back));
    let copy = bed.tasks.download("copy", move |lane: &mut Lane<'_>| {
        raw::download(lane, &target, words, 64)?;
        note(lane)
    });
    let copy = copy.after(&short).after(&long).submit()?;
    drop(group);
    copy.wait()?;
    same("joins", &bed.dispatcher.statistics().joins, &1)?;
    same("both words", &(back.read(0, 1)[0], back.read(4, 1)[0]), &(1, 1))
}

/// PX-17: all that is submitted after a sync point waits for all before it.
pub fn sync_points(rig: &Rig) -> Outcome {
    let (bed, log, word) = (open(rig, Order::Default)?, Log::default(), rig.buffer_of(&[0; 64])?);
    let back = rig.pinned_of(&[0; 64])?;
    let (spin, add) = (bed.kernels.spin.clone(), bed.kernels.add.clone());
    let group = bed.tasks.group()?;
    let launch = move |lane: &mut Lane<'_>| {
        raw::spin(lane, &spin, Nanos::from_us(300))?;
        raw::word(lane, &add, word.at(0), 1)?;
        lane.sync_point()?;
        Ok(More::Done)
    };
    bed.tasks.kernel("before", launch).submit()?;
    let (mut note, target) = (log.launch("beside"), std::sync::Arc::clone(&back));
    let copy = bed.tasks.download("beside", move |lane: &mut Lane<'_>| {
        raw::download(lane, &target, word, 64)?;
        note(lane)
    });
    // It is no dependent, and goes after the kernel because that is ready first.
    let copy = copy.submit()?;
    drop(group);
    copy.wait()?;
    same("the word", &back.read(0, 1)[0], &1)
}
