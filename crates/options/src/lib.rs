//! Every option in one place, with one name in the builder, in `OVERTAKE_*` variables and in TOML files.
//!
//! Precedence, weakest first: defaults, the TOML file named by `OVERTAKE_CONFIG`, the variables, the program's own
//! settings.
//!
//! Users find it as `overtake::options`.
#![deny(clippy::print_stderr, clippy::print_stdout)] // messages go through `log`
#![cfg_attr(not(test), deny(clippy::disallowed_methods))] // clippy.toml has the list, with reasons
#![forbid(unsafe_code)]

mod machine;
mod profile;
pub mod queues;
mod settings;
mod source;
mod tunable;
mod unlisted;
pub mod variables;
mod words;
mod workers;

pub use machine::Machine;
pub use profile::{CalmOptions, Profile, Transport, UrgentTransport};
pub use semaphores::EmulationKind as Emulation;
pub use settings::{Automatic, DemandOptions, GuardOptions, Options, WHOLE_BULK_FROM};
pub use source::{OptionError, syntax, unreadable};
pub use tunable::Tunable;
pub use words::size;
pub use workers::{BLOCK_WARPS_MAX, Workers};
