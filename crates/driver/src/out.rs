//! The outputs and results of calls.

use hal::{Code, Result};

use crate::handle::{number, pointer};

/// The value that a call writes through its pointer.
pub fn out<T>(start: T, call: impl FnOnce(&mut T) -> Result<()>) -> Result<T> {
    let mut value = start;
    call(&mut value)?;
    Ok(value)
}

/// The handle that a call writes through its pointer.
pub fn out_handle<T>(call: impl FnOnce(&mut *mut T) -> Result<()>) -> Result<u64> {
    out(pointer(0), call).map(number)
}

/// "Not ready" is `false`, and no error.
pub fn ready(result: Result<()>) -> Result<bool> {
    match result {
        Ok(()) => Ok(true),
        Err(error) if error.code() == Code::NOT_READY => Ok(false),
        Err(error) => Err(error),
    }
}
