//! Copies as the driver makes them: where the layer is off, or cannot work in the current context, a copy still is one.
#![allow(unsafe_code)] // copies are unsafe; the caller's promise is passed on

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use driver::CudaDriver;
use hal::{Code, Copy2d, DevicePtr, Driver, Endpoint, Error, Plane, Stream};

use crate::codes::OVERTAKE_ERROR_NO_DRIVER;
use crate::copies::{
    OVERTAKE_COPY_DEFAULT, OVERTAKE_COPY_DEVICE_TO_DEVICE, OVERTAKE_COPY_DEVICE_TO_HOST, OVERTAKE_COPY_HOST_TO_DEVICE,
};
use crate::failure::{Failure, Outcome};

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::new(c_int::try_from(error.code().get()).unwrap_or(c_int::MAX), &error.to_string())
    }
}

fn driver() -> Outcome<Arc<CudaDriver>> {
    CudaDriver::get().map_err(|error| match error.code() {
        Code::SHARED_OBJECT_INIT_FAILED => Failure::new(OVERTAKE_ERROR_NO_DRIVER, &error.to_string()),
        _ => Failure::from(error),
    })
}

fn stream_of(stream: *mut c_void) -> Stream {
    match stream.addr() as u64 {
        0 => Stream::LEGACY,
        handle => Stream(handle),
    }
}

/// A rectangle and what it is on.
pub struct Rectangle {
    /// Where it goes.
    pub target: *mut c_void,
    /// Bytes from one row of the target to the next.
    pub target_pitch: usize,
    /// Where it comes from.
    pub source: *const c_void,
    /// Bytes from one row of the source to the next.
    pub source_pitch: usize,
    /// Bytes of a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
}

/// Which of target and source are host memory, by the caller's word.
fn on_host(kind: c_int) -> Outcome<(bool, bool)> {
    match kind {
        OVERTAKE_COPY_HOST_TO_DEVICE => Ok((false, true)),
        OVERTAKE_COPY_DEVICE_TO_HOST => Ok((true, false)),
        OVERTAKE_COPY_DEVICE_TO_DEVICE | OVERTAKE_COPY_DEFAULT => Ok((false, false)),
        _ => Err(Failure::argument("kind is one of OVERTAKE_COPY_..., which are the numbers of cudaMemcpyKind")),
    }
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
    let (driver, sides, stream, size) = (driver()?, on_host(kind)?, stream_of(stream), bytes as u64);
    let (to, from) = (DevicePtr(target.expose_provenance() as u64), DevicePtr(source.expose_provenance() as u64));
    // SAFETY: the caller's promise is what the driver asks for.
    let outcome = unsafe {
        match sides {
            (false, true) => driver.copy_htod_async(to, source.cast(), size, stream),
            (true, false) => driver.copy_dtoh_async(target.cast(), from, size, stream),
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
    let (target_on_host, source_on_host) = on_host(kind)?;
    let plane = |address: u64, on_host, pitch| {
        let base = if on_host { Endpoint::Host(address) } else { Endpoint::Unified(DevicePtr(address)) };
        Plane { base, pitch_bytes: pitch, x_bytes: 0, y: 0 }
    };
    let copy = Copy2d {
        source: plane(rectangle.source.expose_provenance() as u64, source_on_host, rectangle.source_pitch as u64),
        target: plane(rectangle.target.expose_provenance() as u64, target_on_host, rectangle.target_pitch as u64),
        width_bytes: rectangle.width as u64,
        height: rectangle.height as u64,
    };
    // SAFETY: the caller's promise is what the driver asks for.
    Ok(unsafe { driver()?.copy_2d_async(&copy, stream_of(stream)) }?)
}
