//! Two devices of one dispatcher: each task's work is on its own, and the order between tasks holds across both.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use contexts::CudaContext;
use hal::Device;
use overtake::dispatch::{DispatchOptions, Dispatcher};
use overtake::task::{Handle, Kernel, Lane, More, Recording, Tasks};
use overtake::{Options, Overtake};

use crate::bed::Kernels;
use crate::failure::{Failure, Outcome, ensure, same};
use crate::place::Buffer;
use crate::raw;
use crate::rig::Rig;

const ROUNDS: u32 = 20;

/// A dispatcher on two devices, a kernel that is loaded on both, and a word on each.
struct Two {
    tasks: Tasks,
    dispatcher: Dispatcher,
    add: Kernel,
    words: [Buffer; 2],
    contexts: [hal::Context; 2],
}

impl Two {
    fn open(rig: &Rig, there: &CudaContext, module: hal::Module) -> Result<Two, Failure> {
        let here = CudaContext::primary(rig.shared_driver(), Device(0))?;
        let layer = |context| Ok::<_, Failure>(Arc::new(Overtake::open_in(context, Options::default())?));
        let dispatcher = Dispatcher::open_on(&[layer(&here)?, layer(there)?], DispatchOptions::default())?;
        let near = rig.buffer_of(&[0; 64])?;
        let entered = there.enter()?;
        let far = rig.buffer_of(&[0; 64])?;
        let other = Kernel::find(rig.driver(), module, "soft_atomic_add_u32")?;
        drop(entered);
        let add = Kernels::find(rig)?.add.and_on_next(&other)?;
        let contexts = [here.raw(), there.raw()];
        Ok(Two { tasks: Tasks::new(&dispatcher), dispatcher, add, words: [near, far], contexts })
    }

    /// A task that adds to the word of a device, after these.
    fn adds(&self, device: u8, after: &[Handle]) -> Result<Handle, Failure> {
        let (add, word) = (self.add.clone(), self.words[usize::from(device)]);
        let context = self.contexts[usize::from(device)];
        let task = self.tasks.kernel("adds", move |lane: &mut Lane<'_>| {
            if lane.driver().context_current()? != Some(context) {
                return Err("another context is current".into());
            }
            raw::word(lane, &add, word.at(0), u32::from(lane.device()) * 99 + 1)?;
            Ok(More::Done)
        });
        Ok(task.on(device).after(after).submit()?)
    }

    /// A task that copies the word of one device to the other.
    fn moves(&self, from: u8, after: &Handle) -> Result<Handle, Failure> {
        let [source, target] = [from, 1 - from].map(|device| self.words[usize::from(device)]);
        let task = self.tasks.kernel("moves", move |lane: &mut Lane<'_>| {
            raw::between(lane, target, source, 4)?;
            Ok(More::Done)
        });
        Ok(task.on(1 - from).after(after).submit()?)
    }
}

/// A word goes from device to device, and grows on each. The tasks are submitted before the first has run.
fn goes_round(rig: &Rig, there: &CudaContext, module: hal::Module) -> Outcome {
    let two = Two::open(rig, there, module)?;
    let hold = two.tasks.join("begin").held().submit()?;
    let mut last = two.adds(0, std::slice::from_ref(&hold))?;
    for _ in 0..ROUNDS {
        for from in [0, 1] {
            let moved = two.moves(from, &last)?;
            last = two.adds(1 - from, &[moved])?;
        }
    }
    hold.release()?;
    last.wait()?;
    let target = rig.pinned(64)?;
    let (to, from) = (Arc::clone(&target), two.words[0]);
    let down = two.tasks.download("down", move |lane: &mut Lane<'_>| {
        raw::download(lane, &to, from, 4)?;
        Ok(More::Done)
    });
    down.after(&last).submit()?.wait()?;
    same("the word", &target.word32(0).load(Ordering::Acquire), &(1 + ROUNDS * 101))?;
    same("nodes that are left", &two.dispatcher.graph_statistics().nodes, &0)
}

pub fn the_order_holds_across_them(rig: &Rig) -> Outcome {
    on_two(rig, goes_round)
}

/// Two replays of one template, each on its device, one behind the other.
pub fn replays_on_each(rig: &Rig) -> Outcome {
    on_two(rig, |rig, there, module| {
        let two = Two::open(rig, there, module)?;
        let mut recording = Recording::<(Kernel, Buffer, hal::Context)>::new();
        let first = recording.kernel("first", &[], |lane, (add, word, context)| {
            if lane.driver().context_current()? != Some(*context) {
                return Err("another context is current".into());
            }
            raw::word(lane, add, word.at(0), u32::from(lane.device()) + 1)?;
            Ok(More::Done)
        });
        recording.kernel("second", &[first], |lane, (add, word, _)| {
            raw::word(lane, add, word.at(0), 10)?;
            Ok(More::Done)
        });
        let template = recording.finish()?;
        let replay = |device: u8| {
            let (word, context) = (two.words[usize::from(device % 2)], two.contexts[usize::from(device % 2)]);
            template.replay(&two.tasks, (two.add.clone(), word, context)).on(device)
        };
        let near = replay(0).submit()?;
        let far = replay(1).after(&near).submit()?;
        far.wait()?;
        let refused = replay(2).submit().map(drop).expect_err("there are two");
        ensure!(refused.to_string().contains("a device that is not there"), "{refused}");
        let target = rig.pinned(64)?;
        let (to, from) = (Arc::clone(&target), two.words[1]);
        let down = two.tasks.download("down", move |lane: &mut Lane<'_>| {
            raw::download(lane, &to, from, 4)?;
            Ok(More::Done)
        });
        down.on(1).after(&far).submit()?.wait()?;
        same("the word of the second", &target.word32(0).load(Ordering::Acquire), &12)
    })
}

/// Of a device that the dispatcher has not, a task is refused, and a kernel fails where it is not loaded.
pub fn one_that_is_not_there(rig: &Rig) -> Outcome {
    on_two(rig, |rig, there, module| {
        let two = Two::open(rig, there, module)?;
        let ran = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&ran);
        let third = two.tasks.kernel("third", move |_: &mut Lane<'_>| {
            count.fetch_add(1, Ordering::Relaxed);
            Ok(More::Done)
        });
        let refused = third.on(2).submit().map(drop).expect_err("there are two");
        ensure!(refused.to_string().contains("a device that is not there"), "{refused}");
        let (add, word) = (Kernels::find(rig)?.add, two.words[1]);
        let elsewhere = two.tasks.kernel("elsewhere", move |lane: &mut Lane<'_>| {
            raw::word(lane, &add, word.at(0), 1)?;
            Ok(More::Done)
        });
        let failed = elsewhere.on(1).submit()?.wait().expect_err("it is loaded on the first only");
        ensure!(failed.to_string().contains("it is not loaded on device 1"), "{failed}");
        two.adds(1, &[])?.wait()?;
        same("runs of the refused task", &ran.load(Ordering::Relaxed), &0)
    })
}

/// Runs a check with the context of the second device, and a module in it, if there is one.
fn on_two(rig: &Rig, check: impl FnOnce(&Rig, &CudaContext, hal::Module) -> Outcome) -> Outcome {
    if rig.driver().device_count()? < 2 {
        return Ok(());
    }
    rig.other_context(Device(1))?;
    let there = CudaContext::primary(rig.shared_driver(), Device(1))?;
    let module = there.call(|driver| driver.module_load(softgpu::BUILTIN_PTX.as_bytes()))?;
    let outcome = check(rig, &there, module);
    there.call(|driver| driver.module_unload(module))?;
    outcome
}
