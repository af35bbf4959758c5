//! Laws that hold for every graph: random ones, against an oracle that knows all edges.

use crate::model::{Model, Wish, kind};
use overtake_graph::{Kind, Mark, Options, Order, Priorities, Priority, Runner};
use proptest::collection::vec;
use proptest::prelude::*;

/// One move of a random program: its kind, and the numbers of its nodes.
type Move = (u8, u16, u16, u8, u8);

/// Priorities alone decide: no shares.
fn options(lanes: u8, groups: u8) -> Options {
    let priorities = Priorities::new(4).unwrap();
    Options { priorities, lanes, groups, share: u32::MAX, ..Options::default() }
}

fn priority(number: u8) -> Priority {
    Priority::new(number % 4 + 1).unwrap()
}

fn make(model: &mut Model, (what, one, other, third, fourth): Move) {
    let tasks = model.tasks();
    let pick = |number: u16| usize::from(number) % tasks;
    match what % 32 {
        16 if tasks > 0 => model.break_down(pick(one)),
        17 => {
            let stretch = stretch(one, other, (third / 64) % model.devices());
            let after = if tasks == 0 || third % 3 == 0 { vec![] } else { vec![pick(one); usize::from(third % 3)] };
            model.replay(&stretch, &after, priority(fourth / 8), fourth & 4 != 0);
        }
        0..=4 | 18..=20 => {
            let after: Vec<usize> = match (tasks, third % 4) {
                (0, _) | (_, 0) => vec![],
                (_, 1) => vec![pick(one)],
                _ => vec![pick(one), pick(other)],
            };
            let turns = if fourth & 3 == 0 { 3 } else { 1 };
            let kind = kind(third / 4);
            let turns = if kind.is_device() { turns } else { 1 };
            let (is_held, fails) = (fourth & 4 != 0, fourth & 0xf8 == 0xf8);
            let device = (third / 64) % model.devices();
            let rank = u32::from(other % 4);
            let wish = Wish { kind, device, priority: priority(fourth / 8), rank, turns, is_held, fails };
            if what % 32 < 16 { model.append(wish, &after) } else { model.append_running(wish, &after) }
        }
        _ if tasks == 0 => {}
        5 | 21 => model.order(
            pick(one),
            pick(other),
            [None, Some(Mark::Launched), Some(Mark::Complete)][usize::from(third % 3)],
        ),
        31 => model.give_up(pick(one)),
        6 | 22 => model.release(pick(one)),
        7 | 23 => model.hold(pick(one)),
        8 => model.set_priority(pick(one), priority(third)),
        24 => model.set_rank(pick(one), u32::from(third % 4)),
        9..=11 | 25..=27 => drop(model.step(Runner::Device)),
        12 | 28 => drop(model.step(Runner::Host).or_else(|| model.step(Runner::Light))),
        13 | 14 | 29 | 30 => drop(model.execute(usize::from(third) % model.lanes())),
        _ => model.report(usize::from(third) % model.lanes()),
    }
    model.settle();
}

/// Up to eight tasks, of these bits: each comes after up to two of those before it.
fn stretch(bits: u16, more: u16, device: u8) -> Vec<(Wish, Vec<usize>)> {
    let wish = |number: usize| {
        let bits = usize::from(bits.rotate_left(3 * number as u32) ^ more.rotate_right(5 * number as u32));
        let kind = kind((bits & 0xff) as u8);
        let turns = if kind.is_device() && bits & 0x300 == 0 { 2 } else { 1 };
        let fails = bits & 0xf00 == 0xf00;
        let (priority, rank) = (priority((bits >> 4) as u8), (bits >> 8) as u32 % 4);
        let wish = Wish { kind, device, priority, rank, turns, is_held: false, fails };
        let mut after: Vec<usize> = [bits >> 3, bits >> 6].map(|bits| bits % (number + 1)).to_vec();
        after.retain(|first| *first < number);
        after.dedup();
        (wish, after)
    };
    (0..usize::from(more % 9)).map(wish).collect()
}

/// Miri interprets: programs of eighty moves took it more than five minutes.
const MOVES_MAX: usize = if cfg!(miri) { 16 } else { 80 };

/// Four times as many programs as usual: two faults of batches were met once in some ten thousand.
fn config() -> ProptestConfig {
    let usual = ProptestConfig::default();
    ProptestConfig { failure_persistence: None, cases: 4 * usual.cases, ..usual }
}

fn moves(most: usize) -> impl Strategy<Value = Vec<Move>> {
    vec(any::<Move>(), 1..most.min(MOVES_MAX))
}

/// The same move, but of those that append tasks most append a kernel that is not held and has one turn, behind none or
/// behind the newest task.
fn of_kernels((what, one, other, third, fourth): Move, tasks: usize) -> Move {
    let what = if matches!(what % 32, 10 | 16 | 17 | 21..=25 | 30) { 0 } else { what };
    if !matches!(what % 32, 0..=4) || one % 16 == 0 {
        return (what, one, other, third, fourth);
    }
    let third = if other % 8 == 0 { third } else { third & 0xe2 | 0x14 | u8::from(one % 4 != 0) };
    let newest = if third % 4 == 1 { tasks.saturating_sub(1) as u16 } else { one };
    (what, newest, other, third & !2, (fourth & 0b1000) | 1)
}

/// Makes the moves with batches, and with single nodes, which must be the same.
fn compare_batches(
    options: Options,
    moves: impl Iterator<Item = (Move, (usize, usize))>,
    change: impl Fn(Move, usize) -> Move,
) {
    let [mut batches, mut singles] = [(); 2].map(|()| Model::new(options));
    for (one, (most, launched)) in moves {
        let one = change(one, batches.tasks());
        if matches!(one.0 % 32, 9..=11 | 25..=27) {
            let launches = batches.batch(most, launched);
            let same: Vec<_> = (0..launches.len().max(1)).filter_map(|_| singles.step(Runner::Device)).collect();
            assert_eq!(launches, same);
            batches.settle();
            singles.settle();
        } else {
            make(&mut batches, one);
            make(&mut singles, one);
        }
        assert_eq!(batches.trace(), singles.trace());
    }
    batches.finish();
    singles.finish();
}

proptest! {
    #![proptest_config(config())]

    /// Nodes that are handed out are schedulable, the device keeps every order, each reference is given back once,
    /// priorities are inherited and taken back, and failures reach those behind them.
    #[test]
    fn any_program_keeps_its_order(moves in moves(60), lanes in 1_u8..4, groups in 1_u8..3) {
        let mut model = Model::new(options(lanes, groups));
        moves.into_iter().for_each(|one| make(&mut model, one));
        model.finish();
    }

    /// The same where ranks decide among nodes of one priority: batches do not change that.
    #[test]
    fn any_program_keeps_the_order_of_ranks(
        moves in moves(60),
        (lanes, groups) in (1_u8..4, 1_u8..3),
        ends in vec((0_usize..8, 0_usize..8), 60),
    ) {
        let options = Options { order: Order::Ranked, ..options(lanes, groups) };
        compare_batches(options, moves.into_iter().zip(ends), |one, _| one);
    }

    /// The same with two devices: a node's work is in a lane of its device.
    #[test]
    fn any_program_on_two_devices_keeps_its_order(moves in moves(60), lanes in 1_u8..4, groups in 1_u8..3) {
        let mut model = Model::new(Options { devices: 2, ..options(lanes, groups) });
        moves.into_iter().for_each(|one| make(&mut model, one));
        model.finish();
    }

    /// Nodes that are handed out in batches, which end anywhere, are launched in the same order, in the same lanes and
    /// at the same points as one by one.
    #[test]
    fn batches_are_launched_as_single_nodes(
        moves in moves(80),
        (lanes, groups, phase_max) in (1_u8..4, 1_u8..3, 1_u32..6),
        ends in vec((0_usize..8, 0_usize..8), 80),
    ) {
        compare_batches(Options { phase_max, ..options(lanes, groups) }, moves.into_iter().zip(ends), |one, _| one);
    }

    /// The same of programs that are kernels above all, of two priorities, in chains and beside each other.
    #[test]
    fn batches_of_many_kernels_are_launched_as_single_nodes(
        moves in moves(80),
        (lanes, groups, phase_max) in (1_u8..4, 1_u8..3, 1_u32..6),
        ends in vec((0_usize..8, 0_usize..8), 80),
    ) {
        compare_batches(Options { phase_max, ..options(lanes, groups) }, moves.into_iter().zip(ends), of_kernels);
    }

    /// Each reference is given back once in the order of PhysX as well, and when the device is lost.
    #[test]
    fn any_program_ends(moves in moves(60), lanes in 1_u8..4, is_physx: bool, lost in 0_usize..80) {
        let order = if is_physx { Order::PhysX } else { Order::Default };
        let mut model = Model::new(Options { order, ..options(lanes, 1) });
        for (number, one) in moves.into_iter().enumerate() {
            if number == lost {
                model.lose();
                model.settle();
            }
            make(&mut model, one);
        }
        model.finish();
    }

    /// PX-10: three linear tasks of one kernel are launched as one task of three kernels is, beside any others.
    #[test]
    fn three_tasks_of_one_kernel_equal_one_of_three(
        before in vec((any::<u8>(), 1_u32..4), 0..5),
        behind in vec((any::<u8>(), 1_u32..4), 0..5),
        third in 0_u8..4,
    ) {
        let launches = |is_one: bool| {
            let mut model = Model::new(options(3, 2));
            let other = |kind_and_priority: u8, turns| Wish {
                kind: kind(kind_and_priority % 3 + 3),
                device: 0,
                priority: priority(kind_and_priority / 3),
                rank: 0,
                turns,
                is_held: false,
                fails: false,
            };
            let kernel = |turns| Wish { kind: Kind::Kernel, priority: priority(third), ..other(0, turns) };
            before.iter().for_each(|(number, turns)| model.append(other(*number, *turns), &[]));
            let first = model.tasks();
            if is_one {
                model.append(kernel(3), &[]);
            } else {
                model.append(kernel(1), &[]);
                model.append(kernel(1), &[first]);
                model.append(kernel(1), &[first + 1]);
            }
            let last = model.tasks() - 1;
            behind.iter().for_each(|(number, turns)| model.append(other(*number, *turns), &[]));
            model.append(other(5, 1), &[last]);
            let mut launches = Vec::new();
            while let Some((task, turn)) = model.step(Runner::Device) {
                launches.push(match task.checked_sub(first) {
                    Some(link) if link <= last - first => (first, turn + link as u32),
                    Some(_) => (task + first - last, turn),
                    None => (task, turn),
                });
            }
            model.finish();
            launches
        };
        prop_assert_eq!(launches(true), launches(false));
    }
}
