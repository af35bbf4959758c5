//! The common beginning and end of every bench.

use std::path::PathBuf;
use std::sync::Arc;

use console::Globals;
use console::device::OpenDevice;
use console::failure::{Failure, Result};
use console::open::Payload;
use console::progress::Progress;
use console::{header, open, output};
use hal::{Code, Context, Driver, Nanos};
use overtake::Options;
use report::views::of_run;
use report::{Header, Page, Run, Section, Table};
use serde::Serialize;

use super::args::{Common, Output};
use super::case::{Case, Sizes, notes, rows};
use super::catalogue::{MethodName, Workshop};
use super::ground::Ground;
use super::runner::{self, Measured, Pace};

/// A measurement that takes at least this long announces its steps.
const LONG_SECONDS: f64 = 2.0;

/// A driver, a device and the common parts of methods.
pub struct Stage {
    /// The common parts of methods. It is dropped before the device.
    pub shop: Workshop,
    /// The origin of the numbers.
    pub header: Header,
    /// Whether kernels reach the memory of the second device.
    pub reaches_peer: bool,
    is_quiet: bool,
    _device: OpenDevice,
    _peer: Option<Peer>,
}

/// The device at the other end of lanes.
struct Peer {
    device: OpenDevice,
    context: Context,
    pulls: bool,
}

impl Peer {
    fn open(driver: &Arc<dyn Driver>, ordinal: i32, pulls: bool) -> Result<Peer> {
        let device = OpenDevice::open(driver, ordinal)?;
        let no_context = || Code::INVALID_CONTEXT.at("cuCtxGetCurrent");
        let context = driver.context_current()?.ok_or_else(no_context)?;
        Ok(Peer { device, context, pulls })
    }
}

impl Stage {
    /// Opens the driver and the device, and allocates a lane of each size. Copies on the software GPU move no bytes.
    pub fn set(globals: &Globals, device: i32, options: &[String], lane_bytes: &[u64]) -> Result<Stage> {
        Stage::set_with(globals, Payload::TimingOnly, device, options, lane_bytes)
    }

    /// The same; copies on the software GPU move bytes if the payload says so.
    pub fn set_with(
        globals: &Globals,
        payload: Payload,
        device: i32,
        options: &[String],
        lane_bytes: &[u64],
    ) -> Result<Stage> {
        Stage::build((globals, payload), device, None, options, lane_bytes)
    }

    /// As [`Stage::set`], with lanes that lead to a second device besides, or come from there.
    pub fn between(
        globals: &Globals,
        (device, peer, pulls): (i32, i32, bool),
        options: &[String],
        lane_bytes: &[u64],
    ) -> Result<Stage> {
        Stage::build((globals, Payload::TimingOnly), device, Some((peer, pulls)), options, lane_bytes)
    }

    fn build(
        (globals, payload): (&Globals, Payload),
        device: i32,
        peer: Option<(i32, bool)>,
        options: &[String],
        lane_bytes: &[u64],
    ) -> Result<Stage> {
        let opened = open::open(globals, payload)?;
        let driver = &opened.driver;
        // The context that is opened last is current.
        let peer = peer.map(|(peer, pulls)| Peer::open(driver, peer, pulls)).transpose()?;
        let device = OpenDevice::open(driver, device)?;
        let mut ground = Ground::new(driver, lane_bytes)?;
        let mut reaches_peer = false;
        if let Some(peer) = &peer {
            reaches_peer = ground.extend(peer.context, peer.device.device(), peer.pulls)?;
        }
        let shop = Workshop {
            ground: Arc::new(ground),
            device: device.device(),
            range: driver.priority_range()?,
            options: product_options(options)?,
        };
        let header = header::header(header::COMMAND, &opened, device.device())?;
        Ok(Stage { shop, header, reaches_peer, is_quiet: globals.quiet, _device: device, _peer: peer })
    }

    /// Whether time is virtual.
    #[must_use]
    pub fn is_virtual(&self) -> bool {
        self.shop.ground.driver().host().is_virtual()
    }

    /// Announces the steps, if all of them take long.
    #[must_use]
    pub fn progress(&self, seconds: f64, steps: usize) -> Progress {
        Progress::new(self.is_quiet, seconds > LONG_SECONDS && !self.is_virtual(), steps)
    }

    /// Runs cases. Returns their rows and notes.
    pub fn run(&self, cases: &[Case], pace: Pace) -> Result<(Run, Vec<String>)> {
        let mut progress = self.progress(pace.span.as_secs(), cases.len() * pace.rounds as usize);
        let scenarios: Vec<_> = cases.iter().map(|case| case.scenario.clone()).collect();
        let measured: Vec<Measured> = runner::run(&scenarios, pace, &mut |scenario| progress.step(&scenario.name))?;
        drop(progress);
        let run = Run { header: self.header.clone(), rows: rows(cases, &measured, pace.burst) };
        Ok((run, notes(cases, &measured)))
    }

    /// Sizes that use the first lane for urgent copies and the second for bulk.
    #[must_use]
    pub fn sizes(direction: priority::Direction, urgent_bytes: u64, bulk_bytes: u64) -> Sizes {
        Sizes { direction, urgent: (urgent_bytes, 0), bulk: (bulk_bytes, 1) }
    }
}

/// Overtake's options: those of the environment, changed by those of the command line.
pub fn product_options(changes: &[String]) -> Result<Options> {
    let mut options = Options::from_environment().map_err(|error| Failure::Other(error.to_string()))?;
    for change in changes {
        let Some((name, value)) = change.split_once('=') else {
            return Err(Failure::Other(format!(
                "--set takes NAME=VALUE, such as --set wait_budget_us=60, not {change:?}"
            )));
        };
        options.set(name, value).map_err(|error| Failure::Other(error.to_string()))?;
    }
    Ok(options)
}

/// The requested methods, or else these.
#[must_use]
pub fn methods_or(common: &Common, these: &[MethodName]) -> Vec<MethodName> {
    if common.methods.is_empty() { these.to_vec() } else { common.methods.clone() }
}

/// The output of a bench.
pub struct Shown {
    /// The title of the page.
    pub title: String,
    /// A line or two about the measurement.
    pub summary: String,
    pub table: Table,
    /// A picture in text.
    pub picture: Option<String>,
    /// The picture of a bench that has more to show than medians.
    pub svg: Option<String>,
    /// Notes that a reader needs beside the numbers.
    pub notes: Vec<String>,
}

/// Prints a run and writes the requested files.
pub fn finish(output: &Output, run: &Run, shown: &Shown) -> Result<()> {
    let mut written: Vec<&PathBuf> = Vec::new();
    let svg = shown.svg.clone().unwrap_or_else(|| of_run(run, &shown.title).to_svg());
    if let Some(path) = &output.svg {
        output::write_file(path, &svg)?;
        written.push(path);
    }
    if let Some(path) = &output.html {
        output::write_file(path, &page(&run.header, shown, svg).to_html())?;
        written.push(path);
    }
    let is_printed = write_json(output.json.as_ref(), run)?;
    if is_printed {
        return Ok(());
    }
    written.extend(&output.json);
    let mut text = format!("{}\n\n{}", shown.summary, shown.table);
    for part in shown.picture.iter() {
        text += &format!("\n{part}");
    }
    for note in &shown.notes {
        text += &format!("note: {note}\n");
    }
    if !written.is_empty() {
        let names: Vec<String> = written.iter().map(|path| path.display().to_string()).collect();
        text += &format!("\nwritten: {}\n", names.join(", "));
    }
    output::print(&text)
}

/// Writes a record to the requested place. `true` if that was standard output, which must then hold nothing else.
pub fn write_json<T: Serialize>(path: Option<&PathBuf>, record: &T) -> Result<bool> {
    let Some(path) = path else { return Ok(false) };
    let json = serde_json::to_string_pretty(record)
        .map_err(|error| Failure::Other(format!("the run does not serialise: {error}; please report this bug")))?;
    if path.as_os_str() == "-" {
        return output::print(&(json + "\n")).map(|()| true);
    }
    output::write_file(path, &(json + "\n")).map(|()| false)
}

fn page(header: &Header, shown: &Shown, svg: String) -> Page {
    let text = [std::slice::from_ref(&shown.summary), &shown.notes].concat().join(" ");
    let section = Section { heading: shown.title.clone(), text, svg: Some(svg), table: Some(shown.table.clone()) };
    Page { title: format!("overtake bench: {}", shown.title), header: header.clone(), sections: vec![section] }
}

/// Converts seconds.
#[must_use]
pub fn span(seconds: f64) -> Nanos {
    Nanos((seconds * 1e9) as u64)
}
