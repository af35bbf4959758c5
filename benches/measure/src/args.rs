//! The arguments that measurements share.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use priority::Direction;

use crate::catalogue::MethodName;

/// The direction of copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DirectionName {
    /// Host to device.
    H2d,
    /// Device to host.
    D2h,
    /// Each of the two by itself.
    Both,
}

impl DirectionName {
    /// The directions that the name stands for.
    #[must_use]
    pub fn directions(self) -> Vec<Direction> {
        match self {
            DirectionName::H2d => vec![Direction::HostToDevice],
            DirectionName::D2h => vec![Direction::DeviceToHost],
            DirectionName::Both => vec![Direction::HostToDevice, Direction::DeviceToHost],
        }
    }
}

/// Arguments of all measurements.
#[derive(Debug, Args)]
pub struct Common {
    /// The device to measure, by its ordinal.
    #[arg(long, default_value_t = 0, value_name = "ORDINAL")]
    pub device: i32,
    /// The direction of copies.
    #[arg(long, value_enum, default_value_t = DirectionName::Both)]
    pub direction: DirectionName,
    /// The methods to compare, by name; each bench has its own choice.
    #[arg(long, value_enum, value_delimiter = ',', value_name = "A,B")]
    pub methods: Vec<MethodName>,
    /// How long to measure, all cases together (virtual time on the software GPU).
    #[arg(long, default_value_t = 20.0, value_parser = seconds, value_name = "SECONDS")]
    pub seconds: f64,
    /// An option of overtake, for every method that uses it; may be given several times.
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub options: Vec<String>,
    #[command(flatten)]
    pub output: Output,
}

/// The files of a measurement.
#[derive(Debug, Args)]
pub struct Output {
    /// Write the numbers to this file; `-` prints them instead of the table.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write the picture to this file: distributions, latency over bandwidth, or medians.
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Write a page with the table and the picture to this file.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// Parses a number of seconds within reason.
pub fn seconds(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if (0.1..=3600.0).contains(&seconds) { Ok(seconds) } else { Err("must lie between 0.1 and 3600".to_owned()) }
}

/// Bytes with an optional K, M or G, powers of 1024.
pub fn size(text: &str) -> Result<u64, String> {
    let (digits, shift) = match text.as_bytes().last() {
        Some(b'K' | b'k') => (&text[..text.len() - 1], 10),
        Some(b'M' | b'm') => (&text[..text.len() - 1], 20),
        Some(b'G' | b'g') => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    let bytes = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(1 << shift));
    bytes.filter(|bytes| (1..=8 << 30).contains(bytes)).ok_or_else(|| "not a size such as 64K, 256M or 1G".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_powers_of_1024_within_reason() {
        assert_eq!([size("64K"), size("256m"), size("7")], [Ok(65_536), Ok(256 << 20), Ok(7)]);
        assert!(["", "K", "0", "9G", "-1", "1.5M"].into_iter().all(|text| size(text).is_err()));
    }

    #[test]
    fn seconds_are_bounded() {
        assert_eq!(seconds("2.5"), Ok(2.5));
        assert!([seconds("0"), seconds("nan"), seconds("1e9"), seconds("soon")].iter().all(Result::is_err));
    }
}
