//! Tests of the software GPU, a file for each subject. `last_handle.rs` is a program of its own, because it counts the
//! threads of its process.

mod basics;
mod clocks;
mod copy_kernel;
mod engines;
mod faults;
mod graphs;
mod kernels;
mod million;
mod pageable;
mod peers;
mod processes;
mod support;
mod threads;
mod waits;
