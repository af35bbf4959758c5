//! Batches of copies. They are submitted one after the other, which the manual allows.
#![allow(unsafe_code)]
#![allow(non_snake_case)]

use abi::Flavour;
use abi::types::*;
use hal::{Code, DevicePtr, Driver, Stream};

use crate::answer::{Answer, Out, Refusal, array, refuse, require};
use crate::soft::{gpu, stream};

/// The value of `failIdx` when no single copy is to blame.
const NO_COPY: usize = usize::MAX;

/// A batch whose attributes have been checked.
struct Batch<'call> {
    targets: &'call [CUdeviceptr],
    sources: &'call [CUdeviceptr],
    sizes: &'call [usize],
    /// Whether some source may be gone when the call returns.
    consumes: bool,
}

/// A refusal, and the copy that is to blame.
type Blame = (Refusal, usize);

fn no_copy(refusal: Refusal) -> Blame {
    (refusal, NO_COPY)
}

/// Checks the attributes that cover the copies from `starts[i]` on. Returns whether a source has to be read before
/// the call returns.
fn look_through(attributes: &[CUmemcpyAttributes], starts: &[usize], count: usize) -> Answer<bool> {
    let ordered = starts.first() == Some(&0) && starts.is_sorted_by(|a, b| a < b);
    require(ordered && starts.iter().all(|start| *start < count), Code::INVALID_VALUE)?;
    let mut consumes = false;
    for attribute in attributes {
        match attribute.srcAccessOrder {
            CU_MEMCPY_SRC_ACCESS_ORDER_STREAM | CU_MEMCPY_SRC_ACCESS_ORDER_ANY => {}
            CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL => consumes = true,
            _ => return refuse(Code::INVALID_VALUE),
        }
    }
    Ok(consumes)
}

impl Batch<'_> {
    unsafe fn submit(&self, stream: Stream) -> Result<(), Blame> {
        let gpu = gpu().map_err(no_copy)?;
        for (index, bytes) in self.sizes.iter().enumerate() {
            let (target, source) = (DevicePtr(self.targets[index]), DevicePtr(self.sources[index]));
            require(*bytes > 0, Code::INVALID_VALUE).map_err(|refusal| (refusal, index))?;
            // SAFETY: the caller's promise for the ranges of every copy until it has completed.
            let outcome = unsafe { gpu.copy_async(target, source, *bytes as u64, stream) };
            outcome.map_err(|error| (error.into(), index))?;
        }
        if self.consumes {
            // The sources may be overwritten as soon as this call returns, so it waits until they have been read.
            gpu.stream_synchronize(stream).map_err(|error| no_copy(error.into()))?;
        }
        Ok(())
    }
}

/// The arguments that both prototypes share.
struct Arguments {
    targets: *const CUdeviceptr,
    sources: *const CUdeviceptr,
    sizes: *const usize,
    count: usize,
    attributes: *const CUmemcpyAttributes,
    starts: *const usize,
    attribute_count: usize,
    /// The handle that the program passed.
    handle: CUstream,
    stream: Stream,
}

impl Arguments {
    unsafe fn look_through<'call>(&self) -> Answer<Batch<'call>> {
        // A batch is refused on the legacy stream, by either of its names, and without a stream: measured on an H100
        // (driver 580) that the per-thread flavour refuses handle 0 as well.
        let stream_fits = !self.handle.is_null() && self.stream != Stream::LEGACY;
        require(stream_fits && self.count > 0 && self.attribute_count > 0, Code::INVALID_VALUE)?;
        // SAFETY: the caller's promise that each array is as long as its count says.
        unsafe {
            let attributes = array(self.attributes, self.attribute_count)?;
            let consumes = look_through(attributes, array(self.starts, self.attribute_count)?, self.count)?;
            let (targets, sources) = (array(self.targets, self.count)?, array(self.sources, self.count)?);
            Ok(Batch { targets, sources, sizes: array(self.sizes, self.count)?, consumes })
        }
    }

    unsafe fn run(&self) -> Result<(), Blame> {
        // SAFETY: the same promise.
        unsafe { self.look_through().map_err(no_copy)?.submit(self.stream) }
    }
}

/// The prototype of CUDA 12.8, which reports the copy that failed.
pub unsafe fn cuMemcpyBatchAsync(
    flavour: Flavour,
    dsts: *mut CUdeviceptr,
    srcs: *mut CUdeviceptr,
    sizes: *mut usize,
    count: usize,
    attrs: *mut CUmemcpyAttributes,
    attrs_idxs: *mut usize,
    num_attrs: usize,
    fail_idx: *mut usize,
    h_stream: CUstream,
) -> Answer {
    gpu()?;
    let arguments = Arguments {
        targets: dsts,
        sources: srcs,
        sizes,
        count,
        attributes: attrs,
        starts: attrs_idxs,
        attribute_count: num_attrs,
        handle: h_stream,
        stream: stream(flavour, h_stream),
    };
    // SAFETY: the caller's promise for the arrays and the ranges that they name.
    let Err((refusal, index)) = (unsafe { arguments.run() }) else { return Ok(()) };
    if !fail_idx.is_null() {
        // SAFETY: the caller's promise for this output.
        unsafe { Out::new(fail_idx) }?.set(index);
    }
    Err(refusal)
}

/// The prototype of CUDA 13.
pub unsafe fn cuMemcpyBatchAsync_v2(
    flavour: Flavour,
    dsts: *mut CUdeviceptr,
    srcs: *mut CUdeviceptr,
    sizes: *mut usize,
    count: usize,
    attrs: *mut CUmemcpyAttributes,
    attrs_idxs: *mut usize,
    num_attrs: usize,
    h_stream: CUstream,
) -> Answer {
    let nowhere = std::ptr::null_mut();
    // SAFETY: the same promise; there is no place for the index of a failed copy.
    unsafe { cuMemcpyBatchAsync(flavour, dsts, srcs, sizes, count, attrs, attrs_idxs, num_attrs, nowhere, h_stream) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attributes(orders: &[CUmemcpySrcAccessOrder]) -> Vec<CUmemcpyAttributes> {
        let nowhere = || CUmemLocation { type_: 0, id: 0 };
        let with = |order: &CUmemcpySrcAccessOrder| CUmemcpyAttributes {
            srcAccessOrder: *order,
            srcLocHint: nowhere(),
            dstLocHint: nowhere(),
            flags: 0,
        };
        orders.iter().map(with).collect()
    }

    #[test]
    fn attributes_cover_the_batch_from_its_first_copy_on() {
        let two = attributes(&[CU_MEMCPY_SRC_ACCESS_ORDER_STREAM, CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL]);
        assert_eq!(look_through(&two, &[0, 3], 4), Ok(true));
        assert_eq!(look_through(&two[..1], &[0], 4), Ok(false));
        for starts in [[0, 4], [1, 2], [0, 0]] {
            assert_eq!(look_through(&two, &starts, 4), refuse(Code::INVALID_VALUE), "{starts:?}");
        }
        assert_eq!(look_through(&attributes(&[9]), &[0], 4), refuse(Code::INVALID_VALUE));
    }
}
