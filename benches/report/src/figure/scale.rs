//! Scales: the place of a value on an axis, and the values that get a tick.

use crate::format;

/// A logarithmic scale that begins and ends on 1, 2 or 5 times a power of ten.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LogScale {
    low: f64,
    high: f64,
}

const STEPS: [f64; 3] = [1.0, 2.0, 5.0];

fn ladder(from: i32, to: i32) -> impl Iterator<Item = f64> {
    (from..=to).flat_map(|exponent| STEPS.map(|step| step * 10_f64.powi(exponent)))
}

impl LogScale {
    /// Covers `low` to `high`, both above 0, with a little air and at least one decade.
    pub(super) fn covering(low: f64, high: f64) -> LogScale {
        let low = low.max(1e-3);
        let high = high.max(low * 5.0);
        let first = (low / 1.15).log10().floor() as i32;
        let last = (high * 1.15).log10().ceil() as i32;
        let below = ladder(first - 1, last).take_while(|value| *value <= low / 1.15).last().unwrap_or(low);
        let above = ladder(first, last + 1).find(|value| *value >= high * 1.15).unwrap_or(high);
        LogScale { low: below, high: above }
    }

    /// 0 at the low end, 1 at the high end; values outside are clamped.
    pub(super) fn share(self, value: f64) -> f64 {
        let value = value.clamp(self.low, self.high);
        (value / self.low).log10() / (self.high / self.low).log10()
    }

    /// Powers of ten get a label, their doubles and fives a faint line: `(value, is a power of ten)`.
    pub(super) fn ticks(self) -> Vec<(f64, bool)> {
        let (first, last) = (self.low.log10().floor() as i32, self.high.log10().ceil() as i32);
        let inside = |value: &f64| *value >= self.low * 0.999 && *value <= self.high * 1.001;
        let labelled = |value: f64| (value.log10() - value.log10().round()).abs() < 1e-6;
        ladder(first, last).filter(inside).map(|value| (value, labelled(value))).collect()
    }
}

/// Round numbers from 0 to at most `end`, about `count` of them.
pub(super) fn linear_ticks(end: f64, count: usize) -> Vec<f64> {
    let rough = (end / count.max(1) as f64).max(f64::MIN_POSITIVE);
    let exponent = rough.log10().floor() as i32;
    let step = ladder(exponent, exponent + 1).find(|step| *step >= rough * 0.999).unwrap_or(rough);
    (0..).map(|index| f64::from(index) * step).take_while(|tick| *tick <= end * 1.000_001).collect()
}

/// A linear scale from 0 to a little more than its highest value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FromZero {
    step: f64,
    end: f64,
}

impl FromZero {
    /// Up to `highest`, with a little air.
    pub(super) fn covering(highest: f64) -> FromZero {
        let highest = if highest > 0.0 { highest } else { 1.0 };
        // A value of 101 % moves no tick.
        let step = linear_ticks(0.95 * highest, 7).get(1).copied().unwrap_or(highest);
        FromZero { step, end: 1.02 * highest }
    }

    /// 0 at 0, 1 at the end; values outside are clamped.
    pub(super) fn share(&self, value: f64) -> f64 {
        (value / self.end).clamp(0.0, 1.0)
    }

    /// The round numbers on it with their labels.
    pub(super) fn ticks(&self) -> Vec<(f64, String)> {
        let decimals = (-self.step.log10().floor()).clamp(0.0, 9.0) as usize;
        let tick = |value| (value, format::grouped(value, decimals));
        let places = (0..).map(|index| f64::from(index) * self.step);
        places.take_while(|value| *value <= self.end).map(tick).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_scale_ends_on_round_numbers() {
        let scale = LogScale::covering(8.1, 17_700.0);
        assert_eq!(scale, LogScale { low: 5.0, high: 50_000.0 });
        assert_eq!((scale.share(1.0), scale.share(50_000.0)), (0.0, 1.0));
        assert!((scale.share(500.0) - 0.5).abs() < 1e-9);
        let labelled: Vec<f64> = scale.ticks().into_iter().filter(|tick| tick.1).map(|tick| tick.0).collect();
        assert_eq!(labelled, [10.0, 100.0, 1_000.0, 10_000.0]);
        let one_value = LogScale::covering(7.0, 7.0);
        assert!(one_value.ticks().iter().any(|tick| tick.1), "always at least one label: {one_value:?}");
    }

    #[test]
    fn a_scale_from_zero_has_round_ticks_and_a_little_air() {
        let labels =
            |highest| FromZero::covering(highest).ticks().into_iter().map(|tick| tick.1).collect::<Vec<_>>().join(" ");
        assert_eq!([labels(100.0), labels(101.0)], ["0 20 40 60 80 100"; 2]);
        assert_eq!(labels(118.0), "0 20 40 60 80 100 120");
        assert_eq!(labels(0.77), "0.0 0.2 0.4 0.6");
        assert_eq!(labels(0.0), labels(1.0));
        assert_eq!([51.0, 300.0, -1.0].map(|value| FromZero::covering(100.0).share(value)), [0.5, 1.0, 0.0]);
    }

    #[test]
    fn linear_ticks_are_round() {
        assert_eq!(linear_ticks(10.0, 5), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(linear_ticks(130.0, 6), [0.0, 50.0, 100.0]);
        assert_eq!(linear_ticks(0.0, 5), [0.0]);
    }
}
