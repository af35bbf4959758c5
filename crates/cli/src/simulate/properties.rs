//! Properties of every scenario, tried on many.

use proptest::prelude::*;

use super::machine::simulate;
use super::outcome::Outcome;
use super::scenario::{Inc, Mode, Scenario};
use super::setup::Setup;

const MODES: [Mode; 4] = [Mode::None, Mode::Bracket, Mode::Atomics, Mode::Hold];

/// A copy: its stream, arrival and kilobytes, and the distances back to the copies that it comes after.
type Draw = (usize, u64, u64, Vec<usize>);

#[derive(Clone, Debug)]
struct Drawn {
    priorities: u8,
    queues: usize,
    slice: u64,
    command: u64,
    streams: Vec<(u8, bool)>,
    copies: Vec<Draw>,
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let streams = proptest::collection::vec((1u8..=5, any::<bool>()), 1..6);
    let after = proptest::collection::vec(1usize..12, 0..2);
    let copies = proptest::collection::vec((0usize..6, 0u64..60, 1u64..400, after), 1..24);
    (1u8..=5, 1usize..5, 1u64..30, 0u64..3, streams, copies).prop_map(
        |(priorities, queues, slice, command, streams, mut copies)| {
            copies.sort_by_key(|copy| copy.1);
            Drawn { priorities, queues, slice, command, streams, copies }
        },
    )
}

impl Drawn {
    fn toml(&self) -> String {
        let Drawn { priorities, queues, slice, command, .. } = self;
        let mut text = format!(
            "name = \"drawn\"\nslice = {slice}\ncommand = {command}\npriorities = {priorities}\nchunk_bytes = 65536\n\
             [[devices]]\nname = \"gpu0\"\nqueues = {queues}\nh2d_gbps = 10.0\n"
        );
        for (at, (priority, out)) in self.streams.iter().enumerate() {
            let (priority, way) = (priority.min(priorities), if *out { "d2h" } else { "h2d" });
            text += &format!("[[streams]]\nname = \"s{at}\"\npriority = {priority}\ndirection = \"{way}\"\n");
        }
        for (at, (stream, arrival, kilobytes, back)) in self.copies.iter().enumerate() {
            let after: Vec<String> =
                back.iter().filter_map(|back| Some(format!("c{}", at.checked_sub(*back)?))).collect();
            let (stream, bytes) = (stream % self.streams.len(), kilobytes << 10);
            text += &format!(
                "[[copies]]\nname = \"c{at}\"\nstream = \"s{stream}\"\narrival = {arrival}\nbytes = {bytes}\n\
                 after = {after:?}\n"
            );
        }
        text
    }

    fn setup(&self, mode: Mode, inc: Inc) -> Setup {
        let scenario: Scenario = toml::from_str(&self.toml()).unwrap();
        Setup { inc, ..Setup::new(&scenario, mode, scenario.chunk_bytes).unwrap() }
    }
}

fn check(setup: &Setup, outcome: &Outcome) -> Result<(), TestCaseError> {
    prop_assert_eq!(&outcome.deadlock, &None);
    prop_assert_eq!(outcome.runs.len(), setup.copies.iter().map(|copy| copy.chunks.len()).sum::<usize>());
    for (at, copy) in setup.copies.iter().enumerate() {
        let runs: Vec<_> = outcome.runs.iter().filter(|run| run.copy == at).collect();
        prop_assert!(runs.iter().enumerate().all(|(chunk, run)| run.chunk == chunk), "each chunk once, in order");
        let began = runs[0].start;
        prop_assert!(began >= copy.arrival);
        let earlier = (0..at).filter(|other| setup.copies[*other].stream == copy.stream);
        for other in copy.after.iter().copied().chain(earlier) {
            let ended = outcome.completed[other].unwrap();
            prop_assert!(ended <= began, "{} begins before {} has ended", copy.name, setup.copies[other].name);
        }
    }
    for engine in 0..setup.engines.len() {
        let runs: Vec<_> =
            outcome.runs.iter().filter(|run| setup.streams[setup.copies[run.copy].stream].engine == engine).collect();
        prop_assert!(runs.windows(2).all(|pair| pair[0].end <= pair[1].start), "one chunk at a time");
    }
    for semaphore in &outcome.semaphores {
        prop_assert_eq!(semaphore.history.last().unwrap().1, 0, "every semaphore is down in the end");
    }
    Ok(())
}

proptest! {
    /// With any dependencies and in every mode, all copies are done, once and in order, and every semaphore is down.
    #[test]
    fn everything_is_done_once_and_in_order(drawn in drawn()) {
        for mode in MODES {
            let setup = drawn.setup(mode, Inc::Schedulable);
            check(&setup, &simulate(&setup).unwrap())?;
        }
    }

    /// With inherited priorities, counting too early costs order but never progress.
    #[test]
    fn inheriting_makes_up_for_counting_too_early(drawn in drawn()) {
        let setup = drawn.setup(Mode::Hold, Inc::Submitted);
        check(&setup, &simulate(&setup).unwrap())?;
    }

    /// A less urgent chunk runs before an urgent copy only if its wait was satisfied before the urgent copy came: at
    /// most one chunk for each channel.
    #[test]
    fn at_most_one_chunk_for_each_channel_goes_before_an_urgent_copy(mut drawn in drawn()) {
        drawn.copies.iter_mut().for_each(|copy| copy.3.clear());
        let setup = drawn.setup(Mode::Hold, Inc::Schedulable);
        let outcome = simulate(&setup).unwrap();
        for (at, stream) in setup.streams.iter().enumerate().filter(|(_, stream)| stream.is_top) {
            let Some(first) = setup.copies.iter().position(|copy| copy.stream == at) else { continue };
            let (arrival, began) = (setup.copies[first].arrival, outcome.began[first].unwrap());
            let between = outcome.runs.iter().filter(|run| run.end > arrival && run.end <= began);
            let channels = between.map(|run| setup.streams[setup.copies[run.copy].stream].channel);
            // Priorities that share a channel do not wait for each other.
            let waits = |channel: &usize| {
                let channel = &setup.channels[*channel];
                channel.engine == stream.engine && channel.level < stream.priority
            };
            let mut overtook: Vec<usize> = channels.filter(waits).collect();
            let count = overtook.len();
            overtook.sort_unstable();
            overtook.dedup();
            prop_assert_eq!(overtook.len(), count, "a channel goes before {} twice", &setup.copies[first].name);
        }
    }
}
