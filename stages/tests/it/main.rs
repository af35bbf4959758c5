//! Tests of stages, a file for each subject. `loom.rs` is a build of its own.
#![cfg(not(loom))]

mod admission;
mod cases;
mod departures;
mod forms;
mod model;
mod parking;
