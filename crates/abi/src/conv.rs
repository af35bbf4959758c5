//! CUDA's structures for copies of two and three dimensions, and [`Shape`], in both directions. No other file knows
//! their fields.

use std::ffi::c_void;

use hal::{Declared, Shape, Side};

use crate::types::*;

/// The reason why a structure has no shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misfit {
    /// A side is an array.
    Array,
    /// A memory type, a level of detail or a reserved field has a value that the manual does not give it.
    Unknown,
    /// Rows or slices are longer than the distance between them, or a number exceeds 64 bits.
    Numbers,
}

/// One side of a structure, as the program has written it.
struct Raw {
    kind: CUmemorytype,
    host: *const c_void,
    device: CUdeviceptr,
    array: CUarray,
    offset: [usize; 3],
    pitch_bytes: usize,
    slice_rows: usize,
}

impl Raw {
    fn declared(&self) -> Result<(Declared, u64), Misfit> {
        match self.kind {
            CU_MEMORYTYPE_HOST => Ok((Declared::Host, self.host.addr() as u64)),
            CU_MEMORYTYPE_DEVICE => Ok((Declared::Device, self.device)),
            CU_MEMORYTYPE_UNIFIED => Ok((Declared::Unified, self.device)),
            CU_MEMORYTYPE_ARRAY if !self.array.is_null() => Err(Misfit::Array),
            _ => Err(Misfit::Unknown),
        }
    }

    /// The side with its offsets added. A pitch of 0 means that a row begins where the one before ends, and 0 rows that
    /// a slice does. The manual allows 0 for single rows only; driver 580 was seen to read it so for several.
    fn side(&self, width_bytes: u64, height: u64) -> Option<Side> {
        let (declared, base) = self.declared().ok()?;
        let [x_bytes, y, z] = self.offset.map(|offset| offset as u64);
        let (row_end, rows_end) = (x_bytes.checked_add(width_bytes)?, y.checked_add(height)?);
        let pitch = if self.pitch_bytes == 0 { row_end } else { self.pitch_bytes as u64 };
        let rows = if self.slice_rows == 0 { rows_end } else { self.slice_rows as u64 };
        if row_end > pitch || rows_end > rows {
            return None;
        }
        let rows_before = z.checked_mul(rows)?.checked_add(y)?;
        let address = base.checked_add(rows_before.checked_mul(pitch)?.checked_add(x_bytes)?)?;
        Some(Side { address, declared, row_pitch_bytes: pitch, slice_pitch_bytes: pitch.checked_mul(rows)? })
    }
}

/// The shape of two sides. An empty shape has no place, because the driver ignores the other numbers of an empty copy.
fn shape(target: &Raw, source: &Raw, extent: [usize; 3]) -> Result<Shape, Misfit> {
    let (source_place, target_place) = (source.declared()?, target.declared()?);
    let [width_bytes, rows, depth] = extent.map(|number| number as u64);
    if extent.contains(&0) {
        let nowhere = |declared| Side { declared, ..Side::unified(0) };
        let (target, source) = (nowhere(target_place.0), nowhere(source_place.0));
        return Ok(Shape { target, source, width_bytes, rows, depth });
    }
    let side = |raw: &Raw| raw.side(width_bytes, rows).ok_or(Misfit::Numbers);
    Ok(Shape { target: side(target)?, source: side(source)?, width_bytes, rows, depth })
}

/// The shape of a rectangle.
pub fn shape_2d(copy: &CUDA_MEMCPY2D) -> Result<Shape, Misfit> {
    let target = Raw {
        kind: copy.dstMemoryType,
        host: copy.dstHost,
        device: copy.dstDevice,
        array: copy.dstArray,
        offset: [copy.dstXInBytes, copy.dstY, 0],
        pitch_bytes: copy.dstPitch,
        slice_rows: 0,
    };
    let source = Raw {
        kind: copy.srcMemoryType,
        host: copy.srcHost,
        device: copy.srcDevice,
        array: copy.srcArray,
        offset: [copy.srcXInBytes, copy.srcY, 0],
        pitch_bytes: copy.srcPitch,
        slice_rows: 0,
    };
    shape(&target, &source, [copy.WidthInBytes, copy.Height, 1])
}

/// The shape of a box. Levels of detail belong to arrays, and the reserved fields must be null.
pub fn shape_3d(copy: &CUDA_MEMCPY3D) -> Result<Shape, Misfit> {
    if copy.srcLOD != 0 || copy.dstLOD != 0 || !copy.reserved0.is_null() || !copy.reserved1.is_null() {
        return Err(Misfit::Unknown);
    }
    let target = Raw {
        kind: copy.dstMemoryType,
        host: copy.dstHost,
        device: copy.dstDevice,
        array: copy.dstArray,
        offset: [copy.dstXInBytes, copy.dstY, copy.dstZ],
        pitch_bytes: copy.dstPitch,
        slice_rows: copy.dstHeight,
    };
    let source = Raw {
        kind: copy.srcMemoryType,
        host: copy.srcHost,
        device: copy.srcDevice,
        array: copy.srcArray,
        offset: [copy.srcXInBytes, copy.srcY, copy.srcZ],
        pitch_bytes: copy.srcPitch,
        slice_rows: copy.srcHeight,
    };
    shape(&target, &source, [copy.WidthInBytes, copy.Height, copy.Depth])
}

/// The memory type of a side, its host pointer and its device pointer. The driver reads the one that the type names.
fn place(side: Side) -> (CUmemorytype, *mut c_void, CUdeviceptr) {
    let null = std::ptr::null_mut();
    match side.declared {
        Declared::Host => (CU_MEMORYTYPE_HOST, std::ptr::with_exposed_provenance_mut(side.address as usize), 0),
        Declared::Device => (CU_MEMORYTYPE_DEVICE, null, side.address),
        Declared::Unified => (CU_MEMORYTYPE_UNIFIED, null, side.address),
    }
}

/// The structure of a shape of one slice.
#[must_use]
pub fn memcpy_2d(shape: &Shape) -> CUDA_MEMCPY2D {
    let (source, target) = (place(shape.source), place(shape.target));
    CUDA_MEMCPY2D {
        srcXInBytes: 0,
        srcY: 0,
        srcMemoryType: source.0,
        srcHost: source.1,
        srcDevice: source.2,
        srcArray: std::ptr::null_mut(),
        srcPitch: shape.source.row_pitch_bytes as usize,
        dstXInBytes: 0,
        dstY: 0,
        dstMemoryType: target.0,
        dstHost: target.1,
        dstDevice: target.2,
        dstArray: std::ptr::null_mut(),
        dstPitch: shape.target.row_pitch_bytes as usize,
        WidthInBytes: shape.width_bytes as usize,
        Height: shape.rows as usize,
    }
}

/// The structure of a shape; `None` where slices are no whole number of rows apart.
#[must_use]
pub fn memcpy_3d(shape: &Shape) -> Option<CUDA_MEMCPY3D> {
    let (source, target) = (place(shape.source), place(shape.target));
    Some(CUDA_MEMCPY3D {
        srcXInBytes: 0,
        srcY: 0,
        srcZ: 0,
        srcLOD: 0,
        srcMemoryType: source.0,
        srcHost: source.1,
        srcDevice: source.2,
        srcArray: std::ptr::null_mut(),
        reserved0: std::ptr::null_mut(),
        srcPitch: shape.source.row_pitch_bytes as usize,
        srcHeight: shape.source.slice_rows()? as usize,
        dstXInBytes: 0,
        dstY: 0,
        dstZ: 0,
        dstLOD: 0,
        dstMemoryType: target.0,
        dstHost: target.1,
        dstDevice: target.2,
        dstArray: std::ptr::null_mut(),
        reserved1: std::ptr::null_mut(),
        dstPitch: shape.target.row_pitch_bytes as usize,
        dstHeight: shape.target.slice_rows()? as usize,
        WidthInBytes: shape.width_bytes as usize,
        Height: shape.rows as usize,
        Depth: shape.depth as usize,
    })
}

#[cfg(test)]
mod tests {
    use hal::DevicePtr;

    use super::*;

    /// From host to device, 16 bytes by 4 rows by 2 slices, without offsets.
    fn cuboid() -> CUDA_MEMCPY3D {
        let source = Side::host(0x1000).pitched(32, 32 * 8);
        let target = Side::device(DevicePtr(0x2000)).pitched(16, 16 * 4);
        memcpy_3d(&Shape { target, source, width_bytes: 16, rows: 4, depth: 2 }).unwrap()
    }

    /// One slice of it.
    fn rectangle() -> CUDA_MEMCPY2D {
        let source = Side::host(0x1000).pitched(32, 0);
        let target = Side::device(DevicePtr(0x2000)).pitched(16, 0);
        memcpy_2d(&Shape { target, source, width_bytes: 16, rows: 4, depth: 1 })
    }

    #[test]
    fn each_side_fills_the_field_that_its_memory_type_names() {
        let raw = rectangle();
        assert_eq!((raw.srcMemoryType, raw.srcHost as usize, raw.srcDevice), (CU_MEMORYTYPE_HOST, 0x1000, 0));
        assert_eq!((raw.dstMemoryType, raw.dstHost.is_null(), raw.dstDevice), (CU_MEMORYTYPE_DEVICE, true, 0x2000));
        assert_eq!((raw.srcPitch, raw.dstPitch, raw.WidthInBytes, raw.Height), (32, 16, 16, 4));
        let unified = memcpy_2d(&Shape { target: Side::unified(7), ..shape_2d(&raw).unwrap() });
        assert_eq!((unified.dstMemoryType, unified.dstDevice), (CU_MEMORYTYPE_UNIFIED, 7));
    }

    #[test]
    fn a_shape_comes_back_from_its_structure_unchanged() {
        let shape = shape_3d(&cuboid()).unwrap();
        assert_eq!(shape_3d(&memcpy_3d(&shape).unwrap()), Ok(shape));
        let uneven = Shape { source: shape.source.pitched(32, 100), ..shape };
        assert!(memcpy_3d(&uneven).is_none(), "100 bytes are no whole number of rows of 32");
    }

    #[test]
    fn offsets_are_added_and_pitches_of_zero_replaced() {
        let packed = CUDA_MEMCPY2D { srcXInBytes: 3, srcY: 2, srcPitch: 0, ..rectangle() };
        let shape = shape_2d(&CUDA_MEMCPY2D { dstXInBytes: 8, dstY: 1, dstPitch: 64, ..packed }).unwrap();
        assert_eq!((shape.source.address, shape.source.row_pitch_bytes), (0x1000 + 2 * 19 + 3, 19));
        assert_eq!((shape.target.address, shape.target.row_pitch_bytes), (0x2000 + 64 + 8, 64));
        let at = |rows| CUDA_MEMCPY3D { srcXInBytes: 1, srcY: 2, srcZ: 3, srcHeight: rows, ..cuboid() };
        assert_eq!(shape_3d(&at(0)).unwrap().source.address, 0x1000 + (3 * 6 + 2) * 32 + 1);
        let source = shape_3d(&at(10)).unwrap().source;
        assert_eq!((source.address, source.slice_pitch_bytes), (0x1000 + (3 * 10 + 2) * 32 + 1, 320));
    }

    #[test]
    fn arrays_and_values_beyond_the_manual_have_no_shape() {
        let array = CUDA_MEMCPY2D { dstMemoryType: CU_MEMORYTYPE_ARRAY, ..rectangle() };
        assert_eq!(shape_2d(&array), Err(Misfit::Unknown), "no array is named");
        let handle: CUarray = std::ptr::without_provenance_mut(0x30);
        assert_eq!(shape_2d(&CUDA_MEMCPY2D { dstArray: handle, ..array }), Err(Misfit::Array));
        assert_eq!(shape_2d(&CUDA_MEMCPY2D { srcMemoryType: 9, ..rectangle() }), Err(Misfit::Unknown));
        assert_eq!(shape_3d(&CUDA_MEMCPY3D { srcLOD: 1, ..cuboid() }), Err(Misfit::Unknown));
        let reserved = std::ptr::without_provenance_mut(8);
        assert_eq!(shape_3d(&CUDA_MEMCPY3D { reserved1: reserved, ..cuboid() }), Err(Misfit::Unknown));
    }

    #[test]
    fn numbers_that_exceed_their_pitch_or_64_bits_have_no_shape() {
        const FAR: usize = 1 << 62;
        for copy in [
            CUDA_MEMCPY2D { dstXInBytes: 1, ..rectangle() },
            CUDA_MEMCPY2D { srcPitch: 15, ..rectangle() },
            CUDA_MEMCPY2D { srcXInBytes: usize::MAX - 8, ..rectangle() },
            CUDA_MEMCPY2D { srcY: FAR, ..rectangle() },
            CUDA_MEMCPY2D { srcDevice: u64::MAX, srcMemoryType: CU_MEMORYTYPE_UNIFIED, srcY: 1, ..rectangle() },
        ] {
            assert_eq!(shape_2d(&copy), Err(Misfit::Numbers), "{copy:?}");
        }
        for copy in [
            CUDA_MEMCPY3D { srcHeight: 3, ..cuboid() },
            CUDA_MEMCPY3D { srcY: 5, ..cuboid() },
            CUDA_MEMCPY3D { srcZ: FAR, ..cuboid() },
            CUDA_MEMCPY3D { dstHeight: FAR, ..cuboid() },
        ] {
            assert_eq!(shape_3d(&copy), Err(Misfit::Numbers), "{copy:?}");
        }
    }

    #[test]
    fn an_empty_copy_is_empty_with_any_other_numbers() {
        let empty = CUDA_MEMCPY2D { Height: 0, srcPitch: 1, dstY: usize::MAX, ..rectangle() };
        let shape = shape_2d(&empty).unwrap();
        assert_eq!((shape.bytes(), shape.fits()), (0, false));
        assert_eq!(shape_2d(&CUDA_MEMCPY2D { srcMemoryType: 9, ..empty }), Err(Misfit::Unknown));
    }
}
