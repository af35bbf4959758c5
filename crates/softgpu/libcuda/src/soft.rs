//! The one software GPU of the process.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicBool, Ordering};

use abi::types::CUstream;
use abi::{Flavour, types};
use hal::{Code, Driver, Stream};
use once_cell::sync::OnceCell;
use softgpu::{Clock, PRESET, Parameters, SoftGpu};

use crate::answer::{Answer, Refusal, refuse, require};
use crate::loading;

/// The CUDA version of the list of functions.
const LISTED: i32 = 13_000;

/// The CUDA version that the library speaks: that of the preset's driver. Programs ask for it before `cuInit`.
pub fn version() -> i32 {
    static VERSION: OnceCell<i32> = OnceCell::new();
    *VERSION.get_or_init(|| {
        let named = std::env::var(PRESET).ok().and_then(|name| Parameters::named(&name).ok());
        named.map_or(LISTED, |parameters| parameters.device.driver_version.min(LISTED))
    })
}

/// Refuses a function that came with a later version. A program finds none by `cuGetProcAddress`; the symbol of one is
/// exported all the same.
pub fn has(since: i32) -> Answer {
    require(since <= version(), Code::NOT_FOUND)
}

static GPU: OnceCell<SoftGpu> = OnceCell::new();

/// Set in a forked child: the device's thread stayed in the parent, so no call could ever complete here.
static FORKED: AtomicBool = AtomicBool::new(false);

extern "C" fn in_forked_child() {
    FORKED.store(true, Ordering::Relaxed);
}

/// Makes the GPU, once. The environment may ask for something impossible. The reason is sent as a message, because
/// the ABI has no room for it.
pub fn start() -> Answer {
    if FORKED.load(Ordering::Relaxed) {
        return refuse(Code::NOT_INITIALIZED);
    }
    os::messages::install();
    os::messages::catch_panics();
    let gpu = GPU.get_or_try_init(build)?;
    match gpu.device_count()? {
        0 => refuse(Code::NO_DEVICE),
        _ => Ok(()),
    }
}

fn build() -> Answer<SoftGpu> {
    loading::start()?;
    let builder = SoftGpu::builder().clock(Clock::FreeRunning).environment().map_err(|why| {
        log::error!("software GPU: {why}");
        Refusal(Code::INVALID_VALUE)
    })?;
    // SAFETY: the handler is a function of this library, which is never unmapped (linked with nodelete), and does
    // nothing but store to an atomic.
    let outcome = unsafe { libc::pthread_atfork(None, None, Some(in_forked_child)) };
    match outcome {
        // The examples and the programs of the documentation launch these.
        0 => Ok(workloads::register(builder).build()),
        _ => refuse(Code::OUT_OF_MEMORY),
    }
}

/// The GPU, for every call that comes after `cuInit`.
pub fn gpu() -> Answer<&'static SoftGpu> {
    if FORKED.load(Ordering::Relaxed) {
        return refuse(Code::NOT_INITIALIZED);
    }
    GPU.get().ok_or(Refusal(Code::NOT_INITIALIZED))
}

/// The stream that a handle names in an entry point of this flavour.
pub fn stream(flavour: Flavour, handle: CUstream) -> Stream {
    match (flavour, handle.addr()) {
        (Flavour::Ptds | Flavour::Ptsz, 0) => Stream::PER_THREAD,
        (_, address) => Stream(address as u64),
    }
}

/// The stream that a synchronous entry point of this flavour uses.
pub fn default_stream(flavour: Flavour) -> Stream {
    stream(flavour, std::ptr::null_mut())
}

/// A handle as C sees it: a number in the form of a pointer that is never dereferenced.
pub fn pointer<T>(number: u64) -> *mut T {
    std::ptr::without_provenance_mut(number as usize)
}

/// The number in a handle.
pub fn number<T>(pointer: *mut T) -> u64 {
    pointer.addr() as u64
}

const _: () = assert!(size_of::<types::CUcontext>() == size_of::<u64>());

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handle_zero_follows_the_flavour() {
        let zero = std::ptr::null_mut();
        assert_eq!(stream(Flavour::Plain, zero), Stream::DEFAULT);
        assert_eq!(stream(Flavour::Ptsz, zero), Stream::PER_THREAD);
        assert_eq!(default_stream(Flavour::Ptds), Stream::PER_THREAD);
        assert_eq!(stream(Flavour::Ptsz, types::CU_STREAM_LEGACY), Stream::LEGACY);
        assert_eq!(stream(Flavour::Plain, types::CU_STREAM_PER_THREAD), Stream::PER_THREAD);
    }
}
