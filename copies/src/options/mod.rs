//! Every tunable, in one place: the same names in the builder, in `OVERTAKE_*` variables and in a TOML file.
//!
//! Precedence, weakest first: defaults, the TOML file named by `OVERTAKE_CONFIG`, the variables, what the program sets.

mod settings;
mod source;
mod tunable;
pub mod variables;
mod words;

pub use settings::{GuardOptions, Options, Transport, UrgentTransport};
pub use source::{OptionError, syntax, unreadable};
pub use tunable::Tunable;
pub use words::size;
