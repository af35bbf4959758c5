//! `overtake info`: the properties of this machine, and the settings that should be changed.

mod calibrate;
mod collect;
mod drop_in;
mod text;
mod warnings;

use backend::Opened;
use console::Globals;
use console::failure::{Failure, Result};
use console::{open, output};

use crate::args::InfoArguments;

/// Runs the command.
pub fn run(globals: &Globals, info: &InfoArguments) -> Result<()> {
    let opened = open::open(globals, open::Payload::Real)?;
    if info.calibrate {
        return calibrated(globals, info, &opened);
    }
    let report = collect::collect(&opened)?;
    if !info.json {
        return output::print(&text::render(&report));
    }
    output::print_json(&report)
}

fn calibrated(globals: &Globals, info: &InfoArguments, opened: &Opened) -> Result<()> {
    if let Some(error) = &opened.absent {
        return Err(Failure::Other(format!("no GPU to calibrate: {error}; --backend soft tries the software GPU")));
    }
    let found = calibrate::devices(globals, opened)?;
    if info.json {
        return output::print_json(&found);
    }
    output::print(&calibrate::render(&found))
}
