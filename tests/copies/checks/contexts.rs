//! Contexts of each kind: which one is current on a thread, and the ways in which they are given back.

use std::sync::Arc;

use hal::{Context, Device, MemoryKind};
use overtake::Overtake;
use overtake::context::CudaContext;

use crate::bed;
use crate::failure::{Failure, Outcome, ensure, same};
use crate::lane::level;
use crate::rig::Rig;

fn own(rig: &Rig) -> Result<CudaContext, Failure> {
    Ok(CudaContext::create(rig.shared_driver(), Device(0))?)
}

fn current_is(rig: &Rig, when: &str, expected: Context) -> Outcome {
    same(when, &rig.driver().context_current()?, &Some(expected))
}

/// Guards nest in any mixture, and each brings back the context before it.
pub fn guards_nest(rig: &Rig) -> Outcome {
    let (own, home) = (own(rig)?, CudaContext::adopt(rig.shared_driver(), rig.context())?);
    current_is(rig, "a new context is not current", rig.context())?;
    {
        let _first = own.enter()?;
        current_is(rig, "after one guard", own.raw())?;
        {
            let (_second, third) = (own.enter()?, home.enter()?);
            current_is(rig, "the other one within", home.raw())?;
            ensure!(home.is_current() && !own.is_current(), "one context is current");
            drop(third);
            current_is(rig, "after the innermost guard", own.raw())?;
        }
        current_is(rig, "a guard of the current context changes nothing", own.raw())?;
    }
    current_is(rig, "after all guards", rig.context())?;
    rig.driver().context_set_current(None)?;
    drop(own.enter()?);
    let none = rig.driver().context_current()?;
    rig.driver().context_set_current(Some(rig.context()))?;
    same("no context before, and none after", &none, &None)
}

/// A guard is of its thread: another thread enters for itself, and keeps its own context afterwards.
pub fn each_thread_enters(rig: &Rig) -> Outcome {
    let own = own(rig)?;
    let entered = own.enter()?;
    let theirs = own.clone();
    let thread = rig.spawn("enterer", move |driver| {
        driver.context_set_current(None)?;
        let entered = theirs.enter()?;
        same("entered", &driver.context_current()?, &Some(theirs.raw()))?;
        drop(entered);
        same("left", &driver.context_current()?, &None)
    });
    rig.join(thread)?;
    ensure!(own.is_current(), "the other thread's guard has no effect here");
    drop(entered);
    Ok(())
}

/// A context of one's own goes with its last clone, and its memory with it. An adopted one stays.
pub fn given_back_by_kind(rig: &Rig) -> Outcome {
    let driver = rig.driver();
    let own = own(rig)?;
    let memory = own.call(|driver| driver.mem_alloc(4096))?;
    let adopted = CudaContext::adopt(rig.shared_driver(), own.raw())?;
    same("the device of a lent context", &adopted.device()?, &Device(0))?;
    drop(adopted);
    same("its memory when a lender went", &driver.pointer_info(memory.0)?.kind, &MemoryKind::Device)?;
    let clone = own.clone();
    drop(own);
    same("its memory with a clone left", &driver.pointer_info(memory.0)?.kind, &MemoryKind::Device)?;
    clone.validity()?;
    drop(clone);
    same("its memory at the end", &driver.pointer_info(memory.0)?.kind, &MemoryKind::Pageable)?;

    let primary = CudaContext::primary(rig.shared_driver(), Device(0))?;
    same("the primary context", &primary.raw(), &rig.context())?;
    drop(primary);
    Ok(driver.stream_synchronize(rig.stream()?)?)
}

/// The copy layer works in a context of one's own, with another one current on the calling thread.
pub fn layer_in_its_own(rig: &Rig) -> Outcome {
    let own = own(rig)?;
    let overtake = Overtake::open_in(&own, bed::small_options().with_profile(|profile| profile.channels = false))?;
    current_is(rig, "after opening", rig.context())?;
    ensure!(overtake.context() == own.raw(), "it is open in the context that it was given");
    let stream = own.call(|_| overtake.stream(level(1)))?;
    same("the stream's context", &rig.driver().stream_context(stream.raw())?, &own.raw())?;
    drop((stream, overtake));
    current_is(rig, "after closing", rig.context())?;
    ensure!(Arc::ptr_eq(own.driver(), rig.shared_driver()), "a context keeps the driver that it was made with");
    own.validity()?;
    Ok(())
}
