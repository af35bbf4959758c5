//! The options of every command.

use clap::{Args, ValueEnum};

// A comment for rustdoc would become the help text of the command that takes them.
#[allow(missing_docs)]
#[derive(Clone, Debug, Args)]
pub struct Globals {
    /// The driver to use.
    #[arg(long, global = true, value_enum, value_name = "BACKEND")]
    pub backend: Option<BackendName>,
    /// Print only errors on standard error.
    #[arg(long, short, global = true)]
    pub quiet: bool,
}

/// A backend by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BackendName {
    /// The real driver where it loads and finds a device, else the software GPU.
    Auto,
    /// The real driver, or an error.
    Cuda,
    /// The software GPU.
    Soft,
}
