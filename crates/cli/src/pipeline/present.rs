//! Shows a plan as text and as JSON.

use hal::Nanos;
use overtake_plan::latency::{Plan, PlannedStream, Shortfall, StreamPlan};
use report::{Column, Table};
use serde::Serialize;

use super::file::Streams;

/// A plan, with the streams that it is of.
pub struct Report<'a> {
    pub streams: &'a Streams,
    pub plan: &'a Plan,
}

#[derive(Serialize)]
pub struct Json<'a> {
    version: &'static str,
    holds: bool,
    reasons: Vec<String>,
    machine: JsonMachine<'a>,
    background: JsonBackground,
    loads: JsonLoads,
    streams: Vec<JsonStream<'a>>,
}

#[derive(Serialize)]
struct JsonMachine<'a> {
    origin: &'a str,
    h2d_gbps: f64,
    d2h_gbps: f64,
    h2d_beside_kernels_gbps: f64,
    d2h_beside_kernels_gbps: f64,
    copy_setup_us: f64,
    kernel_setup_us: f64,
    step_us: f64,
    notice_us: f64,
    blocking_us: f64,
}

#[derive(Serialize)]
struct JsonBackground {
    bulk: bool,
    kernel_us: f64,
}

/// Parts of the time, 1 being all of it.
#[derive(Serialize)]
struct JsonLoads {
    to_device: f64,
    kernels: f64,
    to_host: f64,
    together: f64,
}

#[derive(Serialize)]
struct JsonStream<'a> {
    name: &'a str,
    count: u32,
    period_us: f64,
    deadline_us: f64,
    jitter_us: f64,
    upload_bytes: u64,
    kernels_us: Vec<f64>,
    download_bytes: u64,
    alone_us: f64,
    /// `null` if there is none.
    bound_us: Option<f64>,
    holds: bool,
}

impl JsonStream<'_> {
    fn new<'a>(stream: &'a PlannedStream, planned: &StreamPlan) -> JsonStream<'a> {
        JsonStream {
            name: &stream.name,
            count: stream.count,
            period_us: stream.period.as_us(),
            deadline_us: stream.deadline.as_us(),
            jitter_us: stream.jitter.as_us(),
            upload_bytes: stream.upload_bytes,
            kernels_us: stream.kernels.iter().map(|kernel| kernel.as_us()).collect(),
            download_bytes: stream.download_bytes,
            alone_us: planned.alone.as_us(),
            bound_us: planned.bound.map(Nanos::as_us),
            holds: holds(stream, planned),
        }
    }
}

fn holds(stream: &PlannedStream, planned: &StreamPlan) -> bool {
    planned.bound.is_some_and(|bound| bound <= stream.deadline)
}

impl Report<'_> {
    /// Why it cannot hold; empty if it can.
    pub fn reasons(&self) -> Vec<String> {
        self.plan.shortfalls.iter().map(Shortfall::to_string).collect()
    }

    fn rows(&self) -> impl Iterator<Item = (&PlannedStream, &StreamPlan)> {
        self.streams.streams.iter().zip(&self.plan.streams)
    }

    pub fn json(&self) -> Json<'_> {
        let (machine, background) = (&self.streams.machine, &self.streams.background);
        let loads = self.plan.loads;
        Json {
            version: overtake::VERSION,
            holds: self.plan.shortfalls.is_empty(),
            reasons: self.reasons(),
            machine: JsonMachine {
                origin: &self.streams.origin,
                h2d_gbps: machine.h2d_gbps,
                d2h_gbps: machine.d2h_gbps,
                h2d_beside_kernels_gbps: machine.h2d_beside_kernels_gbps,
                d2h_beside_kernels_gbps: machine.d2h_beside_kernels_gbps,
                copy_setup_us: machine.copy_setup.as_us(),
                kernel_setup_us: machine.kernel_setup.as_us(),
                step_us: machine.step.as_us(),
                notice_us: machine.notice.as_us(),
                blocking_us: machine.blocking.as_us(),
            },
            background: JsonBackground { bulk: background.has_bulk, kernel_us: background.kernel.as_us() },
            loads: JsonLoads {
                to_device: loads.to_device,
                kernels: loads.kernels,
                to_host: loads.to_host,
                together: loads.together,
            },
            streams: self.rows().map(|(stream, planned)| JsonStream::new(stream, planned)).collect(),
        }
    }

    pub fn text(&self) -> String {
        let mut table = Table::new(vec![
            Column::words("stream"),
            Column::numbers("count"),
            Column::numbers("every us"),
            Column::numbers("bytes up"),
            Column::numbers("kernels us"),
            Column::numbers("bytes down"),
            Column::numbers("alone us"),
            Column::numbers("at most us"),
            Column::numbers("deadline us"),
            Column::words("holds"),
        ]);
        let us = |span: Nanos| format!("{:.1}", span.as_us());
        for (stream, planned) in self.rows() {
            let kernels = stream.kernels.iter().fold(Nanos::ZERO, |sum, kernel| sum + *kernel);
            table.push([
                stream.name.clone(),
                stream.count.to_string(),
                us(stream.period),
                stream.upload_bytes.to_string(),
                us(kernels),
                stream.download_bytes.to_string(),
                us(planned.alone),
                planned.bound.map_or_else(|| "no limit".to_owned(), us),
                us(stream.deadline),
                if holds(stream, planned) { "yes" } else { "no" }.to_owned(),
            ]);
        }
        let percent = |load: f64| format!("{:.1} %", load * 100.0);
        let loads = self.plan.loads;
        format!(
            "{}; {}\n\n{table}\nloads: copies to the device {}, kernels {}, copies to the host {}\n\
             all parts one after another, with steps and waits for the background: {}\n{}\n",
            self.streams.origin,
            if self.streams.background.has_bulk { "beside bulk copies" } else { "without bulk copies" },
            percent(loads.to_device),
            percent(loads.kernels),
            percent(loads.to_host),
            percent(loads.together),
            if self.plan.shortfalls.is_empty() { "it holds" } else { "it cannot hold" }
        )
    }
}
