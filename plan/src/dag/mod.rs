//! Plans: the device, the stream and the transfers of each computation of a program, without running it.

mod dot;
mod fault;
mod parse;
mod planner;
mod policies;
mod program;
mod step;
mod streams;
mod words;

pub use fault::Fault;
pub use policies::Policies;
pub use program::{Argument, Array, Computation, Program, Section};
pub use step::{Moved, Plan, Step, Totals};
