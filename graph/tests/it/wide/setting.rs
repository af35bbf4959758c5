//! The options of a random program's graph, and what its calls are taken from.

use overtake_graph::{Inference, Options, Order, Priorities};

use super::random::Random;

#[derive(Clone, Copy, Debug)]
pub struct Setting {
    pub options: Options,
    pub uses_data: bool,
    /// Other calls come between the launches of a batch and their reports.
    pub interferes: bool,
    pub may_lose_device: bool,
    pub has_groups: bool,
    /// A lane may fail, and be reported before those that it has joined.
    pub may_report_early: bool,
}

impl Setting {
    pub fn random(random: &mut Random) -> Setting {
        let options = options(random);
        Setting {
            options,
            uses_data: !random.once_in(4) && options.order != Order::PhysX,
            interferes: random.once_in(3),
            may_lose_device: random.once_in(6),
            has_groups: random.once_in(4),
            may_report_early: random.once_in(3),
        }
    }
}

fn options(random: &mut Random) -> Options {
    let order = match random.below(8) {
        0 => Order::Ranked,
        1 => Order::PhysX,
        _ => Order::Default,
    };
    let options = Options {
        order,
        priorities: Priorities::new(if random.once_in(2) { 2 } else { 4 }).unwrap(),
        devices: 1 + u8::from(random.once_in(5)),
        groups: 1 + random.below(2) as u8,
        lanes: 1 + random.below(3) as u8,
        nodes_max: if random.once_in(4) { 8 + random.below(8) } else { 1 << 12 },
        edges_max: if random.once_in(4) { 12 + random.below(12) } else { 1 << 14 },
        phase_max: 1 + random.below(5),
        share: if random.once_in(2) { u32::MAX } else { 2 + random.below(3) },
        inference: Inference { sees_const: true, search_max: [0, 1, 3, 64, u32::MAX][random.below(5) as usize] },
    };
    if order == Order::PhysX { Options { devices: 1, ..options } } else { options }
}
