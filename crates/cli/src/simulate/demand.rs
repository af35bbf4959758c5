//! The rule of demand, replayed: the very meter of the drop-in ranks the copies of each stream without a priority.
//!
//! The machine knows the priority of streams, not of copies. So a stream that the rule ranks stands for two: one for
//! its copies that come first, and one for those that are bulk. Its copies keep their order by a wait at each change.

use hal::Nanos;
use overtake::options::DemandOptions;
use priority::{Priorities, Priority};
use shim::demand::{Meter, Rank, Rule};

/// The priority of copies of that rank, as under the drop-in.
pub fn level(rank: Rank, priorities: Priorities) -> Priority {
    match rank {
        Rank::Bulk => Priority::LOWEST,
        Rank::First => Priority::new(2).map_or(Priority::LOWEST, |first| first.min(priorities.highest())),
    }
}

/// The name of the stream that has the copies of that rank.
pub fn name(stream: &str, rank: Rank) -> String {
    match rank {
        Rank::Bulk => format!("{stream}.bulk"),
        Rank::First => format!("{stream}.first"),
    }
}

/// The ranks of one stream's copies, each with its arrival and its bytes, in the order of the file.
pub fn ranks(options: DemandOptions, copies: &[(Nanos, u64)]) -> Vec<Rank> {
    let (rule, meter) = (Rule::new(options), Meter::default());
    let mut order: Vec<usize> = (0..copies.len()).collect();
    order.sort_by_key(|copy| copies[*copy].0);
    let mut ranks = vec![Rank::Bulk; copies.len()];
    for copy in order {
        ranks[copy] = meter.charge(rule, copies[copy].0, copies[copy].1);
    }
    ranks
}

/// The waits that keep the copies of each stream in order: for each copy, by its stream and its place in the order of
/// submission, the one before it, if that has another rank.
pub fn changes(copies: &[(usize, Option<Rank>)]) -> Vec<Option<usize>> {
    let mut before = std::collections::BTreeMap::<usize, (usize, Rank)>::new();
    let change = |(at, &(stream, rank)): (usize, &(usize, Option<Rank>))| {
        let rank = rank?;
        let before = before.insert(stream, (at, rank));
        before.filter(|(_, other)| *other != rank).map(|(copy, _)| copy)
    };
    copies.iter().enumerate().map(change).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_charged_in_the_order_of_their_arrival() {
        let options = DemandOptions { burst_bytes: 8 << 20, gbps: 5 };
        let ranks = ranks(options, &[(Nanos::from_us(10), 8 << 20), (Nanos::ZERO, 8 << 20)]);
        assert_eq!(ranks, [Rank::Bulk, Rank::First]);
    }

    #[test]
    fn a_copy_waits_for_the_one_before_it_where_the_rank_changes() {
        let (first, bulk) = (Some(Rank::First), Some(Rank::Bulk));
        let copies = [(0, first), (1, bulk), (0, first), (0, bulk), (2, None), (0, bulk), (0, first)];
        assert_eq!(changes(&copies), [None, None, None, Some(2), None, None, Some(5)]);
    }
}
