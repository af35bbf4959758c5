//! `overtake info`: the properties of this machine, probed, and the settings that should be changed.

mod collect;
mod drop_in;
mod memops;
mod text;
mod warnings;

use console::Globals;
use console::failure::Result;
use console::{open, output};

use crate::args::InfoArguments;

/// Runs the command.
pub fn run(globals: &Globals, info: &InfoArguments) -> Result<()> {
    let opened = open::open(globals, open::Payload::Real)?;
    let report = collect::collect(&opened)?;
    if !info.json {
        return output::print(&text::render(&report));
    }
    output::print_json(&report)
}
