//! Arrays that are wherever they are used.
//!
//! An [`Array`] has memory on the host and on the device. Computations state which arrays they use, and how. Their
//! order follows from that, and so do the copies: each is made once, when a use needs it, as an ordinary task with the
//! priority of that use. `docs/data.md` teaches arrays in ten minutes, and `arrays/README.md` explains the rules.
#![deny(clippy::print_stderr, clippy::print_stdout)] // messages go through `log`
#![cfg_attr(not(test), deny(clippy::disallowed_methods))] // clippy.toml has the list, with reasons
#![deny(unsafe_code)]

mod access;
mod address;
mod arguments;
mod array;
mod arrays;
mod bound;
mod checked;
mod claim;
mod computation;
mod drain;
mod elsewhere;
mod fetch;
mod frozen;
mod guard;
mod guards;
mod list;
mod memory;
#[doc(hidden)]
pub mod open;
mod operator;
mod options;
mod order;
mod places;
mod record;
mod reduction;
mod resident;
mod right;
mod room;
mod section;
mod statistics;
mod store;
mod submit;
mod times;
mod transfer;
mod uses;
mod workspace; // users find it at the root of `overtake`

pub use address::AccessAt;
pub use arguments::{Bytes, HostUse, HostUses, KernelArgument, KernelArguments, Rights, Value};
pub use array::Array;
pub use arrays::Arrays;
pub use checked::{CheckedKernel, Parameter, Parameters};
pub use computation::Computation;
pub use frozen::{Frozen, Lent, OnDevice};
pub use graph::{Bandwidth, Location, Selection};
pub use guard::{Guard, ReadGuard, WriteGuard};
pub use operator::{Max, Min, Operator, Sum};
pub use options::ArrayOptions;
pub use right::{Reads, Right, Writes};
pub use section::{Opening, Section};
pub use statistics::DataStatistics;
pub use times::Measured;
pub use uses::{Reduce, Relaxed, Use, discard, read, read_write, reduce, reduce_as, relaxed, write};
pub use workspace::Workspace;
