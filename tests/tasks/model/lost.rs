//! A copy that is lost after its launch: its task fails, and so do those after it, whose results are not there.

use std::sync::Arc;

use hal::{Code, Device, Driver, Nanos};
use overtake::dispatch::{DispatchOptions, Dispatcher};
use overtake::task::{Error, Lane, More, Recording, Tasks};
use overtake::{Options, Overtake, Priorities};

use crate::bed::{self, Kernels};
use crate::failure::{Failure, Outcome, ensure, same};
use crate::faulty::Faulty;
use crate::raw;

const BYTES: u64 = 1 << 20;
/// So few that they go natively.
const SMALL_BYTES: u64 = 4 << 10;
/// Longer than a copy kernel may be overdue.
const OCCUPIED: Nanos = Nanos::from_ms(60);

/// Neither the kernel of a bulk copy, for which there is no multiprocessor, nor the copy engine makes it.
pub fn a_lost_copy_fails_its_task() -> Outcome {
    super::on(|rig| {
        let faulty = Faulty::new(rig.shared_driver(), Code::OUT_OF_MEMORY);
        let driver: Arc<dyn Driver> = Arc::clone(&faulty) as Arc<dyn Driver>;
        let (overtake, dispatcher) = open(&driver)?;
        let (tasks, kernels) = (Tasks::new(&dispatcher), Kernels::find(rig)?);
        // Bulk goes by guarded kernel while urgent copies are expected.
        let _expected = overtake.expect(bed::urgent(), None)?;
        raw::occupy(rig.driver(), rig.kernels()?.spin, OCCUPIED, rig.stream()?)?;
        rig.driver().host().sleep(Nanos::from_us(200));

        let (target, source) = (rig.buffer(BYTES)?, rig.pinned(BYTES)?);
        let bulk = tasks.upload("bulk", move |lane: &mut Lane<'_>| {
            raw::upload(lane, target, &source, BYTES)?;
            Ok(More::Done)
        });
        let bulk = bulk.submit()?;
        let spin = |name: &'static str| {
            let spin = kernels.spin.clone();
            tasks.kernel(name, move |lane: &mut Lane<'_>| {
                raw::spin(lane, &spin, Nanos::from_us(10))?;
                Ok(More::Done)
            })
        };
        let needs = spin("needs").after(&bulk).submit()?;
        let beside = spin("beside").submit()?;
        let tells = tasks.host("tells", || Ok(())).after(&needs).submit()?;
        ensure!(needs.is_launched(), "it does not wait on the host");
        faulty.refuse(&["copy_htod_async", "launch"]);

        let error = bulk.wait().expect_err("its copy is lost");
        let text = error.to_string();
        ensure!(text.contains("task \"bulk\" failed") && text.contains("could not be made"), "{text}");
        ensure!(matches!(error, Error::Failed(_)), "{text}");
        for task in [&needs, &tells] {
            let error = task.wait().expect_err("its results are not there");
            let Error::NotRun { fault, .. } = &error else { return Err(Failure::new(error)) };
            same("because of", &fault.task, &"\"bulk\"".to_owned())?;
        }
        beside.wait()?;
        faulty.refuse(&[]);
        same("lost copies", &overtake.statistics().lost, &1)?;
        ensure!(!dispatcher.statistics().is_device_lost, "the device goes on");
        Ok(spin("next").submit()?.wait()?)
    })
}

/// The same of the second copy of a replay, which is one task: the error tells of its step.
pub fn a_lost_copy_of_a_replay_fails_its_step() -> Outcome {
    super::on(|rig| {
        let faulty = Faulty::new(rig.shared_driver(), Code::OUT_OF_MEMORY);
        let driver: Arc<dyn Driver> = Arc::clone(&faulty) as Arc<dyn Driver>;
        let (overtake, dispatcher) = open(&driver)?;
        let tasks = Tasks::new(&dispatcher);
        let _expected = overtake.expect(bed::urgent(), None)?;
        raw::occupy(rig.driver(), rig.kernels()?.spin, OCCUPIED, rig.stream()?)?;
        rig.driver().host().sleep(Nanos::from_us(200));

        let mut recording = Recording::new();
        let small = (rig.buffer(SMALL_BYTES)?, rig.pinned(SMALL_BYTES)?);
        let first = recording.upload("small", &[], move |lane, ()| {
            raw::upload(lane, small.0, &small.1, SMALL_BYTES)?;
            Ok(More::Done)
        });
        let (target, source) = (rig.buffer(BYTES)?, rig.pinned(BYTES)?);
        let second = recording.upload("bulk", &[first], move |lane, ()| {
            raw::upload(lane, target, &source, BYTES)?;
            Ok(More::Done)
        });
        recording.kernel("kernel", &[second], |_, ()| Ok(More::Done));
        let replay = recording.finish()?.replay(&tasks, ()).submit()?;
        ensure!(replay.is_launched(), "it does not wait on the host");
        faulty.refuse(&["copy_htod_async", "launch"]);
        let error = replay.wait().expect_err("a copy is lost");
        let Error::NotRun { fault, task, .. } = &error else { return Err(Failure::new(error)) };
        same("the end of the replay", task, &"\"kernel\"".to_owned())?;
        same("the step", &fault.task, &"\"bulk\"".to_owned())?;
        faulty.refuse(&[]);
        same("lost copies", &overtake.statistics().lost, &1)?;
        Ok(tasks.wait()?)
    })
}

fn open(driver: &Arc<dyn Driver>) -> Result<(Arc<Overtake>, Dispatcher), Failure> {
    let priorities = Priorities::new(8).expect("8 is a count");
    let options = Options { priorities, ..Options::default() }.with_profile(|profile| {
        profile.channels = false;
        profile.guard_bytes_min = Some(48 << 10);
    });
    let overtake = Arc::new(Overtake::open(driver, Device(0), options)?);
    let dispatcher = Dispatcher::open(&overtake, DispatchOptions::default())?;
    Ok((overtake, dispatcher))
}
