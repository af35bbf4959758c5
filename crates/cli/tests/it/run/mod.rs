//! `overtake run` as a user runs it, with shells and small libraries in the place of CUDA programs and the drop-in.

mod blocked;
mod compare;
mod endings;
mod environment;
mod real;
mod reports;
mod signals;
mod stand_ins;
