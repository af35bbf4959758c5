//! Numbers that are the same for the same seed on every machine.

pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        (0..4).for_each(|_| _ = random.number());
        random
    }

    pub fn number(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32) as u32
    }

    pub fn below(&mut self, most: u32) -> u32 {
        self.number() % most
    }

    /// Once in so many times.
    pub fn once_in(&mut self, times: u32) -> bool {
        self.below(times) == 0
    }

    /// At most so many numbers.
    pub fn numbers(&mut self, most: u32) -> Vec<u32> {
        (0..self.below(most + 1)).map(|_| self.number()).collect()
    }

    /// At most so many numbers, once in so many times.
    pub fn numbers_once_in(&mut self, times: u32, most: u32) -> Vec<u32> {
        if self.once_in(times) { self.numbers(most) } else { vec![] }
    }
}
