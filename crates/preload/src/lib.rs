//! The drop-in: a library between a CUDA program and its driver. Unmodified programs get copy priorities from it.
//!
//! This one file gets into a program in one of three ways: preloading (`LD_PRELOAD`), the driver's name on the library
//! path (a *shadow*), or as an audit module of the loader (`LD_AUDIT`). `README.md` in this folder describes the states
//! of the drop-in, and explains each trick.
//!
//! | file | content |
//! |---|---|
//! | `list.rs` | the names: hooked ones, and those that are only forwarded |
//! | `rows.rs` | the hooked names as a table, for lookups |
//! | `hooks.rs` `observed.rs` | the hooked entry points; those that are only counted |
//! | `copy.rs` `shape.rs` `batch.rs` `life.rs` `launch.rs` `address.rs` | their handlers |
//! | `ahead.rs` | kernels that are loaded before their first launch |
//! | `catch.rs` | the place where panics stop |
//! | `forward.rs` `slots.rs` | the other entry points, and the addresses of the real functions |
//! | `lookup.rs` | the exported `dlsym` |
//! | `audit.rs` | the audit module |
//! | `driver.rs` `locate.rs` `cache.rs` | the real driver among the libraries |
//! | `loader.rs` `object.rs` `pages.rs` | the dynamic loader |
//! | `state.rs` `count.rs` `shared.rs` | the state of the drop-in, its counters, the table that it shares |
#![deny(clippy::print_stderr, clippy::print_stdout)] // messages go through `log`
#![cfg_attr(not(test), deny(clippy::disallowed_methods))] // clippy.toml has the list, with reasons
#![deny(unsafe_code)]

#[cfg(not(all(target_os = "linux", target_env = "gnu", any(target_arch = "x86_64", target_arch = "aarch64"))))]
compile_error!("the drop-in hooks glibc's loader on Linux, on x86-64 and aarch64");

mod address;
mod ahead;
mod audit;
mod batch;
mod cache;
mod catch;
mod copy;
mod count;
mod driver;
#[cfg(test)]
mod ends;
mod forward;
mod hooks;
mod launch;
mod life;
mod loader;
mod locate;
mod lookup;
mod object;
mod observed;
mod pages;
mod rows;
mod shape;
mod shared;
mod slots;
mod state;
