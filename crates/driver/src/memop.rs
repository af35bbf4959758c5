//! Stream memory operations, as the driver writes them.

use abi::types::*;
use hal::{MemOp, WaitCondition, Width};

/// The flags of a wait with this condition.
pub fn wait_flags(condition: WaitCondition) -> c_uint {
    match condition {
        WaitCondition::Geq => CU_STREAM_WAIT_VALUE_GEQ,
        WaitCondition::Eq => CU_STREAM_WAIT_VALUE_EQ,
        WaitCondition::And => CU_STREAM_WAIT_VALUE_AND,
        WaitCondition::Nor => CU_STREAM_WAIT_VALUE_NOR,
    }
}

/// One operation of a batch.
pub fn batch_entry(op: &MemOp) -> CUstreamBatchMemOpParams {
    let mut words = [0_u64; 6];
    // The layout of the wait and of the write is the same: operation, address, value, flags (the alias stays 0). Whole
    // words are written, so that no byte of the union is left undefined.
    let (operation, address, value, flags) = match *op {
        MemOp::Wait { address, value, width, condition } => {
            let operation = match width {
                Width::W32 => CU_STREAM_MEM_OP_WAIT_VALUE_32,
                Width::W64 => CU_STREAM_MEM_OP_WAIT_VALUE_64,
            };
            (operation, address, masked(value, width), wait_flags(condition))
        }
        MemOp::Write { address, value, width } => {
            let operation = match width {
                Width::W32 => CU_STREAM_MEM_OP_WRITE_VALUE_32,
                Width::W64 => CU_STREAM_MEM_OP_WRITE_VALUE_64,
            };
            (operation, address, masked(value, width), CU_STREAM_WRITE_VALUE_DEFAULT)
        }
    };
    words[..4].copy_from_slice(&[u64::from(operation), address.0, value, u64::from(flags)]);
    CUstreamBatchMemOpParams { pad: words }
}

/// The bits of a value that a width keeps.
fn masked(value: u64, width: Width) -> u64 {
    match width {
        Width::W32 => u64::from(value as u32),
        Width::W64 => value,
    }
}

// Writing whole words puts each field where the driver looks for it only on little-endian machines with this layout.
const _: () = {
    type Wait = CUstreamBatchMemOpParams_union_CUstreamMemOpWaitValueParams_st;
    type Write = CUstreamBatchMemOpParams_union_CUstreamMemOpWriteValueParams_st;
    assert!(cfg!(target_endian = "little"));
    assert!(core::mem::offset_of!(Wait, operation) == 0 && core::mem::offset_of!(Write, operation) == 0);
    assert!(core::mem::offset_of!(Wait, address) == 8 && core::mem::offset_of!(Write, address) == 8);
    assert!(
        core::mem::offset_of!(Wait, __bindgen_anon_1) == 16 && core::mem::offset_of!(Write, __bindgen_anon_1) == 16
    );
    assert!(core::mem::offset_of!(Wait, flags) == 24 && core::mem::offset_of!(Write, flags) == 24);
};
