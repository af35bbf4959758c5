//! Memory: [`buffer`] has buffers whose copies are safe, and [`heap`] hands out memory of the device and of the host in
//! blocks that cost no driver call. Users depend on the crate `overtake`, which exports both modules.
#![deny(clippy::print_stderr, clippy::print_stdout)] // messages go through `log`
#![cfg_attr(not(test), deny(clippy::disallowed_methods))] // clippy.toml has the list, with reasons
#![deny(unsafe_code)]

pub mod buffer;
pub mod heap;
