//! `overtake trace`: a trace as a picture.

use std::path::Path;

use console::failure::{Failure, Result};
use console::output;
use report::trace::Trace;

use crate::args::TraceArguments;

/// The most bytes in a trace: a process under `overtake run --trace` writes no more.
const BYTES_MAX: u64 = 4 << 30;

/// Runs the command.
pub fn run(arguments: &TraceArguments) -> Result<()> {
    let trace = read(&arguments.file)?;
    let title = arguments.title.clone().unwrap_or_else(|| trace.summary());
    output::write_file(&arguments.picture, &trace.timeline(&title).to_svg())?;
    output::print(&format!("{}: {}\n", arguments.picture.display(), trace.summary()))
}

fn read(path: &Path) -> Result<Trace> {
    let origin = path.display();
    let explain = |why: &dyn std::fmt::Display| {
        Failure::Other(format!("cannot draw {origin}: {why}; name a trace, as `overtake run --trace` writes it"))
    };
    let bytes = os::file::read(path, BYTES_MAX).map_err(|error| explain(&error))?;
    let text = String::from_utf8(bytes).map_err(|_| explain(&"it is no text"))?;
    Trace::read(&text).map_err(|error| explain(&error))
}
