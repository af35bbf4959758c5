//! The layer of a process. Each test runs in a process of its own.

mod closing;
mod precedence;
mod process;
mod refused;
