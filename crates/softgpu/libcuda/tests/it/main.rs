//! The library as programs find it.

mod c_programs;
mod common;
mod entry_points;

use libtest_mimic::Arguments;

fn main() {
    let trials = entry_points::trials().into_iter().chain(c_programs::trials()).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}
