//! Stream memory operations. The first prototypes (CUDA 8) are refused, as drivers refuse them by default today.
#![allow(unsafe_code)]
#![allow(non_snake_case)]

use abi::Flavour;
use abi::types::*;
use hal::{Code, DevicePtr, Driver, MemOp, WaitCondition, Width};

use crate::answer::{Answer, array, refuse, require};
use crate::soft::{gpu, stream};

/// The driver refuses batches with more operations than this.
const BATCH_LEN_MAX: u32 = 255;

fn wait(address: CUdeviceptr, value: u64, width: Width, flags: c_uint) -> Answer<MemOp> {
    // This device has no remote writes to flush.
    require(flags & CU_STREAM_WAIT_VALUE_FLUSH == 0, Code::NOT_SUPPORTED)?;
    let condition = match flags {
        CU_STREAM_WAIT_VALUE_GEQ => WaitCondition::Geq,
        CU_STREAM_WAIT_VALUE_EQ => WaitCondition::Eq,
        CU_STREAM_WAIT_VALUE_AND => WaitCondition::And,
        CU_STREAM_WAIT_VALUE_NOR => WaitCondition::Nor,
        _ => return refuse(Code::INVALID_VALUE),
    };
    Ok(MemOp::Wait { address: DevicePtr(address), value, width, condition })
}

/// The manual permits a write without a barrier, but the measured drivers refuse it.
fn write(address: CUdeviceptr, value: u64, width: Width, flags: c_uint) -> Answer<MemOp> {
    require(flags == CU_STREAM_WRITE_VALUE_DEFAULT, Code::INVALID_VALUE)?;
    Ok(MemOp::Write { address: DevicePtr(address), value, width })
}

/// One entry of a batch. A memory barrier needs nothing here, because every write is visible at once.
fn entry(params: &CUstreamBatchMemOpParams) -> Answer<Option<MemOp>> {
    // SAFETY: the union is plain old data without invalid values, and C initialised all of the entry that its
    // operation gives a meaning to; `operation` is the first member of every part.
    let operation = unsafe { params.operation };
    let width = match operation {
        CU_STREAM_MEM_OP_WAIT_VALUE_32 | CU_STREAM_MEM_OP_WRITE_VALUE_32 => Width::W32,
        CU_STREAM_MEM_OP_WAIT_VALUE_64 | CU_STREAM_MEM_OP_WRITE_VALUE_64 => Width::W64,
        CU_STREAM_MEM_OP_BARRIER => return Ok(None),
        CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES => return refuse(Code::NOT_SUPPORTED),
        _ => return refuse(Code::INVALID_VALUE),
    };
    // SAFETY: as above; for these four operations the part is a wait or a write, whose layouts are the same.
    let part = unsafe { params.waitValue };
    let value = match width {
        // SAFETY: as above; a narrow operation gives a meaning to the narrow member alone.
        Width::W32 => u64::from(unsafe { part.__bindgen_anon_1.value }),
        // SAFETY: as above, for the wide member.
        Width::W64 => unsafe { part.__bindgen_anon_1.value64 },
    };
    match operation {
        CU_STREAM_MEM_OP_WAIT_VALUE_32 | CU_STREAM_MEM_OP_WAIT_VALUE_64 => wait(part.address, value, width, part.flags),
        _ => write(part.address, value, width, part.flags),
    }
    .map(Some)
}

const _: () = {
    type Wait = CUstreamBatchMemOpParams_union_CUstreamMemOpWaitValueParams_st;
    type Write = CUstreamBatchMemOpParams_union_CUstreamMemOpWriteValueParams_st;
    assert!(std::mem::offset_of!(Wait, address) == std::mem::offset_of!(Write, address));
    assert!(std::mem::offset_of!(Wait, __bindgen_anon_1) == std::mem::offset_of!(Write, __bindgen_anon_1));
    assert!(std::mem::offset_of!(Wait, flags) == std::mem::offset_of!(Write, flags));
    assert!(size_of::<Wait>() == size_of::<Write>());
};

pub unsafe fn cuStreamWaitValue32_v2(
    flavour: Flavour,
    h_stream: CUstream,
    addr: CUdeviceptr,
    value: cuuint32_t,
    flags: c_uint,
) -> Answer {
    let gpu = gpu()?;
    Ok(gpu.mem_op(stream(flavour, h_stream), wait(addr, u64::from(value), Width::W32, flags)?)?)
}

pub unsafe fn cuStreamWaitValue64_v2(
    flavour: Flavour,
    h_stream: CUstream,
    addr: CUdeviceptr,
    value: cuuint64_t,
    flags: c_uint,
) -> Answer {
    let gpu = gpu()?;
    Ok(gpu.mem_op(stream(flavour, h_stream), wait(addr, value, Width::W64, flags)?)?)
}

pub unsafe fn cuStreamWriteValue32_v2(
    flavour: Flavour,
    h_stream: CUstream,
    addr: CUdeviceptr,
    value: cuuint32_t,
    flags: c_uint,
) -> Answer {
    let gpu = gpu()?;
    Ok(gpu.mem_op(stream(flavour, h_stream), write(addr, u64::from(value), Width::W32, flags)?)?)
}

pub unsafe fn cuStreamWriteValue64_v2(
    flavour: Flavour,
    h_stream: CUstream,
    addr: CUdeviceptr,
    value: cuuint64_t,
    flags: c_uint,
) -> Answer {
    let gpu = gpu()?;
    Ok(gpu.mem_op(stream(flavour, h_stream), write(addr, value, Width::W64, flags)?)?)
}

pub unsafe fn cuStreamBatchMemOp_v2(
    flavour: Flavour,
    h_stream: CUstream,
    count: c_uint,
    param_array: *mut CUstreamBatchMemOpParams,
    flags: c_uint,
) -> Answer {
    let gpu = gpu()?;
    require(flags == 0 && count <= BATCH_LEN_MAX, Code::INVALID_VALUE)?;
    // SAFETY: the caller's promise that the array holds `count` entries.
    let entries = unsafe { array(param_array.cast_const(), count as usize) }?;
    let ops: Vec<MemOp> = entries.iter().filter_map(|params| entry(params).transpose()).collect::<Answer<_>>()?;
    if ops.is_empty() {
        return Ok(());
    }
    Ok(gpu.mem_op_batch(stream(flavour, h_stream), &ops)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(operation: u32, value: u64, flags: u32) -> CUstreamBatchMemOpParams {
        CUstreamBatchMemOpParams { pad: [u64::from(operation), 0x1000, value, u64::from(flags), 0, 0] }
    }

    #[test]
    fn entries_are_read_at_their_width() {
        let narrow = entry(&params(CU_STREAM_MEM_OP_WAIT_VALUE_32, 0x1_0000_0007, CU_STREAM_WAIT_VALUE_AND));
        assert_eq!(narrow, Ok(Some(MemOp::wait32(DevicePtr(0x1000), 7, WaitCondition::And))));
        let wide = entry(&params(CU_STREAM_MEM_OP_WRITE_VALUE_64, 0x1_0000_0007, 0));
        assert_eq!(wide, Ok(Some(MemOp::write64(DevicePtr(0x1000), 0x1_0000_0007))));
        assert_eq!(entry(&params(CU_STREAM_MEM_OP_BARRIER, 0, 0)), Ok(None));
        assert_eq!(entry(&params(CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES, 0, 0)), refuse(Code::NOT_SUPPORTED));
        assert_eq!(entry(&params(77, 0, 0)), refuse(Code::INVALID_VALUE));
        assert_eq!(entry(&params(CU_STREAM_MEM_OP_WRITE_VALUE_32, 0, 1)), refuse(Code::INVALID_VALUE));
        assert_eq!(entry(&params(CU_STREAM_MEM_OP_WAIT_VALUE_32, 0, 1 << 30)), refuse(Code::NOT_SUPPORTED));
    }
}
