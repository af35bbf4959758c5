//! Data: the objects that nodes use, and their uses so far. `graph/README.md` explains the rules.

mod access;
mod layers;
mod once;
mod records;
mod spans;
mod uses;
mod validity;

pub use access::{Access, DataId, Mode};
pub use layers::Progress;
pub use once::{Stretch, each_once};
pub use spans::{Span, Spans};
pub use validity::{Fetch, Needs, Validity};

pub(crate) use records::Records;
