//! Figures, pictures of traces, and pages.

mod golden;
mod labels;
mod runs;
mod trace;
