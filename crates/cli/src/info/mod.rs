//! `overtake info`: what this machine has, probed, and what to set differently.

mod collect;
mod drop_in;
mod memops;
mod text;
mod warnings;

use crate::args::{Arguments, InfoArguments};
use crate::failure::{Failure, Result};
use crate::{open, output};

/// Runs the command.
pub fn run(arguments: &Arguments, info: &InfoArguments) -> Result<()> {
    let opened = open::open(arguments, open::Payload::Real)?;
    let report = collect::collect(&opened)?;
    if !info.json {
        return output::print(&text::render(&report));
    }
    let json = serde_json::to_string_pretty(&report)
        .map_err(|error| Failure::Other(format!("the report does not serialise: {error}; please report this bug")))?;
    output::print(&(json + "\n"))
}
