//! `overtake info`: the properties of this machine, probed, and the settings that should be changed.

mod calibrate;
mod collect;
mod drop_in;
mod memops;
mod text;
mod warnings;

use backend::Opened;
use console::Globals;
use console::failure::Result;
use console::{open, output};

use crate::args::InfoArguments;
use crate::calibration;

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
    let kept = calibrate::devices(globals, opened)?;
    let file = calibration::file(|name| std::env::var_os(name).map(Into::into));
    if let Some(file) = &file {
        calibration::write(file, &kept)?;
    }
    if info.json {
        return output::print_json(&kept);
    }
    let file = file.map(|file| file.display().to_string());
    output::print(&calibrate::render(&kept, file.as_deref()))
}
