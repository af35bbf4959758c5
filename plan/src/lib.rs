//! Plans, without a run: [`dag`] tells the device, the stream and the transfers of each computation of a program, and
//! [`latency`] the load of each engine and the worst latency of live streams. No driver, clock or thread; programs that
//! only run have none of it.
#![deny(clippy::print_stderr, clippy::print_stdout)] // messages go through `log`
#![cfg_attr(not(test), deny(clippy::disallowed_methods))] // clippy.toml has the list, with reasons
#![forbid(unsafe_code)]

pub mod dag;
pub mod latency;
