//! Tests of channels, a file for each subject.

mod breaker;
mod failures;
mod room;
mod shape;
mod share;
mod support;
mod watchdog;
