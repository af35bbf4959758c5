//! Random numbers from a seed: the same in every run.

use measure::urgent::scatter;

/// A sequence of numbers (SplitMix64).
#[derive(Clone, Debug)]
pub struct Chance {
    state: u64,
}

impl Chance {
    /// The `stream`th sequence of a seed.
    #[must_use]
    pub fn new(seed: u64, stream: u64) -> Chance {
        Chance { state: scatter(seed ^ scatter(stream)) }
    }

    /// Any number.
    pub fn number(&mut self) -> u64 {
        self.state = self.state.wrapping_add(1);
        scatter(self.state)
    }

    /// A number below `bound`, which is not 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.number() % bound.max(1)
    }

    /// A number from `low` to `high`, both possible.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high.saturating_sub(low) + 1)
    }

    /// True once in `times` times.
    pub fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// One of several.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_repeats_and_streams_differ() {
        let numbers = |seed, stream| {
            let mut chance = Chance::new(seed, stream);
            (0..8).map(|_| chance.number()).collect::<Vec<_>>()
        };
        assert_eq!(numbers(1, 2), numbers(1, 2));
        assert!(numbers(1, 2) != numbers(1, 3) && numbers(1, 2) != numbers(2, 2));
        let mut chance = Chance::new(1, 1);
        assert!((0..1000).all(|_| (3..=5).contains(&chance.between(3, 5))));
    }
}
