//! The command as a user runs it: one program, with a module for each subject. What needs Python is in `tests/python`.

mod bench;
mod cli;
mod common;
mod dag;
mod demo;
mod files;
mod frontier;
mod live;
mod measured;
mod pipeline;
mod report;
mod run;
mod simulate;
mod svg;
mod video;
