//! A small deterministic generator (splitmix64): a failing run can be repeated exactly.

/// Pseudo-random numbers from a seed.
pub struct Prng(u64);

impl Prng {
    /// A generator; the same seed gives the same numbers on every machine.
    pub fn new(seed: u64) -> Prng {
        Prng(seed)
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from 0 to `limit - 1`.
    pub fn below(&mut self, limit: u64) -> u64 {
        assert!(limit > 0, "there is no number below 0");
        self.bits() % limit
    }

    /// A number from `low` to `high`, both included.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    /// `count` random bytes.
    pub fn bytes(&mut self, count: u64) -> Vec<u8> {
        let mut bytes = vec![0; count as usize];
        for eight in bytes.chunks_mut(8) {
            eight.copy_from_slice(&self.bits().to_le_bytes()[..eight.len()]);
        }
        bytes
    }

    /// One of `choices`.
    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }
}
