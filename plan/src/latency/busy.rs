//! The longest wait at one server that is never idle while there is work, and takes it in any order.

use std::ops::Range;

use hal::Nanos;

/// A search that takes more steps than this has found no limit.
const STEPS_MAX: u32 = 20_000;

/// Streams with the same work, period and jitter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Demand {
    pub count: u32,
    /// The work of a frame.
    pub span: Nanos,
    pub period: Nanos,
    /// A frame comes so late at most.
    pub jitter: Nanos,
}

impl Demand {
    pub fn load(&self) -> f64 {
        f64::from(self.count) * self.span.0 as f64 / self.period.0 as f64
    }

    /// The most frames of one stream that come in less than this time.
    fn frames(&self, time: Nanos) -> u64 {
        (time + self.jitter).0.div_ceil(self.period.0)
    }

    /// The most work of so many streams in less than this time.
    fn work(&self, streams: u32, time: Nanos) -> Nanos {
        Nanos(self.frames(time).saturating_mul(self.span.0).saturating_mul(u64::from(streams)))
    }
}

/// The longest time from the time at which a frame of this stream is due to its end; `None` if there is no limit.
///
/// No order of the work is worse for a frame than that in which all frames of all other streams, and the earlier ones
/// of its own, come first. Then it ends when all work that has come is done, and the longest such time begins with
/// frames of all streams at once (Tindell, Burns and Wellings 1994, with all other streams at a higher priority).
pub(super) fn longest(demands: &[Demand], of: usize) -> Option<Nanos> {
    if demands.iter().map(Demand::load).sum::<f64>() >= 1.0 {
        return None;
    }
    let own = &demands[of];
    let (mut longest, mut end, mut steps) = (Nanos::ZERO, Nanos::ZERO, 0..STEPS_MAX);
    for earlier in 0_u64.. {
        let own_work = Nanos(own.span.0.saturating_mul(earlier + 1));
        end = settle(demands, of, own_work, end, &mut steps)?;
        // At worst the busy time begins with a frame that is as late as jitter lets it be. Later ones are on time.
        let due = Nanos(own.period.0.saturating_mul(earlier)) - own.jitter;
        longest = longest.max(end - due);
        if end <= Nanos(own.period.0.saturating_mul(earlier + 1)) - own.jitter {
            return Some(longest);
        }
    }
    None
}

/// The first time at which this work and all that other streams have brought until then is done. It is not before
/// `earliest`, from which the search begins.
fn settle(demands: &[Demand], of: usize, own_work: Nanos, earliest: Nanos, steps: &mut Range<u32>) -> Option<Nanos> {
    let others = |time| {
        let streams = |index, demand: &Demand| demand.count - u32::from(index == of);
        demands
            .iter()
            .enumerate()
            .fold(own_work, |sum, (index, demand)| sum + demand.work(streams(index, demand), time))
    };
    let mut time = own_work.max(earliest).max(Nanos(1));
    for _ in steps {
        let next = others(time);
        if next <= time {
            return Some(time);
        }
        time = next;
    }
    None
}
