//! A camera: a picture is due in every period.

use std::collections::BTreeMap;

use hal::{Host, Nanos, Result};

use super::course::Ends;

/// The times of a camera's pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    pub first: Nanos,
    pub period: Nanos,
    /// A result that comes later than this after its picture was due is late.
    pub deadline: Nanos,
    /// No picture is due whose successor comes later.
    pub end: Nanos,
}

impl Schedule {
    /// The time of a picture, if there is one.
    #[must_use]
    pub fn due(&self, number: u64) -> Option<Nanos> {
        let due = Nanos(self.first.0 + number * self.period.0);
        (due + self.period <= self.end).then_some(due)
    }
}

/// The pictures of a camera.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Footage {
    /// From the moment that a picture was due to its result, in the order of the pictures.
    pub latencies_ns: Vec<u64>,
    /// Pictures that were due.
    pub due: u64,
    /// Results that came after their deadline.
    pub late: u64,
    /// Pictures without a result, by cause.
    pub dropped: BTreeMap<String, u64>,
    /// The sum of the differences between the latencies of one result and the next, and the number of them.
    pub steps: (u64, u64),
    /// Results whose bytes were compared, and those with a wrong one.
    pub checked: u64,
    pub wrong: u64,
    /// The course of each delivered frame, where they are noted.
    pub courses: Vec<Ends>,
}

impl Footage {
    /// A result has come.
    pub fn deliver(&mut self, latency: Nanos, deadline: Nanos, is_right: Option<bool>) {
        if let Some(before) = self.latencies_ns.last() {
            self.steps = (self.steps.0 + latency.0.abs_diff(*before), self.steps.1 + 1);
        }
        self.latencies_ns.push(latency.0);
        self.late += u64::from(latency > deadline);
        self.checked += u64::from(is_right.is_some());
        self.wrong += u64::from(is_right == Some(false));
    }

    /// A picture has no result.
    pub fn drop(&mut self, cause: &str) {
        *self.dropped.entry(cause.to_owned()).or_default() += 1;
    }

    /// Pictures whose result was not there in time.
    #[must_use]
    pub fn missed(&self) -> u64 {
        self.late + self.dropped.values().sum::<u64>()
    }

    /// The mean difference between the latencies of one result and the next.
    #[must_use]
    pub fn jitter_us(&self) -> Option<f64> {
        (self.steps.1 > 0).then(|| self.steps.0 as f64 / self.steps.1 as f64 / 1e3)
    }

    /// Adds those of another camera, or of another time.
    pub fn add(&mut self, other: &Footage) {
        self.latencies_ns.extend(&other.latencies_ns);
        self.steps = (self.steps.0 + other.steps.0, self.steps.1 + other.steps.1);
        self.due += other.due;
        self.late += other.late;
        for (cause, count) in &other.dropped {
            *self.dropped.entry(cause.clone()).or_default() += count;
        }
        self.checked += other.checked;
        self.wrong += other.wrong;
        self.courses.extend(&other.courses);
    }
}

/// Makes a picture in every period. `make` returns when the result is there, and tells whether its bytes are right. A
/// picture is skipped if the next one is due when the one before it has its result.
pub fn shoot(host: &dyn Host, schedule: Schedule, make: &mut dyn FnMut() -> Result<Option<bool>>) -> Result<Footage> {
    let mut footage = Footage::default();
    while let Some(due) = schedule.due(footage.due) {
        footage.due += 1;
        let now = host.now();
        if now >= due + schedule.period {
            footage.drop("skipped");
            continue;
        }
        host.sleep(due.since(now));
        let is_right = make()?;
        footage.deliver(host.now().since(due), schedule.deadline, is_right);
    }
    Ok(footage)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use hal::Driver;
    use softgpu::SoftGpu;

    use super::*;

    #[test]
    fn late_pictures_and_those_they_push_out_are_missed() {
        let gpu = SoftGpu::builder().build();
        let (host, number, period) = (gpu.host(), Cell::new(0), Nanos::from_us(16_667));
        let first = host.now() + Nanos::from_ms(1);
        let schedule = Schedule { first, period, deadline: period, end: Nanos(first.0 + 6 * period.0) };
        let mut make = || {
            // The second takes three periods and a half: its own, and two that are left out.
            let is_second = number.replace(number.get() + 1) == 1;
            host.sleep(if is_second { Nanos(period.0 * 7 / 2) } else { Nanos::from_ms(2) });
            Ok(Some(!is_second))
        };
        let footage = shoot(host, schedule, &mut make).unwrap();
        assert_eq!((footage.due, footage.missed(), footage.latencies_ns.len()), (6, 3, 4), "{footage:?}");
        assert_eq!((footage.late, footage.dropped["skipped"]), (1, 2), "{footage:?}");
        assert_eq!((footage.checked, footage.wrong), (4, 1), "{footage:?}");
        let latencies = &footage.latencies_ns;
        let steps: u64 = latencies.windows(2).map(|pair| pair[0].abs_diff(pair[1])).sum();
        assert_eq!(footage.jitter_us(), Some(steps as f64 / 3e3));
        assert!(footage.latencies_ns[0] >= 2_000_000 && footage.latencies_ns[2] >= period.0 / 2, "{footage:?}");
    }
}
