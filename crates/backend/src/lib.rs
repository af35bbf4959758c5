//! The choice of the driver: the real one or the software GPU.
//!
//! Only programs that want either depend on this crate: the command, tests and examples. The drop-in, the C library and
//! a user of the Rust library contain no software GPU.
#![deny(clippy::print_stderr, clippy::print_stdout)] // messages go through `log`
#![cfg_attr(not(test), deny(clippy::disallowed_methods))] // clippy.toml has the list, with reasons
#![deny(unsafe_code)]

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use hal::{Code, Driver, Error, Result};
use softgpu::{Builder, Clock, SoftGpu};

use driver::CudaDriver;

/// The environment variable that names the backend.
pub const BACKEND_VARIABLE: &str = "OVERTAKE_BACKEND";

/// The environment variable that names the software GPU's clock.
pub const SOFT_CLOCK_VARIABLE: &str = "OVERTAKE_SOFT_CLOCK";

/// A choice of driver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backend {
    /// The real driver where it loads and finds a device, else the software GPU.
    #[default]
    Auto,
    /// The real driver.
    Cuda,
    /// The software GPU.
    Soft,
}

impl Backend {
    /// The choice of `OVERTAKE_BACKEND`; `auto` if it is not set.
    pub fn from_environment() -> Result<Backend> {
        variable(BACKEND_VARIABLE)?.map_or(Ok(Backend::Auto), |word| word.parse())
    }
}

impl FromStr for Backend {
    type Err = Error;

    fn from_str(word: &str) -> Result<Backend> {
        match word {
            "auto" => Ok(Backend::Auto),
            "cuda" => Ok(Backend::Cuda),
            "soft" => Ok(Backend::Soft),
            _ => Err(unknown(BACKEND_VARIABLE, word, "auto, cuda or soft")),
        }
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Backend::Auto => "auto",
            Backend::Cuda => "cuda",
            Backend::Soft => "soft",
        })
    }
}

/// What a user of this crate can do besides the cure of the driver's own error.
const CURE: &str = "or set OVERTAKE_BACKEND=soft to use the software GPU";

/// A driver that is ready for use, and why it is this one.
#[derive(Clone)]
pub struct Opened {
    /// The driver.
    pub driver: Arc<dyn Driver>,
    /// The chosen one: never `Auto`.
    pub backend: Backend,
    /// The reason for the choice, in words for a user.
    pub reason: String,
    /// Why the real driver could not be had, where it was looked for first.
    pub absent: Option<Error>,
}

impl fmt::Debug for Opened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opened").field("backend", &self.backend).field("reason", &self.reason).finish_non_exhaustive()
    }
}

/// Opens a driver. The real one is the same for the whole process; every software GPU is a new one.
pub fn open(backend: Backend) -> Result<Opened> {
    open_with(backend, |builder| builder)
}

/// Opens a driver; `configure` has the last word on the software GPU, after the environment.
pub fn open_with(backend: Backend, configure: impl FnOnce(Builder) -> Builder) -> Result<Opened> {
    match backend {
        Backend::Cuda => real(),
        Backend::Soft => soft(None, configure),
        Backend::Auto => real().or_else(|error| soft(Some(error), configure)),
    }
}

/// The real driver, if it loads and has a device.
fn real() -> Result<Opened> {
    let driver = CudaDriver::get().map_err(|error| match error.detail() {
        Some(detail) => {
            let detail = format!("{detail}, {CURE}");
            error.because(detail)
        }
        None => error,
    })?;
    let count = driver.device_count()?;
    if count == 0 {
        let text = format!("the driver loads and finds no device; look at CUDA_VISIBLE_DEVICES, {CURE}");
        return Err(Code::NO_DEVICE.at("cuDeviceGetCount").because(text));
    }
    let name = driver.functions().library().name().display().to_string();
    let reason = format!("{name} loads and finds devices: {count}");
    Ok(Opened { driver, backend: Backend::Cuda, reason, absent: None })
}

/// A new software GPU, as the environment describes it.
fn soft(absent: Option<Error>, configure: impl FnOnce(Builder) -> Builder) -> Result<Opened> {
    let clock = variable(SOFT_CLOCK_VARIABLE)?.map_or(Ok(Clock::Stepped), |word| clock(&word))?;
    let refused = |text: String| Code::INVALID_VALUE.at("SoftGpu::builder").because(text);
    let driver = configure(SoftGpu::builder().clock(clock).environment().map_err(refused)?).build();
    let reason = absent.as_ref().map_or_else(|| "asked for".to_owned(), |error| format!("no real GPU: {error}"));
    Ok(Opened { driver: Arc::new(driver), backend: Backend::Soft, reason, absent })
}

fn clock(word: &str) -> Result<Clock> {
    match word {
        "stepped" => Ok(Clock::Stepped),
        "free" => Ok(Clock::FreeRunning),
        _ => Err(unknown(SOFT_CLOCK_VARIABLE, word, "stepped or free")),
    }
}

/// A variable's value; none where it is unset or empty.
fn variable(name: &'static str) -> Result<Option<String>> {
    let Some(value) = std::env::var_os(name).filter(|value| !value.is_empty()) else {
        return Ok(None);
    };
    let not_text = |value: std::ffi::OsString| Code::INVALID_VALUE.at(name).because(format!("{value:?} is not text"));
    value.into_string().map(Some).map_err(not_text)
}

fn unknown(name: &'static str, word: &str, choices: &str) -> Error {
    Code::INVALID_VALUE.at(name).because(format!("`{word}` is none of its values: choose {choices}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_both_ways() {
        for backend in [Backend::Auto, Backend::Cuda, Backend::Soft] {
            assert_eq!(backend.to_string().parse(), Ok(backend));
        }
    }

    #[test]
    fn unknown_words_list_the_choices() {
        let error = "gpu".parse::<Backend>().unwrap_err().to_string();
        assert!(error.contains("OVERTAKE_BACKEND") && error.contains("`gpu`"), "{error}");
        assert!(error.contains("auto, cuda or soft"), "{error}");
        assert!(clock("fast").unwrap_err().to_string().contains("stepped or free"));
    }
}
