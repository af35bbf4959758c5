//! Statistics, tables, figures and records of overtake's benchmarks.
//!
//! The crate is pure: samples go in, text comes out. It knows no driver, clock, file or terminal. So a test compares
//! every figure with a golden file, and a figure can be drawn again from the JSON of a run on another machine.
//!
//! - [`Distribution`]: exact percentiles.
//! - [`Table`]: aligned text, Markdown or HTML.
//! - [`figure::LatencyFigure`], [`figure::Timeline`]: SVG that reads well on light and dark pages, and plain text.
//! - [`Page`]: one self-contained HTML file.
//! - [`Run`]: the JSON of a benchmark, a [`Header`] and its [`BenchRow`]s.
//! - [`runs`]: a page about the JSON of runs, with every number.
//! - [`views`]: the figures of a run, drawn from its rows.
//! - [`trace::Trace`]: the traces of programs and kernels, drawn as a timeline.
//! - [`font`]: how wide a text can get; the figures are laid out by it.
#![deny(clippy::print_stderr, clippy::print_stdout)] // messages go through `log`
#![cfg_attr(not(test), deny(clippy::disallowed_methods))] // clippy.toml has the list, with reasons
#![forbid(unsafe_code)]

pub mod figure;
pub mod font;
pub mod format;
mod page;
mod record;
pub mod runs;
mod stats;
mod svg;
mod table;
pub mod trace;
pub mod views;

pub use page::{Page, Section};
pub use record::{BenchRow, Header, PRODUCT, ProgramRow, Run, SlowFrame, SlowFrames};
pub use stats::{Distribution, Spread, Summary, carries};
pub use table::{Align, Column, Table};
