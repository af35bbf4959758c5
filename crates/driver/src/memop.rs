//! Stream memory operations in the driver's form.
#![allow(unsafe_code)] // as `cuda.rs`, whose comment holds the reasons

use abi::types::*;
use hal::{Code, MemOp, Result, Stream, WaitCondition, Width};

use crate::functions::Functions;
use crate::handle::pointer;

/// Puts one operation into a stream.
pub fn submit(functions: &Functions, stream: Stream, op: MemOp) -> Result<()> {
    let stream = pointer(stream.0);
    // SAFETY: a handle and a device address by value; the driver checks the address.
    unsafe {
        match op {
            MemOp::Wait { address, value, width: Width::W32, condition } => {
                functions.cuStreamWaitValue32_v2(stream, address.0, value as u32, wait_flags(condition))
            }
            MemOp::Wait { address, value, width: Width::W64, condition } => {
                functions.cuStreamWaitValue64_v2(stream, address.0, value, wait_flags(condition))
            }
            MemOp::Write { address, value, width: Width::W32 } => {
                functions.cuStreamWriteValue32_v2(stream, address.0, value as u32, CU_STREAM_WRITE_VALUE_DEFAULT)
            }
            MemOp::Write { address, value, width: Width::W64 } => {
                functions.cuStreamWriteValue64_v2(stream, address.0, value, CU_STREAM_WRITE_VALUE_DEFAULT)
            }
        }
    }
}

/// Puts several operations into a stream, by one call.
pub fn submit_batch(functions: &Functions, stream: Stream, ops: &[MemOp]) -> Result<()> {
    // A bracket has few operations, so this path does not allocate.
    let mut few = [CUstreamBatchMemOpParams { pad: [0; 6] }; 8];
    let mut many = Vec::new();
    let entries = match few.get_mut(..ops.len()) {
        Some(entries) => {
            entries.iter_mut().zip(ops).for_each(|(entry, op)| *entry = batch_entry(op));
            entries
        }
        None => {
            many.extend(ops.iter().map(batch_entry));
            many.as_mut_slice()
        }
    };
    let count = c_uint::try_from(entries.len())
        .map_err(|_| Code::INVALID_VALUE.at("cuStreamBatchMemOp_v2").because("more operations than 32 bits count"))?;
    // SAFETY: the entries are live, and there are `count` of them; the driver reads them before the call returns.
    unsafe { functions.cuStreamBatchMemOp_v2(pointer(stream.0), count, entries.as_mut_ptr(), 0) }
}

/// The flags of a wait with this condition.
fn wait_flags(condition: WaitCondition) -> c_uint {
    match condition {
        WaitCondition::Geq => CU_STREAM_WAIT_VALUE_GEQ,
        WaitCondition::Eq => CU_STREAM_WAIT_VALUE_EQ,
        WaitCondition::And => CU_STREAM_WAIT_VALUE_AND,
        WaitCondition::Nor => CU_STREAM_WAIT_VALUE_NOR,
    }
}

/// One operation of a batch.
fn batch_entry(op: &MemOp) -> CUstreamBatchMemOpParams {
    let mut words = [0_u64; 6];
    // The wait and the write have the same layout: operation, address, value, flags (the alias stays 0). Whole words
    // are written, so that no byte of the union stays undefined.
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

/// The bits of a value that a width has.
fn masked(value: u64, width: Width) -> u64 {
    match width {
        Width::W32 => u64::from(value as u32),
        Width::W64 => value,
    }
}

// Whole words put each field in its place only on little-endian machines with this layout.
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
