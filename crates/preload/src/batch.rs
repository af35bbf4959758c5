//! Batches of copies.
#![allow(unsafe_code)] // the prototypes are the driver's
#![allow(non_snake_case)]
#![allow(clippy::too_many_arguments)]

use abi::types::*;
use copies::copy::Request;
use hal::DevicePtr;
use shim::{Call, Native};

use crate::copy::{leave_alone, submit};
use crate::hooks::Hook;

/// The arrays of a batch, as the program passed them.
struct Arrays {
    targets: *const CUdeviceptr,
    sources: *const CUdeviceptr,
    sizes: *const usize,
    count: usize,
    attributes: *const CUmemcpyAttributes,
    starts: *const usize,
    attribute_count: usize,
}

/// # Safety
/// `start` is null or points to `count` values.
unsafe fn array<'a, T>(start: *const T, count: usize) -> Option<&'a [T]> {
    // No program has an array longer than that, and a slice must not be longer.
    let fits = count <= isize::MAX as usize / size_of::<T>();
    // SAFETY: not null, and the caller's promise.
    (fits && !start.is_null()).then(|| unsafe { std::slice::from_raw_parts(start, count) })
}

impl Arrays {
    /// The copies; `None` if one of them may be made out of the order of the stream, or has an attribute that we do not
    /// know.
    ///
    /// # Safety
    /// The arrays are null or as long as the counts say.
    unsafe fn decode(&self) -> Option<Vec<Request>> {
        // SAFETY: the caller's promise.
        let (attributes, starts) =
            unsafe { (array(self.attributes, self.attribute_count)?, array(self.starts, self.attribute_count)?) };
        // SAFETY: the caller's promise.
        let (targets, sources, sizes) = unsafe {
            (array(self.targets, self.count)?, array(self.sources, self.count)?, array(self.sizes, self.count)?)
        };
        if !covers(starts, self.count) || !attributes.iter().all(is_plain) || sizes.contains(&0) {
            return None;
        }
        let request = |((&target, &source), &bytes): ((&CUdeviceptr, &CUdeviceptr), &usize)| {
            Request::linear(DevicePtr(target), DevicePtr(source), bytes as u64)
        };
        Some(targets.iter().zip(sources).zip(sizes).map(request).collect())
    }
}

/// Attributes hold for ranges of copies: the first range must begin at the first copy, and no range may be empty.
fn covers(starts: &[usize], count: usize) -> bool {
    starts.first() == Some(&0) && starts.is_sorted_by(|a, b| a < b) && starts.last().is_some_and(|last| *last < count)
}

/// The source may be read when the copy's turn in the stream comes, and the program asks for nothing else. (It can ask
/// to leave the multiprocessors alone, which a copy kernel would not do.)
fn is_plain(attributes: &CUmemcpyAttributes) -> bool {
    let order = attributes.srcAccessOrder;
    let later = order == CU_MEMCPY_SRC_ACCESS_ORDER_STREAM || order == CU_MEMCPY_SRC_ACCESS_ORDER_ANY;
    later && attributes.flags == CU_MEMCPY_FLAG_DEFAULT
}

/// # Safety
/// The arrays are the program's arguments.
unsafe fn batch(hook: Hook, native: impl Fn() -> CUresult, arrays: &Arrays, stream: CUstream) -> CUresult {
    let stream = hook.stream(stream);
    let native = || native().0;
    let native = Native::asynchronous(&native);
    submit(hook, &native, || {
        // A batch in a default stream, the per-thread one included, is an error (seen on an H100, driver 580). The
        // driver reports it.
        if stream.is_default() {
            return None;
        }
        // SAFETY: the caller's promise.
        let Some(requests) = (unsafe { arrays.decode() }) else {
            return leave_alone(&native, stream);
        };
        let call = Call { requests: &requests, stream, caller: 0, native: &native };
        // SAFETY: the program vouches for the ranges of every copy.
        Some(unsafe { shim::copy(&call) })
    })
}

pub unsafe fn cuMemcpyBatchAsync(
    hook: Hook,
    native: impl Fn() -> CUresult,
    targets: *mut CUdeviceptr,
    sources: *mut CUdeviceptr,
    sizes: *mut usize,
    count: usize,
    attributes: *mut CUmemcpyAttributes,
    starts: *mut usize,
    attribute_count: usize,
    _failed: *mut usize,
    stream: CUstream,
) -> CUresult {
    // This is the newer prototype without the output for the index of a failed copy. Only the real call writes that.
    // SAFETY: the program's own arguments.
    unsafe {
        cuMemcpyBatchAsync_v2(hook, native, targets, sources, sizes, count, attributes, starts, attribute_count, stream)
    }
}

pub unsafe fn cuMemcpyBatchAsync_v2(
    hook: Hook,
    native: impl Fn() -> CUresult,
    targets: *mut CUdeviceptr,
    sources: *mut CUdeviceptr,
    sizes: *mut usize,
    count: usize,
    attributes: *mut CUmemcpyAttributes,
    starts: *mut usize,
    attribute_count: usize,
    stream: CUstream,
) -> CUresult {
    let arrays = Arrays { targets, sources, sizes, count, attributes, starts, attribute_count };
    // SAFETY: the program's own arguments.
    unsafe { batch(hook, native, &arrays, stream) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attributes(order: CUmemcpySrcAccessOrder, flags: u32) -> CUmemcpyAttributes {
        let nowhere = || CUmemLocation { type_: 0, id: 0 };
        CUmemcpyAttributes { srcAccessOrder: order, srcLocHint: nowhere(), dstLocHint: nowhere(), flags }
    }

    /// The number of copies in a decoded batch of two.
    fn decoded(attributes: &[CUmemcpyAttributes], starts: &[usize], sizes: [usize; 2]) -> Option<usize> {
        let (targets, sources) = ([0x1000, 0x2000], [0x3000, 0x4000]);
        let arrays = Arrays {
            targets: targets.as_ptr(),
            sources: sources.as_ptr(),
            sizes: sizes.as_ptr(),
            count: 2,
            attributes: attributes.as_ptr(),
            starts: starts.as_ptr(),
            attribute_count: attributes.len(),
        };
        // SAFETY: every array is a live local of the length that is said.
        unsafe { arrays.decode() }.map(|requests| requests.len())
    }

    #[test]
    fn plain_batches_are_decoded_and_others_are_not() {
        let (in_order, any) = (CU_MEMCPY_SRC_ACCESS_ORDER_STREAM, CU_MEMCPY_SRC_ACCESS_ORDER_ANY);
        assert_eq!(decoded(&[attributes(in_order, 0)], &[0], [1, 2]), Some(2));
        assert_eq!(decoded(&[attributes(in_order, 0), attributes(any, 0)], &[0, 1], [1, 2]), Some(2));
        assert_eq!(decoded(&[attributes(CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL, 0)], &[0], [1, 2]), None);
        assert_eq!(decoded(&[attributes(in_order, 1)], &[0], [1, 2]), None);
        assert_eq!(decoded(&[attributes(in_order, 0)], &[1], [1, 2]), None);
        assert_eq!(decoded(&[attributes(in_order, 0), attributes(any, 0)], &[0, 2], [1, 2]), None);
        assert_eq!(decoded(&[attributes(in_order, 0)], &[0], [1, 0]), None);
        assert_eq!(decoded(&[], &[], [1, 2]), None);
    }
}
