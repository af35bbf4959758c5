//! `overtake info`: the properties of this machine, probed, and the settings that should be changed.

mod collect;
mod drop_in;
mod memops;
mod text;
mod warnings;

use crate::args::{Arguments, InfoArguments};
use crate::failure::Result;
use crate::{open, output};

/// Runs the command.
pub fn run(arguments: &Arguments, info: &InfoArguments) -> Result<()> {
    let opened = open::open(arguments, open::Payload::Real)?;
    let report = collect::collect(&opened)?;
    if !info.json {
        return output::print(&text::render(&report));
    }
    output::print_json(&report)
}
