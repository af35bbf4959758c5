//! The file of a plan: the machine, the background and the streams.

use hal::Nanos;
use os::fault::Source;
use overtake::options::syntax;
use overtake_plan::latency::{Background, Machine, PlannedStream};
use serde::Deserialize;
use softgpu::Parameters;
use workloads::Pictures;

use super::machine;

/// The contents of a file.
pub struct Streams {
    /// The origin of the machine's parameters.
    pub origin: String,
    pub machine: Machine,
    pub background: Background,
    pub streams: Vec<PlannedStream>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    preset: Option<String>,
    #[serde(default)]
    machine: Measured,
    #[serde(default)]
    background: BackgroundText,
    stream: Vec<StreamText>,
}

/// Parameters that were measured, in place of the preset's.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Measured {
    h2d_gbps: Option<f64>,
    d2h_gbps: Option<f64>,
    h2d_beside_kernels_gbps: Option<f64>,
    d2h_beside_kernels_gbps: Option<f64>,
    copy_setup_us: Option<f64>,
    kernel_setup_us: Option<f64>,
    step_us: Option<f64>,
    notice_us: Option<f64>,
    blocking_us: Option<f64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct BackgroundText {
    #[serde(default)]
    bulk: bool,
    #[serde(default)]
    kernel_us: f64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct StreamText {
    name: String,
    #[serde(default = "one")]
    count: u32,
    pictures: Option<String>,
    fps: Option<f64>,
    deadline_us: Option<f64>,
    #[serde(default)]
    jitter_us: f64,
    #[serde(default)]
    tolerance_us: f64,
    upload_bytes: Option<u64>,
    #[serde(default)]
    kernels_us: Vec<f64>,
    #[serde(default)]
    download_bytes: u64,
}

fn one() -> u32 {
    1
}

/// Longer times, in microseconds, are mistakes.
const SPAN_MAX_US: f64 = 3.6e9;
/// More streams of one kind are a mistake.
const COUNT_MAX: u32 = 10_000;
/// Larger frames are a mistake.
const BYTES_MAX: u64 = 1 << 40;

/// Reads a file.
pub fn parse(source: &Source<'_>) -> Result<Streams, String> {
    let text: Text = toml::from_str(source.text).map_err(|error| syntax(source, &error).to_string())?;
    read(&text).map_err(|why| source.fault_of_all(why).to_string())
}

fn read(text: &Text) -> Result<Streams, String> {
    let preset = text.preset.as_deref().unwrap_or(Parameters::DEFAULT);
    let mut machine = machine::of(&Parameters::named(preset)?);
    text.machine.apply(&mut machine)?;
    let kernel = span("background.kernel_us", text.background.kernel_us)?;
    let background = Background { has_bulk: text.background.bulk, kernel };
    if text.stream.is_empty() {
        return Err("there is no stream: add a [[stream]]".to_owned());
    }
    let streams = text.stream.iter().map(StreamText::read).collect::<Result<Vec<_>, String>>()?;
    Ok(Streams { origin: format!("parameters of {preset}"), machine, background, streams })
}

impl Measured {
    fn apply(&self, machine: &mut Machine) -> Result<(), String> {
        self.apply_rates(machine)?;
        for (name, value, place) in [
            ("machine.copy_setup_us", self.copy_setup_us, &mut machine.copy_setup),
            ("machine.kernel_setup_us", self.kernel_setup_us, &mut machine.kernel_setup),
            ("machine.step_us", self.step_us, &mut machine.step),
            ("machine.notice_us", self.notice_us, &mut machine.notice),
            ("machine.blocking_us", self.blocking_us, &mut machine.blocking),
        ] {
            if let Some(us) = value {
                *place = span(name, us)?;
            }
        }
        Ok(())
    }

    fn apply_rates(&self, machine: &mut Machine) -> Result<(), String> {
        let Measured { h2d_gbps, d2h_gbps, h2d_beside_kernels_gbps, d2h_beside_kernels_gbps, .. } = *self;
        apply_rate("machine.h2d_gbps", h2d_gbps, &mut machine.h2d_gbps)?;
        apply_rate("machine.d2h_gbps", d2h_gbps, &mut machine.d2h_gbps)?;
        machine::expect_beside_kernels(machine);
        let (h2d_place, d2h_place) = (&mut machine.h2d_beside_kernels_gbps, &mut machine.d2h_beside_kernels_gbps);
        apply_rate("machine.h2d_beside_kernels_gbps", h2d_beside_kernels_gbps, h2d_place)?;
        apply_rate("machine.d2h_beside_kernels_gbps", d2h_beside_kernels_gbps, d2h_place)
    }
}

fn apply_rate(name: &str, value: Option<f64>, place: &mut f64) -> Result<(), String> {
    match value {
        Some(gbps) if gbps.is_finite() && gbps > 0.0 => *place = gbps,
        Some(_) => return Err(format!("{name} must be a positive number of GB/s")),
        None => {}
    }
    Ok(())
}

impl StreamText {
    fn read(&self) -> Result<PlannedStream, String> {
        let wrong = |why: String| format!("stream {:?}: {why}", self.name);
        let pictures = self.pictures.as_deref().map(str::parse::<Pictures>).transpose().map_err(wrong)?;
        let (period, upload_bytes) = self.frames(pictures).map_err(wrong)?;
        if !(1..=COUNT_MAX).contains(&self.count) {
            return Err(wrong(format!("count must be between 1 and {COUNT_MAX}")));
        }
        if upload_bytes.max(self.download_bytes) > BYTES_MAX {
            return Err(wrong("a frame has at most 1 TiB".to_owned()));
        }
        let deadline = self.deadline_us.map(|us| span("deadline_us", us)).transpose().map_err(wrong)?;
        let kernels = self.kernels_us.iter().map(|us| span("kernels_us", *us)).collect::<Result<_, String>>();
        Ok(PlannedStream {
            name: self.name.clone(),
            count: self.count,
            period,
            deadline: deadline.unwrap_or(period),
            jitter: span("jitter_us", self.jitter_us).map_err(wrong)?,
            tolerance: span("tolerance_us", self.tolerance_us).map_err(wrong)?,
            upload_bytes,
            kernels: kernels.map_err(wrong)?,
            download_bytes: self.download_bytes,
        })
    }

    /// The time from one frame to the next, and the bytes that go to the device.
    fn frames(&self, pictures: Option<Pictures>) -> Result<(Nanos, u64), String> {
        match (pictures, self.fps) {
            (Some(_), Some(_)) => Err("pictures tell their rate: leave fps out".to_owned()),
            (Some(_), None) if self.upload_bytes.is_some() => {
                Err("pictures tell their bytes: leave upload_bytes out".to_owned())
            }
            (Some(pictures), None) => Ok((pictures.period(), pictures.bytes())),
            (None, Some(fps)) if (0.001..=100_000.0).contains(&fps) => {
                Ok((Nanos((1e9 / fps) as u64), self.upload_bytes.unwrap_or(0)))
            }
            (None, Some(_)) => Err("fps must lie between 0.001 and 100000".to_owned()),
            (None, None) => Err("state its rate: `pictures = \"1080p60:nv12\"`, or `fps = 60`".to_owned()),
        }
    }
}

fn span(name: &str, us: f64) -> Result<Nanos, String> {
    if (0.0..=SPAN_MAX_US).contains(&us) {
        Ok(Nanos((us * 1e3).ceil() as u64))
    } else {
        Err(format!("{name} must lie between 0 and {SPAN_MAX_US:.0} microseconds"))
    }
}
