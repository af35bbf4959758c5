//! The CUDA driver ABI: its types ([`types`], generated from the header of CUDA 13.0) and the one list of its
//! functions ([`table`]; as data [`FUNCTIONS`]).
//!
//! This crate stands below everything and does nothing: no code here calls a driver. The default build needs neither
//! CUDA nor libclang; `cargo xtask codegen` regenerates the types, the feature `bindgen` does so at build time.
#![deny(clippy::print_stderr, clippy::print_stdout)] // messages go through `log`
#![cfg_attr(not(test), deny(clippy::disallowed_methods))] // clippy.toml has the list, with reasons
#![deny(unsafe_code)]

pub mod conv;
mod function;
#[cfg(not(feature = "bindgen"))]
#[allow(missing_docs, nonstandard_style, clippy::all)]
mod generated;
#[cfg(feature = "bindgen")]
#[allow(missing_docs, nonstandard_style, clippy::all)]
mod generated {
    include!(concat!(env!("OUT_DIR"), "/generated.rs"));
}
#[cfg(test)]
#[allow(nonstandard_style)]
mod prototypes;
pub mod table;
pub mod types;

pub use function::{FUNCTIONS, Flavour, Function, Need, resolve};
