//! The scenario file.

use std::collections::BTreeMap;

use clap::ValueEnum;
use hal::Nanos;
use overtake::options::DemandOptions;
use semaphores::EmulationKind;
use serde::{Deserialize, Serialize};

/// The way in which copies are ordered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Time slices only: no semaphores.
    None,
    /// The patent's literal sequence: channels write the semaphores.
    Bracket,
    /// The same with kernels that add and subtract.
    Atomics,
    /// The default of overtake: the CPU counts schedulable copies.
    #[default]
    Hold,
}

impl Mode {
    /// The emulation of the semaphores, if there are any.
    pub fn kind(self) -> Option<EmulationKind> {
        match self {
            Mode::None => None,
            Mode::Bracket => Some(EmulationKind::Bracket),
            Mode::Atomics => Some(EmulationKind::Atomics),
            Mode::Hold => Some(EmulationKind::Hold),
        }
    }

    /// The name used in files, options and results.
    pub fn name(self) -> &'static str {
        self.kind().map_or("none", EmulationKind::name)
    }
}

/// The time from which a copy counts as pending and so holds others back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Inc {
    /// The time at which all copies that it comes after have completed.
    #[default]
    Schedulable,
    /// The time of its submission, even while it still waits for other copies. This is the hazard.
    Submitted,
}

/// The unit of every time in the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    Ns,
    #[default]
    Us,
    Ms,
}

impl Unit {
    pub fn name(self) -> &'static str {
        match self {
            Unit::Ns => "ns",
            Unit::Us => "us",
            Unit::Ms => "ms",
        }
    }

    fn nanos(self) -> u64 {
        match self {
            Unit::Ns => 1,
            Unit::Us => 1_000,
            Unit::Ms => 1_000_000,
        }
    }

    /// `value` of this unit, or `None` beyond the range of a clock.
    pub fn time(self, value: u64) -> Option<Nanos> {
        value.checked_mul(self.nanos()).filter(|nanos| *nanos <= u64::MAX / 4).map(Nanos)
    }

    /// A time in this unit, exactly and without trailing zeros.
    pub fn show(self, time: Nanos) -> String {
        let (whole, rest) = (time.0 / self.nanos(), time.0 % self.nanos());
        let digits = self.nanos().ilog10() as usize;
        let fraction = if rest == 0 { String::new() } else { format!(".{rest:0digits$}") };
        format!("{whole}{} {}", fraction.trim_end_matches('0'), self.name())
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    pub name: String,
    /// The mode that the expectations are about; `--mode` overrides it.
    #[serde(default)]
    pub mode: Mode,
    /// The unit of every time below.
    #[serde(default)]
    pub unit: Unit,
    /// The time that a channel keeps its engine while others have work.
    pub slice: u64,
    /// The time that the host scheduler needs for one semaphore command.
    #[serde(default)]
    pub command: u64,
    pub priorities: u8,
    /// Cuts copies below the highest priority; `--chunk-bytes` overrides it.
    #[serde(default)]
    pub chunk_bytes: Option<u64>,
    /// The time from which copies count.
    #[serde(default)]
    pub inc: Inc,
    /// Whether the copies that an urgent copy depends on inherit its priority; by default only in the mode `hold`.
    #[serde(default)]
    pub boost: Option<bool>,
    /// The share of the time that waiters get under endless urgent traffic, in the mode `hold`.
    #[serde(default)]
    pub bulk_share: f64,
    /// The time that they pass at once.
    #[serde(default = "default_bulk_slice")]
    pub bulk_slice: u64,
    /// The demand of a stream without a priority that comes first.
    #[serde(default)]
    pub demand: Demand,
    /// The devices; one with four queues if there are none.
    #[serde(default)]
    pub devices: Vec<Device>,
    pub streams: Vec<Stream>,
    /// The copies, in order of submission where arrivals are equal.
    pub copies: Vec<Copies>,
    /// The expected outcome.
    #[serde(default)]
    pub expect: Expectations,
}

/// The rule of demand; the defaults are those of the drop-in.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Demand {
    /// The bytes that a stream may ask for at once.
    pub burst_bytes: u64,
    /// The rate at which it may ask for more for good, in GB/s.
    pub gbps: u32,
}

impl Default for Demand {
    fn default() -> Demand {
        let DemandOptions { burst_bytes, gbps } = DemandOptions::default();
        Demand { burst_bytes, gbps }
    }
}

fn default_bulk_slice() -> u64 {
    500
}

/// A device with one copy engine for each direction.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Device {
    pub name: String,
    /// Copy channels of each engine, at most.
    #[serde(default = "default_queues")]
    pub queues: usize,
    /// Bandwidth to the device, in bytes per nanosecond.
    #[serde(default = "default_gbps")]
    pub h2d_gbps: f64,
    /// Bandwidth from the device.
    #[serde(default = "default_gbps")]
    pub d2h_gbps: f64,
    /// The time that an engine needs for every copy or chunk besides moving bytes.
    #[serde(default)]
    pub gap: u64,
}

fn default_queues() -> usize {
    4
}

fn default_gbps() -> f64 {
    55.0
}

impl Default for Device {
    fn default() -> Device {
        Device {
            name: "gpu0".to_owned(),
            queues: default_queues(),
            h2d_gbps: default_gbps(),
            d2h_gbps: default_gbps(),
            gap: 0,
        }
    }
}

/// The engine of its device that a stream's copies need.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Way {
    /// Host to device.
    #[default]
    H2d,
    /// Device to host.
    D2h,
}

impl Way {
    pub fn name(self) -> &'static str {
        match self {
            Way::H2d => "h2d",
            Way::D2h => "d2h",
        }
    }
}

/// A stream of the application.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stream {
    pub name: String,
    /// Higher is more urgent; 1 is the lowest. Without it the rule of demand ranks each copy, as under the drop-in.
    #[serde(default)]
    pub priority: Option<u8>,
    /// Its device; by default the first.
    #[serde(default)]
    pub device: Option<String>,
    /// The direction of its copies.
    #[serde(default)]
    pub direction: Way,
}

/// One copy, or several alike.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Copies {
    /// Its name; of several, the stem to which their number is added.
    pub name: String,
    pub stream: String,
    /// Its bytes; or else:
    #[serde(default)]
    pub bytes: Option<u64>,
    #[serde(default)]
    pub duration: Option<u64>,
    /// The time of its submission.
    #[serde(default)]
    pub arrival: u64,
    /// The copies that it waits for.
    #[serde(default)]
    pub after: Vec<String>,
    /// The number of copies; by default one.
    #[serde(default)]
    pub count: Option<u32>,
    /// The time between their arrivals.
    #[serde(default)]
    pub every: u64,
}

/// The expected outcomes, by mode.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Expectations {
    order: Option<Names>,
    semaphore: BTreeMap<String, Values>,
    before: Vec<[String; 2]>,
    done_by: BTreeMap<String, u64>,
    deadlock: bool,
    none: Option<Expectation>,
    bracket: Option<Expectation>,
    atomics: Option<Expectation>,
    hold: Option<Expectation>,
}

/// The expected outcome in one mode.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Expectation {
    /// The copies in the order in which they run. A copy that was interrupted appears again.
    pub order: Option<Names>,
    /// The history of semaphores, by `PRIORITY`, or `DEVICE.DIRECTION.PRIORITY` where several engines are in use.
    pub semaphore: BTreeMap<String, Values>,
    /// Pairs of copies: the first has completed before the second begins.
    pub before: Vec<[String; 2]>,
    /// The latest time at which a copy must have completed.
    pub done_by: BTreeMap<String, u64>,
    /// Whether nothing moves any more before all is done.
    pub deadlock: bool,
}

/// Names: `"a b"` or `["a", "b"]`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Names {
    /// Between blanks.
    Text(String),
    /// One by one.
    List(Vec<String>),
}

impl Names {
    /// One by one.
    pub fn list(&self) -> Vec<&str> {
        match self {
            Names::Text(text) => text.split_whitespace().collect(),
            Names::List(list) => list.iter().map(String::as_str).collect(),
        }
    }
}

/// Values: `"0-1-0"` or `[0, 1, 0]`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Values {
    /// Between hyphens.
    Text(String),
    /// One by one.
    List(Vec<u32>),
}

impl Values {
    /// Between hyphens.
    pub fn text(&self) -> String {
        match self {
            Values::Text(text) => text.clone(),
            Values::List(list) => list.iter().map(u32::to_string).collect::<Vec<_>>().join("-"),
        }
    }
}

impl Expectations {
    /// The keys of `[expect]` itself: they are about the file's own mode.
    fn own(&self) -> Expectation {
        Expectation {
            order: self.order.clone(),
            semaphore: self.semaphore.clone(),
            before: self.before.clone(),
            done_by: self.done_by.clone(),
            deadlock: self.deadlock,
        }
    }

    fn table(&self, mode: Mode) -> Option<&Expectation> {
        match mode {
            Mode::None => self.none.as_ref(),
            Mode::Bracket => self.bracket.as_ref(),
            Mode::Atomics => self.atomics.as_ref(),
            Mode::Hold => self.hold.as_ref(),
        }
    }

    /// The expected outcome in `mode`, if the file has one.
    pub fn of(&self, mode: Mode, own_mode: Mode) -> Result<Option<Expectation>, String> {
        let own = (mode == own_mode).then(|| self.own()).filter(|own| *own != Expectation::default());
        match (own, self.table(mode)) {
            (Some(_), Some(_)) => {
                let name = mode.name();
                Err(format!("[expect] is about the mode {name} already; move its keys into [expect.{name}]"))
            }
            (own, table) => Ok(own.or_else(|| table.cloned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_shown_exactly() {
        assert_eq!(Unit::Us.show(Nanos(12_340)), "12.34 us");
        assert_eq!(Unit::Us.show(Nanos(12_000)), "12 us");
        assert_eq!(Unit::Ns.show(Nanos(7)), "7 ns");
        assert_eq!(Unit::Ms.show(Nanos(1_000_001)), "1.000001 ms");
        assert_eq!(Unit::Ms.time(u64::MAX), None);
    }

    #[test]
    fn expectations_can_be_written_either_way() {
        let text = Expectation { order: Some(Names::Text("a  b".into())), ..Expectation::default() };
        assert_eq!(text.order.unwrap().list(), Names::List(vec!["a".into(), "b".into()]).list());
        assert_eq!(Values::List(vec![0, 1, 0]).text(), "0-1-0");
    }
}
