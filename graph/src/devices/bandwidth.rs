//! Bandwidths between memories (GR-34).

use super::location::{Location, Locations};

/// The bandwidth between each two memories, in GB/s, and the time that a copy of a few bytes takes. Both are the same
/// in both directions.
#[derive(Clone, Debug, PartialEq)]
pub struct Bandwidth {
    devices: u8,
    /// Rows of devices, and that of the host last.
    rows: Vec<f64>,
    /// The same of latencies in us; 0 where none is stated.
    latencies_us: Vec<f64>,
}

/// The sum of figures, and how many there are.
type Sum = (f64, u32);

const HEADER: &str = "From,To,Bandwidth";

impl Bandwidth {
    /// Reads lines `from,to,GB/s` behind a header, with -1 for the host, and with a latency in us behind that where one
    /// is known. Devices beyond the first `devices` are left out. Bandwidths are rounded down, because they wander, and
    /// the figures of both directions are averaged.
    ///
    /// # Errors
    ///
    /// The line, and its fault with the cure.
    pub fn read(text: &str, devices: u8) -> Result<Bandwidth, (usize, String)> {
        let side = usize::from(devices) + 1;
        let mut sums = vec![[Sum::default(); 2]; side * side];
        for (number, line) in (1..).zip(text.lines()) {
            let is_header = number == 1 && line.starts_with("From,");
            if is_header || line.trim().is_empty() {
                continue;
            }
            let (from, to, gigabytes_per_s, latency_us) = pair(line).map_err(|fault| (number, fault))?;
            let place = |end: i16| match end {
                -1 => Some(side - 1),
                device => usize::try_from(device).ok().filter(|device| *device < side - 1),
            };
            let (Some(from), Some(to)) = (place(from), place(to)) else { continue };
            for at in [from * side + to, to * side + from] {
                for (sum, figure) in sums[at].iter_mut().zip([Some(gigabytes_per_s.floor()), latency_us]) {
                    *sum = (sum.0 + figure.unwrap_or(0.0), sum.1 + u32::from(figure.is_some()));
                }
            }
        }
        let mean = |(sum, count): Sum| if count == 0 { 0.0 } else { sum / f64::from(count) };
        let [rows, latencies_us] = [0, 1].map(|figure| sums.iter().map(|sums| mean(sums[figure])).collect());
        let read = Bandwidth { devices, rows, latencies_us };
        match read.missing() {
            Some((one, other)) => Err((
                text.lines().count(),
                format!("there is no bandwidth between {one} and {other}: add a line for each two memories"),
            )),
            None => Ok(read),
        }
    }

    /// Two memories without a link between them.
    fn missing(&self) -> Option<(Location, Location)> {
        let all = || std::iter::once(Location::Host).chain((0..self.devices).map(Location::Device));
        let pairs = all().flat_map(|one| all().map(move |other| (one, other)));
        pairs.into_iter().find(|(one, other)| one != other && self.between(*one, *other) == Some(0.0))
    }

    /// The place of two memories in the rows, if there are such devices.
    fn place(&self, one: Location, other: Location) -> Option<usize> {
        let row = |location| match location {
            Location::Host => Some(usize::from(self.devices)),
            Location::Device(device) => (device < self.devices).then_some(usize::from(device)),
        };
        Some(row(one)? * (usize::from(self.devices) + 1) + row(other)?)
    }

    /// The bandwidth between two memories, if there are such devices.
    #[must_use]
    pub fn between(&self, one: Location, other: Location) -> Option<f64> {
        Some(self.rows[self.place(one, other)?])
    }

    /// The time in us that each copy to a device takes beside its bytes, from the memory for which it is least. It is 0
    /// for bytes that it has, and where it is not known.
    #[must_use]
    pub fn latency_us(&self, to: Location, at: Locations) -> f64 {
        let from = |from| self.place(to, from).map(|place| self.latencies_us[place]);
        let shortest = at.iter().filter_map(from).reduce(f64::min);
        shortest.filter(|_| !at.has(to)).unwrap_or(0.0)
    }

    /// The highest bandwidth at which a device can get bytes, and the memory that they come from then. Bytes that it
    /// has come at an infinite one. None if the bytes are nowhere, or on a device that does not exist.
    #[must_use]
    pub fn best(&self, to: Location, at: Locations) -> Option<(f64, Location)> {
        self.all(to, at)?.into_iter().reduce(|best, other| if other.0 > best.0 { other } else { best })
    }

    /// As [`Bandwidth::best`], the lowest, unless the device has the bytes.
    #[must_use]
    pub fn worst(&self, to: Location, at: Locations) -> Option<f64> {
        let all = self.all(to, at)?.into_iter().map(|(figure, _)| figure);
        if at.has(to) { Some(f64::INFINITY) } else { all.reduce(f64::min) }
    }

    fn all(&self, to: Location, at: Locations) -> Option<Vec<(f64, Location)>> {
        let figure = |from| if to == from { Some(f64::INFINITY) } else { self.between(to, from) };
        at.iter().map(|from| Some((figure(from)?, from))).collect()
    }
}

fn pair(line: &str) -> Result<(i16, i16, f64, Option<f64>), String> {
    let fault = || {
        format!(
            "\"{line}\" is not two devices, a bandwidth and perhaps a latency: write {HEADER}, with -1 for the host"
        )
    };
    let mut words = line.split(',').map(str::trim);
    let mut end = || words.next().and_then(|word| word.parse::<i16>().ok()).filter(|end| *end >= -1);
    let (from, to) = (end().ok_or_else(fault)?, end().ok_or_else(fault)?);
    let figure = |word: &str| word.parse::<f64>().ok().filter(|figure| figure.is_finite() && *figure >= 0.0);
    let mut figures = words.map(|word| figure(word).ok_or_else(fault));
    let bandwidth = figures.next().ok_or_else(fault)??;
    let latency_us = figures.next().transpose()?;
    if figures.next().is_some() { Err(fault()) } else { Ok((from, to, bandwidth, latency_us)) }
}
