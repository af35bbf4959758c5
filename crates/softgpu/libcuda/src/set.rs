//! Sets. Words of 16 bits and planes of wider elements are composed from the sets that the seam has.
#![allow(unsafe_code)]
#![allow(non_snake_case)]

use abi::Flavour;
use abi::types::*;
use hal::{Code, DevicePtr, Driver, MemoryKind, Stream};
use softgpu::SoftGpu;

use crate::answer::{Answer, Refusal, require};
use crate::soft::{default_stream, gpu, stream};

/// The value of one element.
#[derive(Clone, Copy)]
enum Element {
    Byte(u8),
    Half(u16),
    Word(u32),
}

impl Element {
    fn bytes(self) -> u64 {
        match self {
            Element::Byte(_) => 1,
            Element::Half(_) => 2,
            Element::Word(_) => 4,
        }
    }
}

/// Rows of elements; a linear set is one row.
struct Rows {
    target: u64,
    pitch_bytes: u64,
    width: u64,
    height: u64,
}

impl Rows {
    fn linear(target: u64, count: usize) -> Rows {
        Rows { target, pitch_bytes: 0, width: count as u64, height: 1 }
    }

    fn plane(target: u64, pitch_bytes: usize, width: usize, height: usize) -> Rows {
        Rows { target, pitch_bytes: pitch_bytes as u64, width: width as u64, height: height as u64 }
    }

    /// The first byte of each row.
    fn starts(&self) -> Answer<impl Iterator<Item = u64> + use<>> {
        let last = self.pitch_bytes.checked_mul(self.height.saturating_sub(1));
        let fits = last.and_then(|offset| self.target.checked_add(offset)).is_some();
        require(fits, Code::INVALID_VALUE)?;
        let (target, pitch_bytes) = (self.target, self.pitch_bytes);
        Ok((0..self.height).map(move |row| target + row * pitch_bytes))
    }

    /// Rows must not overlap, and both they and the start must be aligned to the element.
    fn check(&self, element: Element) -> Answer {
        let width_bytes = self.width.checked_mul(element.bytes()).ok_or(Refusal(Code::INVALID_VALUE))?;
        let wide_enough = self.height <= 1 || width_bytes <= self.pitch_bytes;
        let aligned = self.target.is_multiple_of(element.bytes()) && self.pitch_bytes.is_multiple_of(element.bytes());
        require(wide_enough && aligned, Code::INVALID_VALUE)
    }

    fn submit(&self, gpu: &SoftGpu, element: Element, stream: Stream) -> Answer {
        self.check(element)?;
        match element {
            Element::Byte(value) if self.height == 1 => {
                gpu.memset_d8_async(DevicePtr(self.target), value, self.width, stream)?;
            }
            Element::Byte(value) => {
                let (target, pitch_bytes) = (DevicePtr(self.target), self.pitch_bytes);
                gpu.memset_2d_d8_async(target, pitch_bytes, value, self.width, self.height, stream)?;
            }
            Element::Half(value) => {
                for start in self.starts()? {
                    half_words(gpu, start, value, self.width, stream)?;
                }
            }
            Element::Word(value) => {
                for start in self.starts()? {
                    gpu.memset_d32_async(DevicePtr(start), value, self.width, stream)?;
                }
            }
        }
        Ok(())
    }
}

/// Two planes of bytes with a pitch of two: the low half of every word, then the high half.
fn half_words(gpu: &SoftGpu, start: u64, value: u16, count: u64, stream: Stream) -> Answer {
    for (offset, byte) in value.to_le_bytes().into_iter().enumerate() {
        gpu.memset_2d_d8_async(DevicePtr(start + offset as u64), 2, byte, 1, count, stream)?;
    }
    Ok(())
}

/// A synchronous set waits only where the CPU could see a difference: on pinned host memory.
fn set_synchronously(flavour: Flavour, rows: &Rows, element: Element) -> Answer {
    let (gpu, stream) = (gpu()?, default_stream(flavour));
    rows.submit(gpu, element, stream)?;
    match gpu.pointer_info(rows.target)?.kind {
        MemoryKind::Pinned => Ok(gpu.stream_synchronize(stream)?),
        MemoryKind::Device | MemoryKind::Managed | MemoryKind::Pageable => Ok(()),
    }
}

fn set(flavour: Flavour, h_stream: CUstream, rows: &Rows, element: Element) -> Answer {
    rows.submit(gpu()?, element, stream(flavour, h_stream))
}

/// The four entry points for one element: linear and plane, synchronous and asynchronous.
macro_rules! sets {
    ($linear:ident $linear_async:ident $plane:ident $plane_async:ident $element:ident $type:ty) => {
        pub unsafe fn $linear(flavour: Flavour, target: CUdeviceptr, value: $type, count: usize) -> Answer {
            set_synchronously(flavour, &Rows::linear(target, count), Element::$element(value))
        }

        pub unsafe fn $linear_async(
            flavour: Flavour,
            target: CUdeviceptr,
            value: $type,
            count: usize,
            h_stream: CUstream,
        ) -> Answer {
            set(flavour, h_stream, &Rows::linear(target, count), Element::$element(value))
        }

        pub unsafe fn $plane(
            flavour: Flavour,
            target: CUdeviceptr,
            pitch: usize,
            value: $type,
            width: usize,
            height: usize,
        ) -> Answer {
            set_synchronously(flavour, &Rows::plane(target, pitch, width, height), Element::$element(value))
        }

        pub unsafe fn $plane_async(
            flavour: Flavour,
            target: CUdeviceptr,
            pitch: usize,
            value: $type,
            width: usize,
            height: usize,
            h_stream: CUstream,
        ) -> Answer {
            set(flavour, h_stream, &Rows::plane(target, pitch, width, height), Element::$element(value))
        }
    };
}

sets! { cuMemsetD8_v2 cuMemsetD8Async cuMemsetD2D8_v2 cuMemsetD2D8Async Byte c_uchar }
sets! { cuMemsetD16_v2 cuMemsetD16Async cuMemsetD2D16_v2 cuMemsetD2D16Async Half c_ushort }
sets! { cuMemsetD32_v2 cuMemsetD32Async cuMemsetD2D32_v2 cuMemsetD2D32Async Word c_uint }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_must_be_aligned_and_must_not_overlap() {
        let half = Element::Half(0);
        assert!(Rows::plane(0x1000, 16, 8, 4).check(half).is_ok());
        assert!(Rows::plane(0x1000, 14, 8, 4).check(half).is_err(), "16 bytes in rows of 14");
        assert!(Rows::plane(0x1000, 0, 8, 1).check(half).is_ok(), "one row needs no pitch");
        assert!(Rows::plane(0x1001, 16, 8, 4).check(half).is_err());
        assert!(Rows::plane(0x1000, 17, 8, 4).check(half).is_err());
        assert!(Rows::plane(0x1000, 17, 8, 4).check(Element::Byte(0)).is_ok());
        assert!(Rows::linear(0x1000, usize::MAX).check(Element::Word(0)).is_err(), "more bytes than there are");
    }

    #[test]
    fn rows_start_a_pitch_apart_and_stay_in_the_address_space() {
        let starts = |rows: &Rows| rows.starts().map(|starts| starts.collect::<Vec<u64>>());
        assert_eq!(starts(&Rows::plane(0x1000, 16, 8, 3)), Ok(vec![0x1000, 0x1010, 0x1020]));
        assert_eq!(starts(&Rows::plane(0x1000, 16, 8, 0)), Ok(vec![]));
        assert!(starts(&Rows::plane(u64::MAX - 16, 16, 8, 3)).is_err());
    }
}
