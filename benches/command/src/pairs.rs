//! `bench bandwidth --pairs`: the rates of plain copies between every two devices, on each, and to and from the host.
//!
//! The matrix is the input of policies that choose a device by the time of its transfers.

use std::fmt::Write as _;
use std::sync::Arc;

use console::Globals;
use console::device::OpenDevice;
use console::failure::{Failure, Result};
use console::progress::Progress;
use console::{header, open, output};
use hal::{Context, Device, Driver, Nanos, Result as DriverResult, Stream};
use measure::ground::Ground;
use measure::stage::write_json;
use priority::Direction;
use report::{Column, Header, Spread, Table};
use serde::Serialize;

use super::args::BandwidthArguments;

/// The host's number in the matrix.
const HOST: i32 = -1;
/// Requests in a measurement.
const REQUESTS: u32 = 8;
/// Bytes of a copy that shows the latency: more go to the device than its streams take among the kernels.
const FEW_BYTES: u64 = 64 << 10;
/// The first request of a pair, which is not measured, takes at most this long.
const PATIENCE: Nanos = Nanos::from_ms(10_000);

/// One entry of the matrix, and the means to measure it.
struct Pair {
    from: i32,
    to: i32,
    direction: Direction,
    ground: Arc<Ground>,
    stream: Stream,
    gbps: Vec<f64>,
    latency_us: Vec<f64>,
}

/// The matrix.
#[derive(Serialize)]
struct Matrix {
    header: Header,
    /// Bytes of a request.
    bytes: u64,
    pairs: Vec<Entry>,
}

/// The rate from one device to another, in 10^9 bytes a second, and the time that each copy takes beside its bytes, the
/// call included; -1 is the host.
#[derive(Serialize)]
struct Entry {
    from: i32,
    to: i32,
    gbps: Spread,
    latency_us: Spread,
}

/// The bandwidths of all pairs as lines of a table.
pub fn csv(driver: &Arc<dyn Driver>, bytes: u64, rounds: u32) -> Result<String> {
    let devices = Devices::open(driver)?;
    let mut pairs = devices.pairs(driver, bytes)?;
    (0..rounds).try_for_each(|_| pairs.iter_mut().try_for_each(|pair| pair.measure(bytes)))?;
    Ok(lines(&pairs.into_iter().filter_map(Pair::entry).collect::<Vec<_>>()))
}

/// Runs the command.
pub fn run(globals: &Globals, bandwidth: &BandwidthArguments) -> Result<()> {
    if bandwidth.common.output.svg.is_some() || bandwidth.common.output.html.is_some() {
        let cure = "leave out --svg and --html, or --pairs: every bench without it draws";
        return Err(Failure::Other(format!("bench bandwidth --pairs draws no picture, as it makes a matrix; {cure}")));
    }
    let opened = open::open(globals, open::Payload::TimingOnly)?;
    let bytes = bandwidth.bulk_bytes.last().copied().unwrap_or(256 << 20);
    let devices = Devices::open(&opened.driver)?;
    let mut pairs = devices.pairs(&opened.driver, bytes)?;
    let steps = bandwidth.rounds as usize;
    let mut progress = Progress::new(globals.quiet, !opened.driver.host().is_virtual(), steps);
    for round in 1..=bandwidth.rounds {
        progress.step(&format!("round {round} of {}", bandwidth.rounds));
        for pair in &mut pairs {
            pair.measure(bytes)?;
        }
    }
    drop(progress);
    let header = header::header(header::COMMAND, &opened, Device(0))?;
    let matrix = Matrix { header, bytes, pairs: pairs.into_iter().filter_map(Pair::entry).collect() };
    drop(devices);
    show(bandwidth, &matrix)
}

fn show(bandwidth: &BandwidthArguments, matrix: &Matrix) -> Result<()> {
    if let Some(path) = &bandwidth.csv {
        output::write_file(path, &lines(&matrix.pairs))?;
    }
    if write_json(bandwidth.common.output.json.as_ref(), matrix)? {
        return Ok(());
    }
    let (size, device) = (report::format::size(matrix.bytes), &matrix.header.device);
    let rounds = matrix.pairs.first().map_or(0, |pair| pair.gbps.rounds);
    output::print(&format!(
        "GB/s by row to column, requests of {size}, median of {rounds} rounds; {device}\n\n{}",
        matrix.table()
    ))
}

impl Matrix {
    fn at(&self, from: i32, to: i32) -> Option<f64> {
        self.pairs.iter().find(|pair| (pair.from, pair.to) == (from, to)).map(|pair| pair.gbps.median)
    }

    /// All ends, the host first.
    fn ends(&self) -> impl Iterator<Item = i32> + use<> {
        HOST..=self.pairs.iter().map(|pair| pair.to).max().unwrap_or(HOST)
    }

    fn table(&self) -> Table {
        let name = |end: i32| if end == HOST { "host".to_owned() } else { end.to_string() };
        let columns = std::iter::once(Column::words("from")).chain(self.ends().map(|end| Column::numbers(name(end))));
        let mut table = Table::new(columns.collect());
        for from in self.ends() {
            let rate = |to| self.at(from, to).map_or_else(|| "-".to_owned(), |gbps| format!("{gbps:.1}"));
            table.push(std::iter::once(name(from)).chain(self.ends().map(rate)));
        }
        table
    }
}

/// Entries as lines of a table.
fn lines(pairs: &[Entry]) -> String {
    let mut text = "From,To,Bandwidth,Latency\n".to_owned();
    for Entry { from, to, gbps, latency_us } in pairs {
        writeln!(text, "{from},{to},{:.3},{:.1}", gbps.median, latency_us.median).expect("writing to a String");
    }
    text
}

/// The primary contexts of all devices.
struct Devices {
    open: Vec<(OpenDevice, Context)>,
}

impl Devices {
    fn open(driver: &Arc<dyn Driver>) -> Result<Devices> {
        let mut open = Vec::new();
        for ordinal in 0..driver.device_count()? {
            let device = OpenDevice::open(driver, ordinal)?;
            let none = || Failure::Other("a device that was opened has no context".to_owned());
            open.push((device, driver.context_current()?.ok_or_else(none)?));
        }
        Ok(Devices { open })
    }

    /// Every device to and from the host and itself, then to every other.
    fn pairs(&self, driver: &Arc<dyn Driver>, bytes: u64) -> Result<Vec<Pair>> {
        let mut pairs = Vec::new();
        for (from, context) in &self.open {
            for (to, peer) in &self.open {
                driver.context_set_current(Some(*context))?;
                let mut ground = Ground::new(driver, &[bytes])?;
                ground.extend(*peer, to.device(), false)?;
                let (ground, ends) = (Arc::new(ground), (from.device().0, to.device().0));
                let stream = ground.stream(0)?;
                let mut add = |from, to, direction| {
                    let (ground, gbps, latency_us) = (Arc::clone(&ground), Vec::new(), Vec::new());
                    pairs.push(Pair { from, to, direction, ground, stream, gbps, latency_us });
                };
                if ends.0 != ends.1 {
                    add(ends.0, ends.1, Direction::Peer);
                    continue;
                }
                add(HOST, ends.0, Direction::HostToDevice);
                add(ends.0, HOST, Direction::DeviceToHost);
                add(ends.0, ends.0, Direction::DeviceToDevice);
            }
        }
        Ok(pairs)
    }
}

impl Pair {
    fn entry(self) -> Option<Entry> {
        let (gbps, latency_us) = (Spread::of(self.gbps)?, Spread::of(self.latency_us)?);
        Some(Entry { from: self.from, to: self.to, gbps, latency_us })
    }

    /// Measures the pair once more, behind one request that is not measured.
    fn measure(&mut self, bytes: u64) -> DriverResult<()> {
        let (rig, driver) = (self.ground.rig(), self.ground.driver());
        rig.make_current()?;
        let copy = |bytes| self.ground.copy(self.direction, 0, 0, bytes, self.stream);
        copy(bytes)?;
        rig.look(&[self.stream], PATIENCE)?;
        let begin = driver.host().now();
        (0..REQUESTS).try_for_each(|_| copy(bytes))?;
        driver.stream_synchronize(self.stream)?;
        let took = driver.host().now().since(begin);
        let bytes_per_ns = (u64::from(REQUESTS) * bytes) as f64 / took.0.max(1) as f64;
        self.gbps.push(bytes_per_ns);
        let (begin, few) = (driver.host().now(), bytes.min(FEW_BYTES));
        (0..REQUESTS).try_for_each(|_| copy(few).and_then(|()| driver.stream_synchronize(self.stream)))?;
        let each_ns = driver.host().now().since(begin).0 as f64 / f64::from(REQUESTS);
        self.latency_us.push((each_ns - few as f64 / bytes_per_ns).max(0.0) / 1e3);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix() -> Matrix {
        let text = r#"{"version":"","commit":"","command":"","device":"x","driver":"","backend":"soft",
            "environment":{}}"#;
        let spread = |figure: f64| Spread::of(vec![figure]).unwrap();
        let entry = |(from, to, gbps)| Entry { from, to, gbps: spread(gbps), latency_us: spread(9.0) };
        let pairs = [(HOST, 0, 55.2), (0, HOST, 55.0), (0, 1, 370.5)].map(entry).into();
        Matrix { header: serde_json::from_str(text).unwrap(), bytes: 1 << 20, pairs }
    }

    #[test]
    fn lines_have_both_ends_and_the_rate() {
        assert_eq!(
            lines(&matrix().pairs),
            "From,To,Bandwidth,Latency\n-1,0,55.200,9.0\n0,-1,55.000,9.0\n0,1,370.500,9.0\n"
        );
    }

    #[test]
    fn rows_are_sources_and_columns_targets() {
        let expected = "from  host     0      1
-----------------------
host     -  55.2      -
0     55.0     -  370.5
1        -     -      -
";
        assert_eq!(matrix().table().to_string(), expected);
    }
}
