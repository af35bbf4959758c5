//! `overtake demo`: how long a small urgent copy waits behind bulk copies, measured here, and drawn.

mod cases;
mod present;

use std::sync::Arc;

use channels::probe::Rig;
use hal::Nanos;
use overtake::driver::Opened;
use report::{Header, Run};

use crate::args::{Arguments, DemoArguments};
use crate::bench::{self, Pace};
use crate::device::OpenDevice;
use crate::failure::{Failure, Result};
use crate::open;
use crate::progress::Progress;
use crate::{environment, output, version};

/// An urgent copy: what a token, a page of a key-value cache or a small message weighs.
const URGENT_BYTES: u64 = 64 << 10;
/// A bulk request: a layer of weights.
const BULK_BYTES: u64 = 256 << 20;
/// Scenarios take turns this often.
const ROUNDS: u32 = 3;
/// Urgent copies come 1.0 to 1.7 ms apart.
const GAP: Nanos = Nanos::from_us(1_000);
const JITTER: Nanos = Nanos::from_us(700);
/// From here on, it is announced what is being measured.
const LONG_SECONDS: f64 = 2.0;

/// Runs the command.
pub fn run(arguments: &Arguments, demo: &DemoArguments) -> Result<()> {
    let opened = open::open(arguments, open::Payload::TimingOnly)?;
    let run = measure(arguments, demo, &opened)?;
    let figure = present::figure(&run);
    let json = serde_json::to_string_pretty(&run)
        .map_err(|error| Failure::Other(format!("the run does not serialise: {error}; please report this bug")))?;
    output::write_file(&demo.svg, &figure.to_svg())?;
    if let Some(path) = &demo.html {
        output::write_file(path, &present::page(&run).to_html())?;
    }
    match &demo.json {
        Some(path) if path.as_os_str() == "-" => return output::print(&(json + "\n")),
        Some(path) => output::write_file(path, &(json + "\n"))?,
        None => {}
    }
    let written = [Some(&demo.svg), demo.html.as_ref(), demo.json.as_ref()];
    output::print(&present::text(&run, &figure, written.into_iter().flatten()))
}

fn measure(arguments: &Arguments, demo: &DemoArguments, opened: &Opened) -> Result<Run> {
    let driver = &opened.driver;
    let device = OpenDevice::open(driver, demo.device)?;
    let header = header(opened, &device)?;
    let rig = Arc::new(Rig::new(driver, &[URGENT_BYTES, BULK_BYTES])?);
    let range = driver.priority_range()?;
    let cases = cases::cases(&rig, (URGENT_BYTES, BULK_BYTES), range)?;
    let pace = Pace { span: Nanos((demo.seconds * 1e9) as u64), rounds: ROUNDS, gap: GAP, jitter: JITTER };
    let is_long = demo.seconds > LONG_SECONDS && !driver.host().is_virtual();
    let progress = Progress::new(arguments.quiet, is_long);
    let scenarios: Vec<_> = cases.iter().map(|case| case.scenario.clone()).collect();
    let measured = bench::run(&scenarios, pace, &mut |round, scenario| {
        progress.step(&format!("round {} of {ROUNDS}: {}", round + 1, scenario.name));
    })?;
    Ok(Run { header, rows: cases::rows(&cases, &measured) })
}

fn header(opened: &Opened, device: &OpenDevice) -> Result<Header> {
    let driver = &opened.driver;
    let command: Vec<String> = std::env::args().skip(1).collect();
    Ok(Header {
        version: version::VERSION.to_owned(),
        commit: version::COMMIT.to_owned(),
        command: format!("overtake {}", command.join(" ")),
        device: driver.device_name(device.device())?,
        driver: version::driver_version(driver.version()?),
        backend: driver.backend().to_owned(),
        environment: environment::relevant(environment::variables()),
    })
}
