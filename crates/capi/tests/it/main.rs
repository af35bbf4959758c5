//! The C library, its headers and its Python package: one program, with a module for each subject.

mod common;
mod exports;
mod installed;
mod outcomes;
mod privileged;
mod programs;
mod python;

use libtest_mimic::Arguments;

fn main() {
    if outcomes::was_a_program() {
        return;
    }
    let modules =
        [exports::trials, installed::trials, outcomes::trials, privileged::trials, programs::trials, python::trials];
    let trials = modules.into_iter().flat_map(|trials| trials()).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}
