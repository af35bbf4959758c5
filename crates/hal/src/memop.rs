//! Stream memory operations: wait for a word, write a word.

use crate::DevicePtr;

/// The width of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// 32 bits.
    W32,
    /// 64 bits. [`crate::Attribute::CAN_USE_64_BIT_STREAM_MEM_OPS`] tells whether the device supports it.
    W64,
}

impl Width {
    /// The width in bytes.
    #[must_use]
    pub fn bytes(self) -> u64 {
        match self {
            Width::W32 => 4,
            Width::W64 => 8,
        }
    }
}

/// The comparison of the word with the value of a wait (`CUstreamWaitValue_flags`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitCondition {
    /// `(signed)(word - value) >= 0`, cyclically.
    Geq,
    /// `word == value`.
    Eq,
    /// `word & value != 0`.
    And,
    /// `!(word | value) != 0`.
    Nor,
}

impl WaitCondition {
    /// Whether `word` satisfies the condition against `value`, at `width`.
    #[must_use]
    pub fn holds(self, word: u64, value: u64, width: Width) -> bool {
        let mask = match width {
            Width::W32 => u64::from(u32::MAX),
            Width::W64 => u64::MAX,
        };
        let (word, value) = (word & mask, value & mask);
        match self {
            WaitCondition::Geq => match width {
                Width::W32 => (word as u32).wrapping_sub(value as u32) as i32 >= 0,
                Width::W64 => word.wrapping_sub(value) as i64 >= 0,
            },
            WaitCondition::Eq => word == value,
            WaitCondition::And => word & value != 0,
            WaitCondition::Nor => !(word | value) & mask != 0,
        }
    }
}

/// One stream memory operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemOp {
    /// The stream stands still until the word at `address` satisfies `condition` against `value`.
    Wait {
        /// Device memory, or the device pointer of mapped host memory. Aligned to the width.
        address: DevicePtr,
        /// The value that the word is compared with.
        value: u64,
        /// The width of word and value.
        width: Width,
        /// The comparison.
        condition: WaitCondition,
    },
    /// The stream stores `value` at `address`, after everything before it in the stream is visible.
    Write {
        /// Device memory, or the device pointer of mapped host memory. Aligned to the width.
        address: DevicePtr,
        /// The value that is stored.
        value: u64,
        /// The width of word and value.
        width: Width,
    },
}

impl MemOp {
    /// A 32-bit wait.
    #[must_use]
    pub fn wait32(address: DevicePtr, value: u32, condition: WaitCondition) -> MemOp {
        MemOp::Wait { address, value: u64::from(value), width: Width::W32, condition }
    }

    /// A 64-bit wait.
    #[must_use]
    pub fn wait64(address: DevicePtr, value: u64, condition: WaitCondition) -> MemOp {
        MemOp::Wait { address, value, width: Width::W64, condition }
    }

    /// A 32-bit write.
    #[must_use]
    pub fn write32(address: DevicePtr, value: u32) -> MemOp {
        MemOp::Write { address, value: u64::from(value), width: Width::W32 }
    }

    /// A 64-bit write.
    #[must_use]
    pub fn write64(address: DevicePtr, value: u64) -> MemOp {
        MemOp::Write { address, value, width: Width::W64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_follow_the_driver_manual() {
        let holds = |c: WaitCondition, word, value| c.holds(word, value, Width::W32);
        assert!(holds(WaitCondition::Geq, 1, 0xffff_ffff), "cyclic: 1 is two past -1");
        assert!(!holds(WaitCondition::Geq, 5, 6));
        assert!(holds(WaitCondition::Eq, 0x1_0000_0007, 7), "only the low 32 bits count");
        assert!(holds(WaitCondition::And, 6, 2) && !holds(WaitCondition::And, 4, 2));
        assert!(holds(WaitCondition::Nor, 0, 1) && !holds(WaitCondition::Nor, 0xffff_fffe, 1));
    }
}
