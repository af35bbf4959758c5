//! Selections: the device of a computation (GR-30 to GR-33).

use std::fmt;

use super::bandwidth::Bandwidth;
use super::location::{Location, Locations};

/// Bytes that a computation uses, and the memories in which they are up to date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Use {
    /// How many.
    pub bytes: u64,
    /// Where they are.
    pub at: Locations,
    /// They have to come: it does not discard them.
    pub is_needed: bool,
    /// It changes them.
    pub is_changed: bool,
}

impl Use {
    /// Adds the next bytes of a stretch whose first ones are at `first` among the uses. Neighbours in the same memories
    /// are moved by one copy.
    pub fn add(self, uses: &mut Vec<Use>, first: usize) {
        match uses[first..].last_mut() {
            Some(last) if last.at == self.at => last.bytes += self.bytes,
            _ => uses.push(self),
        }
    }
}

/// Why no device can be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unplaced {
    /// There is none to choose from.
    NoDevice,
    /// Bytes are up to date nowhere.
    Nowhere,
}

impl fmt::Display for Unplaced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unplaced::NoDevice => write!(f, "there is no device to choose from: state one device or more"),
            Unplaced::Nowhere => write!(f, "it uses bytes that are up to date nowhere: write them first"),
        }
    }
}

impl std::error::Error for Unplaced {}

/// The policies of GrCUDA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selection {
    /// The first.
    SingleGpu,
    /// Each in turn.
    RoundRobin,
    /// The one with the fewest busy streams.
    StreamAware,
    /// The one that has the most of the bytes, if that is enough of them; else each in turn.
    MinTransferSize,
    /// Of those that have enough of the bytes, the one that gets the others soonest, each from the nearest memory.
    MinMinTransferTime,
    /// The same, each from the farthest memory.
    MinMaxTransferTime,
}

impl Selection {
    /// All, by GrCUDA's names.
    pub const ALL: [(&'static str, Selection); 6] = [
        ("single-gpu", Selection::SingleGpu),
        ("round-robin", Selection::RoundRobin),
        ("stream-aware", Selection::StreamAware),
        ("min-transfer-size", Selection::MinTransferSize),
        ("minmin-transfer-time", Selection::MinMinTransferTime),
        ("minmax-transfer-time", Selection::MinMaxTransferTime),
    ];

    /// Whether it asks for bandwidths.
    #[must_use]
    pub fn needs_bandwidth(self) -> bool {
        matches!(self, Selection::MinMinTransferTime | Selection::MinMaxTransferTime)
    }
}

/// A selection with its parameters and its state.
#[derive(Clone, Debug)]
pub struct Selector {
    selection: Selection,
    devices: u8,
    /// A device has enough of the bytes if it has more than this part of them.
    pub threshold: f64,
    /// Bandwidths, for those that look at transfer times.
    pub bandwidth: Option<Bandwidth>,
    /// GrCUDA's choices without our corrections. It counts all bytes of a computation, and takes the first of devices
    /// that are equally good.
    ///
    /// Else bytes that need not come count for nothing, each transfer has its latency, and of devices that are equally
    /// good the one is taken that has most of the bytes that the computation changes, and of those the least loaded.
    /// Bytes that are read stay up to date where they come from, and move once; those that are changed move each time
    /// the device changes.
    pub is_grcuda: bool,
    /// The turn.
    next: usize,
}

impl Selector {
    /// A selection among so many devices, one at least: a tenth of the bytes is enough, with our corrections.
    #[must_use]
    pub fn new(selection: Selection, devices: u8) -> Selector {
        Selector { selection, devices: devices.max(1), threshold: 0.1, bandwidth: None, is_grcuda: false, next: 0 }
    }

    fn in_turn(&mut self, among: &[u8]) -> u8 {
        let device = among[self.next % among.len()];
        self.next = (self.next + 1) % usize::from(self.devices);
        device
    }

    /// The first device with the lowest cost. If equals are told apart, the first of those that have to get the least
    /// of the bytes that are changed, and of those the one with the lowest load.
    fn least(&self, uses: &[Use], among: &[u8], load: &[u32], cost: impl Fn(u8) -> f64) -> Option<u8> {
        let moved = |device: u8| {
            let changed = uses.iter().filter(|one| one.is_changed && !one.at.has(Location::Device(device)));
            changed.map(|one| one.bytes).sum::<u64>()
        };
        let among_equals =
            |device: u8| if self.is_grcuda { (0, 0) } else { (moved(device), load[usize::from(device)]) };
        let order = |one: &u8, other: &u8| {
            let by_cost = cost(*one).total_cmp(&cost(*other));
            by_cost.then_with(|| among_equals(*one).cmp(&among_equals(*other)))
        };
        among.iter().copied().min_by(order)
    }

    /// The time in which a device gets the bytes that it has not, in ns. By our corrections each copy has its latency.
    fn time_ns(&self, device: u8, uses: &[Use]) -> Result<f64, Unplaced> {
        let Some(bandwidth) = &self.bandwidth else { return Ok(0.0) };
        let to = Location::Device(device);
        let figure = |at| match self.selection {
            Selection::MinMaxTransferTime => bandwidth.worst(to, at),
            _ => bandwidth.best(to, at).map(|best| best.0),
        };
        let latency_ns = |at| if self.is_grcuda { 0.0 } else { bandwidth.latency_us(to, at) * 1e3 };
        let time_ns = |one: &Use| Some(one.bytes as f64 / figure(one.at)? + latency_ns(one.at));
        uses.iter().map(|one| time_ns(one).ok_or(Unplaced::Nowhere)).sum()
    }

    /// One of the devices `among`, which are in order. `load` has for each device of the context the streams that are
    /// busy when the computation can begin.
    ///
    /// # Errors
    ///
    /// [`Unplaced`].
    pub fn select(&mut self, uses: &[Use], among: &[u8], load: &[u32]) -> Result<u8, Unplaced> {
        let first = *among.first().ok_or(Unplaced::NoDevice)?;
        let uses: Vec<Use> = uses.iter().filter(|one| self.is_grcuda || one.is_needed).copied().collect();
        let uses = &uses[..];
        let total: u64 = uses.iter().map(|one| one.bytes).sum();
        let present = |device: u8| {
            let here = uses.iter().filter(|one| one.at.has(Location::Device(device)));
            here.map(|one| one.bytes).sum::<u64>()
        };
        let has_enough = |device: &u8| present(*device) as f64 / total as f64 > self.threshold;
        let enough: Vec<u8> = among.iter().copied().filter(has_enough).collect();
        let chosen = match self.selection {
            Selection::SingleGpu => Some(first),
            Selection::RoundRobin => None,
            Selection::StreamAware => among.iter().copied().min_by_key(|device| load[usize::from(*device)]),
            Selection::MinTransferSize if enough.is_empty() => None,
            Selection::MinTransferSize => self.least(uses, among, load, |device| -(present(device) as f64)),
            Selection::MinMinTransferTime | Selection::MinMaxTransferTime => {
                let times: Result<Vec<f64>, Unplaced> =
                    (0..self.devices).map(|device| self.time_ns(device, uses)).collect();
                let times = times?;
                self.least(uses, &enough, load, |device| times[usize::from(device)])
            }
        };
        Ok(chosen.unwrap_or_else(|| self.in_turn(among)))
    }
}
