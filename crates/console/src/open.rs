//! The driver of a command: chosen, opened and reported once.

use backend::{Backend, Opened};
use softgpu::{Builder, Planted};

use crate::failure::Result;
use crate::globals::{BackendName, Globals};
use crate::output;

/// Whether copies on the software GPU move bytes, and kernels work. A benchmark of gigabytes only needs their timing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload {
    /// They move bytes.
    Real,
    /// They take their time and move no bytes.
    TimingOnly,
}

/// Opens the driver that the command line or else the environment selects, and reports the choice on standard error.
pub fn open(globals: &Globals, payload: Payload) -> Result<Opened> {
    open_with_bug(globals, payload, None)
}

/// As [`open`], with a bug planted in the software GPU, for commands that must find it.
pub fn open_with_bug(globals: &Globals, payload: Payload, bug: Option<Planted>) -> Result<Opened> {
    let backend = match globals.backend {
        Some(BackendName::Auto) => Backend::Auto,
        Some(BackendName::Cuda) => Backend::Cuda,
        Some(BackendName::Soft) => Backend::Soft,
        None => Backend::from_environment()?,
    };
    let opened = backend::open_with(backend, |builder| {
        let builder = match payload {
            Payload::Real => workloads::register(builder),
            Payload::TimingOnly => workloads::register_timing(builder.payload(softgpu::Payload::TimingOnly)),
        };
        bug.into_iter().fold(builder, Builder::plant)
    })?;
    if !globals.quiet {
        let name = match opened.backend {
            Backend::Soft => "the software GPU",
            _ => "the real GPU",
        };
        output::complain(format!("using {name} ({})", briefly(&opened.reason)));
    }
    Ok(opened)
}

/// The reason without its cure: a user that accepts the choice needs none, and `info` has a warning with it.
pub fn briefly(reason: &str) -> &str {
    reason.split_once("; ").map_or(reason, |(why, _)| why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cure_is_left_out() {
        assert_eq!(briefly("no real GPU: dlopen failed; install it; or not"), "no real GPU: dlopen failed");
        assert_eq!(briefly("asked for"), "asked for");
    }
}
