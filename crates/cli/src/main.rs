//! The command `overtake`.
#![deny(clippy::print_stderr, clippy::print_stdout)] // they panic without a reader: see `output.rs`
#![cfg_attr(not(test), deny(clippy::disallowed_methods))] // clippy.toml has the list, with reasons
#![deny(unsafe_code)]

mod args;
mod check;
mod dag;
mod demo;
mod info;
mod live;
mod manual;
mod options;
mod pipeline;
mod run;
mod runs;
mod simulate;
mod trace;

use std::process::ExitCode;

use clap::Parser;
use console::output;

use args::{Arguments, Command};

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    os::messages::install();
    let result = match &arguments.command {
        Command::Info(info) => info::run(&arguments.globals, info),
        Command::Demo(demo) => demo::run(&arguments.globals, demo),
        Command::Bench(bench) => bench::run(&arguments.globals, bench),
        Command::Run(run) => return run::run(&arguments.globals, run),
        Command::Top(top) => live::top::run(top),
        Command::Metrics(metrics) => live::metrics::run(metrics),
        Command::Simulate(simulate) => simulate::run(simulate),
        Command::Trace(trace) => trace::run(trace),
        Command::Report(report) => runs::run(report),
        Command::Dag(dag) => dag::run(dag),
        Command::Pipeline(pipeline) => pipeline::run(pipeline),
        Command::Options(options) => options::run(options),
        Command::Check(check) => check::run(check),
        Command::Manual(manual) => manual::run(manual),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            output::complain(&failure);
            ExitCode::FAILURE
        }
    }
}
