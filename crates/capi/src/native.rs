//! Copies by the driver, where the layer is off or cannot work in the current context.
#![allow(unsafe_code)] // copies are unsafe; the caller's promise is passed on

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use driver::CudaDriver;
use hal::{Code, Declared, DevicePtr, Driver, Error, Shape, Side, Stream};

use crate::codes::OVERTAKE_ERROR_NO_DRIVER;
use crate::failure::{Failure, Outcome};

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::new(c_int::try_from(error.code().get()).unwrap_or(c_int::MAX), &error.to_string())
    }
}

pub fn driver() -> Outcome<Arc<CudaDriver>> {
    CudaDriver::get().map_err(|error| match error.code() {
        Code::SHARED_OBJECT_INIT_FAILED => Failure::new(OVERTAKE_ERROR_NO_DRIVER, &error.to_string()),
        _ => Failure::from(error),
    })
}

/// The stream of a CUDA handle.
pub fn stream_of(stream: *mut c_void) -> Stream {
    match stream.addr() as u64 {
        0 => Stream::LEGACY,
        handle => Stream(handle),
    }
}

pub struct Rectangle {
    /// The first byte to write.
    pub target: *mut c_void,
    /// Bytes from one row of the target to the next.
    pub target_pitch: usize,
    /// The first byte to read.
    pub source: *const c_void,
    /// Bytes from one row of the source to the next.
    pub source_pitch: usize,
    /// Bytes of a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
}

fn declared(kind: c_int) -> Outcome<(Declared, Declared)> {
    let unknown = "kind is one of OVERTAKE_COPY_..., which are the numbers of cudaMemcpyKind";
    shim::declared(kind).ok_or_else(|| Failure::argument(unknown))
}

/// One copy.
///
/// # Safety
/// As for `cudaMemcpyAsync`.
pub unsafe fn copy(
    target: *mut c_void,
    source: *const c_void,
    bytes: usize,
    kind: c_int,
    stream: *mut c_void,
) -> Outcome {
    let (driver, sides, stream, size) = (driver()?, declared(kind)?, stream_of(stream), bytes as u64);
    let (to, from) = (DevicePtr(target.expose_provenance() as u64), DevicePtr(source.expose_provenance() as u64));
    // SAFETY: the caller's promise is the one that the driver demands.
    let outcome = unsafe {
        match sides {
            (_, Declared::Host) => driver.copy_htod_async(to, source.cast(), size, stream),
            (Declared::Host, _) => driver.copy_dtoh_async(target.cast(), from, size, stream),
            _ => driver.copy_async(to, from, size, stream),
        }
    };
    Ok(outcome?)
}

/// A rectangle.
///
/// # Safety
/// As for `cudaMemcpy2DAsync`.
pub unsafe fn copy_2d(rectangle: &Rectangle, kind: c_int, stream: *mut c_void) -> Outcome {
    let (target, source) = declared(kind)?;
    let side = |address: usize, declared, pitch: usize| Side {
        declared,
        ..Side::unified(address as u64).pitched(pitch as u64, 0)
    };
    let shape = Shape {
        target: side(rectangle.target.expose_provenance(), target, rectangle.target_pitch),
        source: side(rectangle.source.expose_provenance(), source, rectangle.source_pitch),
        width_bytes: rectangle.width as u64,
        rows: rectangle.height as u64,
        depth: 1,
    };
    // SAFETY: the caller's promise is the one that the driver demands.
    Ok(unsafe { driver()?.copy_shape_async(&shape, stream_of(stream)) }?)
}
