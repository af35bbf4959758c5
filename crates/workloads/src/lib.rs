//! Kernels with one meaning on both devices: CUDA source, its PTX, a twin for the software GPU, and the reference on
//! the processor that both must equal byte for byte. Tests, benches and examples share them.
//!
//! | file | part |
//! |---|---|
//! | `workloads.cu`, `workloads.ptx` | the kernels, and their PTX |
//! | `work.rs` | one launch: kernel, arguments, shape |
//! | `kernels.rs` | the loaded kernels |
//! | `reference.rs` | the meaning of each kernel |
//! | `profiled.rs`, `profiled.cu`, `profiled.ptx` | a kernel that notes the times of its blocks, with its twin |
//! | `streamed.rs`, `streamed.cu`, `streamed.ptx` | a kernel that runs on and consumes stages, with its twin |
//! | `pictures.rs` | streams of pictures by their names, such as `1080p60:nv12` |
//! | `soft.rs` | the twins, and the time that they take |
#![deny(clippy::print_stderr, clippy::print_stdout)] // messages go through `log`
#![cfg_attr(not(test), deny(clippy::disallowed_methods))] // clippy.toml has the list, with reasons
#![deny(unsafe_code)]
#![allow(missing_docs)] // fields of `Work` are named after the kernels' arguments

mod kernels;
mod pictures;
mod profiled;
pub mod reference;
mod soft;
mod streamed;
mod work;

pub use kernels::{Kernels, PTX};
pub use pictures::{Pictures, Pixels};
pub use profiled::Profiled;
pub use reference::Rows;
pub use soft::{register, register_timing};
pub use streamed::STREAMED_PTX;
pub use work::{Argument, NAMES, Picture, Work};
