//! What builds, runs and judges the clients.

#[path = "../../../../tests/support/binaries.rs"]
pub mod binaries;
pub mod build;
pub mod deployment;
pub mod driver_sys;
pub mod list;
pub mod report;
pub mod run;
#[path = "../../../../tests/support/spawn.rs"]
pub mod spawn;
