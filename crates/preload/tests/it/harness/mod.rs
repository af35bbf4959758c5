//! Builds, runs and judges the clients.

pub mod build;
pub mod deployment;
pub mod driver_sys;
pub mod list;
pub mod report;
pub mod run;

pub use testkit::binaries;
pub use testkit::patience;
pub use testkit::spawn;
