//! Builds, runs and judges the clients.

#[path = "../../../../tests/support/binaries.rs"]
pub mod binaries;
pub mod build;
pub mod deployment;
pub mod driver_sys;
pub mod list;
#[allow(dead_code)]
#[path = "../../../../tests/support/patience.rs"]
pub mod patience;
pub mod report;
pub mod run;
#[path = "../../../../tests/support/spawn.rs"]
pub mod spawn;
