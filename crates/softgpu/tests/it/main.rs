//! Tests of the software GPU, a file for each subject.

mod basics;
mod clocks;
mod copy_kernel;
mod engines;
mod faults;
mod graphs;
mod kernels;
mod last_handle;
mod million;
mod pageable;
mod peers;
mod processes;
mod support;
mod threads;
mod waits;
