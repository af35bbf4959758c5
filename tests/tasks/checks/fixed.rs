//! Fixed templates: their replays are launches of one graph, where that can be.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use hal::locks::lock;
use hal::{Code, Driver, Nanos};
use overtake::dispatch::{DispatchOptions, DispatchStatistics};
use overtake::task::{Handle, Lane, More, Recording, Template, WorkResult};

use super::spans::{COLUMNS, STEPS, Words, columns, read};
use crate::bed::{self, Bed, Kernels};
use crate::failure::{Failure, Outcome, ensure, same};
use crate::faulty::Faulty;
use crate::place::Buffer;
use crate::raw;
use crate::rig::Rig;

/// Replays that are launches of a graph, and those that go by calls.
fn ways(bed: &Bed) -> [u64; 2] {
    let DispatchStatistics { graph_launches, graph_fallbacks, .. } = bed.dispatcher.statistics();
    [graph_launches, graph_fallbacks]
}

/// A bed on a driver that counts its calls.
fn counted(rig: &Rig) -> Result<(Bed, Arc<Faulty>), Failure> {
    let counting = Faulty::new(rig.shared_driver(), Code::UNKNOWN);
    let driver: Arc<dyn Driver> = Arc::clone(&counting) as Arc<dyn Driver>;
    Ok((bed::open_on(rig, &driver, DispatchOptions::default())?, counting))
}

/// The calls of these names so far.
fn calls<const N: usize>(counting: &Faulty, names: [&str; N]) -> [u64; N] {
    let made = counting.made();
    names.map(|name| made.get(name).copied().unwrap_or_default())
}

/// The words are those of the same template by calls, and each replay is one call in place of fifty-six.
pub fn are_launched_as_one(rig: &Rig) -> Outcome {
    const CALLS: [&str; 4] = ["launch", "graph_launch", "stream_begin_capture", "event_record"];
    let (bed, counting) = counted(rig)?;
    let (template, words) = (columns()?, rig.buffer(4096)?);
    let replay = |template: &Template<Words>| template.replay(&bed.tasks, (words, bed.kernels.clone())).submit();
    let [before, ..] = calls(&counting, CALLS);
    let by_calls = replay(&template)?;
    let launches_by_calls = calls(&counting, CALLS)[0] - before;
    let expected = read(rig, &bed, words, &by_calls)?;
    same("the words by calls", &expected, &vec![100 + 2 * (STEPS as u32 - 1); COLUMNS])?;
    let template = raw::fixed(template);
    for round in 0..4 {
        rig.driver().memset_d8_async(words.at(0), 0, 64, rig.stream()?)?;
        rig.driver().context_synchronize()?;
        let before = calls(&counting, CALLS);
        let handle = replay(&template)?;
        let after = calls(&counting, CALLS);
        same("the words", &read(rig, &bed, words, &handle)?, &expected)?;
        let [launches, graphs, captures, records] = [0, 1, 2, 3].map(|call| after[call] - before[call]);
        same("launches of a graph, and captures", &[graphs, captures], &[1, u64::from(round == 0)])?;
        same("launches of kernels", &launches, &if round == 0 { launches_by_calls } else { 0 })?;
        ensure!(round == 0 || records <= 1, "it records {records} events");
    }
    same("replays by graph, and by calls", &ways(&bed), &[4, 0])?;
    bed.tasks.wait()?;
    same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)
}

/// Kernels that add to three words: the last comes after both others, and adds them to its own.
fn adding() -> Recording<Words> {
    adding_behind(Recording::new())
}

fn adding_behind(mut recording: Recording<Words>) -> Recording<Words> {
    let add = |word: u64| move |lane: &mut Lane<'_>, (words, kernels): &Words| adds(lane, *words, kernels, word);
    let both = [0, 1].map(|word| recording.kernel("both", &[], add(word)));
    recording.kernel("last", &both, add(2));
    recording
}

fn adds(lane: &mut Lane<'_>, words: Buffer, kernels: &Kernels, word: u64) -> WorkResult<More> {
    raw::word(lane, &kernels.add, words.at(4 * word), 1)?;
    Ok(More::Done)
}

/// The lanes of a priority have a graph of their own: its kernels have that priority.
pub fn at_two_priorities(rig: &Rig) -> Outcome {
    let (bed, counting) = counted(rig)?;
    let (template, words) = (raw::fixed(adding().finish()?), rig.buffer_of(&[0; 4096])?);
    for round in 1..=3 {
        for priority in [overtake::Priority::LOWEST, bed::urgent()] {
            let replay = template.replay(&bed.tasks, (words, bed.kernels.clone())).priority(priority).submit()?;
            replay.wait()?;
        }
        same("captures", &calls(&counting, ["stream_begin_capture"]), &[2])?;
        same("replays by graph, and by calls", &ways(&bed), &[2 * round, 0])?;
    }
    let end = bed.tasks.join("end").submit()?;
    same("the words", &read(rig, &bed, words, &end)?, &vec![6, 6, 6, 0])
}

/// Once each lane has had a replay, nothing is made, captured or freed.
pub fn make_nothing_after_warm_up(rig: &Rig) -> Outcome {
    const MAKING: [&str; 8] = [
        "event_create",
        "event_destroy",
        "graph_destroy",
        "graph_exec_destroy",
        "graph_instantiate",
        "stream_begin_capture",
        "stream_create",
        "mem_alloc",
    ];
    let (bed, counting) = counted(rig)?;
    let (template, words) = (raw::fixed(adding().finish()?), rig.buffer_of(&[0; 4096])?);
    let replays = |count: usize| -> Outcome {
        let replay = |_| template.replay(&bed.tasks, (words, bed.kernels.clone())).submit();
        let handles = (0..count).map(replay).collect::<Result<Vec<Handle>, _>>()?;
        Ok(handles.iter().try_for_each(Handle::wait)?)
    };
    replays(100)?;
    let made = calls(&counting, MAKING);
    ensure!(made[4] >= 1 && made[4] <= u64::from(DispatchOptions::default().lanes), "a graph for each lane: {made:?}");
    same("captures", &made[5], &1)?;
    replays(500)?;
    same("the calls that make or free something", &calls(&counting, MAKING), &made)?;
    let end = bed.tasks.join("end").submit()?;
    same("the words", &read(rig, &bed, words, &end)?, &vec![600, 600, 600, 0])
}

/// Something that a step does besides.
type Odd = fn(&mut Lane<'_>) -> WorkResult<More>;

/// Steps that a graph cannot have: the words are right, the replays counted, and the dispatcher works on.
pub fn go_by_calls_if_they_must(rig: &Rig) -> Outcome {
    let odd: [(&str, Odd); 4] = [
        ("has a sync point", |lane| {
            lane.sync_point()?;
            Ok(More::Done)
        }),
        ("has two turns", |lane| Ok(if lane.turn() == 0 { More::Again } else { More::Done })),
        ("allocates", |lane| {
            // The driver ends a capture of the calling thread for that.
            lane.driver().mem_free(lane.driver().mem_alloc(4096)?)?;
            Ok(More::Done)
        }),
        ("ends the capture", |lane| {
            if let Ok(graph) = lane.driver().stream_end_capture(lane.stream()) {
                lane.driver().graph_destroy(graph)?;
            }
            Ok(More::Done)
        }),
    ];
    odd.into_iter().try_for_each(|(what, odd)| {
        go_by_calls(rig, odd).map_err(|error| Failure::from_text(format!("a step that {what}: {error}")))
    })
}

fn go_by_calls(rig: &Rig, odd: Odd) -> Outcome {
    let (bed, counting) = counted(rig)?;
    let words = rig.buffer_of(&[0; 4096])?;
    // The first step is in the lane of the task.
    let mut recording = Recording::new();
    let oddly = recording.kernel("oddly", &[], move |lane, (words, kernels): &Words| {
        if lane.turn() == 0 {
            adds(lane, *words, kernels, 3)?;
        }
        odd(lane)
    });
    recording.kernel("behind", &[oddly], |lane, (words, kernels): &Words| adds(lane, *words, kernels, 3));
    let template = raw::fixed(adding_behind(recording).finish()?);
    for _ in 0..4 {
        template.replay(&bed.tasks, (words, bed.kernels.clone())).submit()?.wait()?;
    }
    same("captures", &calls(&counting, ["stream_begin_capture", "graph_instantiate"]), &[2, 0])?;
    same("replays by graph, and by calls", &ways(&bed), &[0, 4])?;
    let end = bed.tasks.join("end").submit()?;
    same("the words", &read(rig, &bed, words, &end)?, &vec![4, 4, 4, 8])?;
    ensure!(!bed.dispatcher.statistics().is_device_lost, "the device is as before");
    same("captures left open", &bed.dispatcher.statistics().captures_ended, &0)
}

/// Copies keep their priority: a chain with one, a step that makes one, and a template with a function are no graphs.
pub fn go_by_calls_with_copies(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let (words, source, seen) = (rig.buffer_of(&[0; 4096])?, rig.pinned_of(&[3; 4096])?, Arc::<AtomicU32>::default());
    let mut chain = Recording::<Words>::new();
    let from = Arc::clone(&source);
    let up = chain.upload("upload", &[], move |lane, (words, _): &Words| {
        raw::upload(lane, *words, &from, 16)?;
        Ok(More::Done)
    });
    chain.kernel("add", &[up], |lane, (words, kernels): &Words| adds(lane, *words, kernels, 0));
    let mut hidden = Recording::<Words>::new();
    let up = hidden.kernel("copies", &[], move |lane, (words, _): &Words| {
        raw::upload(lane, *words, &source, 16)?;
        Ok(More::Done)
    });
    hidden.kernel("add", &[up], |lane, (words, kernels): &Words| adds(lane, *words, kernels, 1));
    let mut mixed = adding();
    let counts = Arc::clone(&seen);
    mixed.host("count", &[], move |_| {
        counts.fetch_add(1, Ordering::AcqRel);
        Ok(())
    });
    let templates = [chain, hidden, mixed].map(|recording| recording.finish().map(raw::fixed));
    for template in templates {
        let template = template?;
        for _ in 0..3 {
            template.replay(&bed.tasks, (words, bed.kernels.clone())).submit()?.wait()?;
        }
    }
    same("replays by graph, and by calls", &ways(&bed), &[0, 9])?;
    same("functions of the host", &seen.load(Ordering::Acquire), &3)?;
    let end = bed.tasks.join("end").submit()?;
    let copied = u32::from_le_bytes([3; 4]);
    same("the words", &read(rig, &bed, words, &end)?, &vec![copied + 3, copied + 1 + 3, copied + 3, copied])
}

/// A capture that fails once is tried once more: a library may have loaded something meanwhile.
pub fn are_captured_at_the_second_time(rig: &Rig) -> Outcome {
    let (bed, words) = (bed::open(rig)?, rig.buffer_of(&[0; 4096])?);
    let (mut recording, loaded) = (adding(), Mutex::new(None));
    recording.kernel("loads", &[], move |lane, (words, kernels): &Words| {
        let mut loaded = lock(&loaded);
        if loaded.is_none() {
            *loaded = Some(lane.driver().mem_alloc(4096)?);
            lane.driver().mem_free(loaded.expect("it was made"))?;
        }
        adds(lane, *words, kernels, 3)
    });
    let template = raw::fixed(recording.finish()?);
    for _ in 0..4 {
        template.replay(&bed.tasks, (words, bed.kernels.clone())).submit()?.wait()?;
    }
    same("replays by graph, and by calls", &ways(&bed), &[3, 1])?;
    let end = bed.tasks.join("end").submit()?;
    same("the words", &read(rig, &bed, words, &end)?, &vec![4; 4])
}

/// A step fails: the replay does, with the name of the step.
pub fn fail_as_others_do(rig: &Rig) -> Outcome {
    let (bed, words) = (bed::open(rig)?, rig.buffer_of(&[0; 4096])?);
    let mut recording = adding();
    recording.kernel("bad", &[], |_, _: &Words| Err("a division by 0".into()));
    let template = raw::fixed(recording.finish()?);
    for _ in 0..3 {
        let error = template.replay(&bed.tasks, (words, bed.kernels.clone())).submit()?.wait();
        let text = error.expect_err("a step fails").to_string();
        ensure!(text.contains("\"bad\"") && text.contains("a division by 0"), "{text}");
    }
    same("replays by graph, and by calls", &ways(&bed), &[0, 3])?;
    let end = bed.tasks.join("end").submit()?;
    same("the words", &read(rig, &bed, words, &end)?, &vec![3, 3, 3, 0])
}

/// Templates are captured while another thread's tasks are launched, waited for and fail, and while the program
/// captures a stream of its own in the mode that prohibits most.
pub fn beside_other_threads(rig: &Rig) -> Outcome {
    const TEMPLATES: u32 = 20;
    let (bed, words) = (bed::open(rig)?, rig.buffer_of(&[0; 4096])?);
    let (stream, tasks, kernels) = (rig.stream()?, bed.tasks.clone(), bed.kernels.clone());
    rig.driver().stream_begin_capture(stream, hal::CaptureMode::Global)?;
    let submitter = rig.spawn("submitter", move |_| {
        for _ in 0..5 * TEMPLATES {
            let add = kernels.clone();
            let task = tasks.kernel("adds", move |lane: &mut Lane<'_>| adds(lane, words, &add, 3)).submit()?;
            let fails = tasks.kernel("fails", |_: &mut Lane<'_>| Err("as planned".into())).after(&task).submit()?;
            tasks.host("reads", || Ok(())).after(&task).submit()?.wait()?;
            ensure!(fails.wait().is_err(), "it fails");
        }
        Ok(())
    });
    let (tasks, kernels) = (bed.tasks.clone(), bed.kernels.clone());
    let replayer = rig.spawn("replayer", move |_| {
        for _ in 0..TEMPLATES {
            let template = raw::fixed(adding().finish()?);
            let replay = |_| template.replay(&tasks, (words, kernels.clone())).submit();
            let handles = (0..3).map(replay).collect::<Result<Vec<Handle>, _>>()?;
            handles.iter().try_for_each(Handle::wait)?;
        }
        Ok(())
    });
    let ended = rig.join(submitter).and(rig.join(replayer));
    rig.driver().graph_destroy(rig.driver().stream_end_capture(stream)?)?;
    ended?;
    same("replays by graph, and by calls", &ways(&bed), &[u64::from(3 * TEMPLATES), 0])?;
    let (end, replays) = (bed.tasks.join("end").submit()?, 3 * TEMPLATES);
    same("the words", &read(rig, &bed, words, &end)?, &vec![replays, replays, replays, 5 * TEMPLATES])
}

/// While a template is captured, other threads may do as ever: the memory of one is there.
pub fn restrict_no_other_thread(rig: &Rig) -> Outcome {
    let (bed, words) = (bed::open(rig)?, rig.buffer_of(&[0; 4096])?);
    let (driver, overtake) = (Arc::clone(rig.shared_driver()), Arc::clone(&bed.overtake));
    let got = Arc::new(Mutex::new(Vec::new()));
    let (mut recording, here) = (adding(), Arc::clone(&got));
    recording.kernel("alone", &[], move |_: &mut Lane<'_>, _: &Words| {
        let (overtake, other) = (Arc::clone(&overtake), Arc::clone(&driver));
        let allocate = move || {
            let _entered = overtake.cuda_context().enter()?;
            other.mem_alloc(64)
        };
        lock(&here).push(hal::spawn(&driver, "allocator", allocate)?.join(driver.host())?);
        Ok(More::Done)
    });
    let template = raw::fixed(recording.finish()?);
    template.replay(&bed.tasks, (words, bed.kernels.clone())).submit()?.wait()?;
    same("replays by graph, and by calls", &ways(&bed), &[1, 0])?;
    let got = std::mem::take(&mut *lock(&got));
    same("allocations", &got.len(), &1)?;
    got.into_iter().try_for_each(|memory| Ok(rig.driver().mem_free(memory)?))
}

/// The template is dropped while its graph is under way: that goes on.
pub fn dropped_under_way(rig: &Rig) -> Outcome {
    const SPAN: Nanos = Nanos::from_ms(1);
    let (bed, words) = (bed::open(rig)?, rig.buffer_of(&[0; 4096])?);
    for round in 1..=3 {
        let mut recording = Recording::<Words>::new();
        let spin = recording.kernel("spin", &[], |lane, (_, kernels): &Words| {
            raw::spin(lane, &kernels.spin, SPAN)?;
            Ok(More::Done)
        });
        recording.kernel("add", &[spin], |lane, (words, kernels): &Words| adds(lane, *words, kernels, 0));
        let template = raw::fixed(recording.finish()?);
        let replay = |_| template.replay(&bed.tasks, (words, bed.kernels.clone())).submit();
        let handles = (0..3).map(replay).collect::<Result<Vec<Handle>, _>>()?;
        drop(template);
        handles.iter().try_for_each(Handle::wait)?;
        same("the words", &read(rig, &bed, words, &handles[2])?[0], &(3 * round))?;
    }
    same("replays by graph, and by calls", &ways(&bed), &[9, 0])
}

/// A template may be replayed by two dispatchers, and goes on when one of them has been closed.
pub fn of_two_dispatchers(rig: &Rig) -> Outcome {
    let ((one, of_one), (other, of_other)) = (counted(rig)?, counted(rig)?);
    let captures = || calls(&of_other, ["stream_begin_capture"]);
    let (template, words) = (raw::fixed(adding().finish()?), rig.buffer_of(&[0; 4096])?);
    let replay =
        |bed: &Bed| -> Outcome { Ok(template.replay(&bed.tasks, (words, bed.kernels.clone())).submit()?.wait()?) };
    [&one, &other, &one, &other].into_iter().try_for_each(&replay)?;
    same("replays of the first, by graph and by calls", &ways(&one), &[2, 0])?;
    drop(one);
    let [made, ended] = calls(&of_one, ["graph_instantiate", "graph_exec_destroy"]);
    same("graphs that ended with the first", &ended, &made)?;
    let captured = captures();
    replay(&other)?;
    same("captures for the second, whose graph stays", &captures(), &captured)?;
    // It may be at the address of the one that is closed.
    let third = bed::open(rig)?;
    [&third, &other].into_iter().try_for_each(&replay)?;
    same("replays of the third, by graph and by calls", &ways(&third), &[1, 0])?;
    let end = other.tasks.join("end").submit()?;
    same("the words", &read(rig, &other, words, &end)?, &vec![7, 7, 7, 0])
}
