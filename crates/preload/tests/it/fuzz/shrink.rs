//! Makes a differing batch small: one program of it, then as few of its steps as still show a difference.

use std::time::{Duration, Instant};

use super::trial::{Batch, Difference, PROGRAM_TIME_MAX, compare, run, tidy};
use crate::harness::build::Places;
use crate::harness::deployment::Deployment;

/// A difference that depends on times does not show in every run.
const TRIES: u32 = 3;
/// A small program hangs if it runs for longer.
const SMALL_TIME_MAX: Duration = Duration::from_secs(8);
/// The search for a smaller program ends after this.
const SHRINKING_TIME_MAX: Duration = Duration::from_secs(120);

pub struct Small {
    /// The batch.
    pub batch: Batch,
    /// Its difference from the native run.
    pub text: String,
}

struct Shrinking<'a> {
    places: &'a Places,
    deployment: Deployment,
    limit: Duration,
    until: Instant,
}

impl Shrinking<'_> {
    /// The difference of the batch, if it shows in one of a few tries.
    fn differs(&self, batch: &Batch) -> Result<Option<String>, String> {
        for _ in 0..TRIES {
            if Instant::now() > self.until {
                return Ok(None);
            }
            let native = run(self.places, batch, Deployment::Native, self.limit)?;
            let here = run(self.places, batch, self.deployment, self.limit)?;
            let difference = compare(self.deployment, &native, &here);
            tidy(self.places, batch);
            if let Some(difference) = difference {
                return Ok(Some(difference.text));
            }
        }
        Ok(None)
    }

    /// The first program of the batch that differs by itself.
    fn one_program(&self, small: Small) -> Result<Small, String> {
        for first in small.batch.first..small.batch.first + small.batch.count {
            let batch = Batch { first, count: 1, ..small.batch.clone() };
            if let Some(text) = self.differs(&batch)? {
                return Ok(Small { batch, text });
            }
        }
        Ok(small)
    }

    /// Leaves out steps as long as the difference stays, fewer at a time with every round.
    fn fewer_steps(&self, mut small: Small, steps: Vec<String>) -> Result<Small, String> {
        let (mut left, mut at_once) = (steps, 0);
        at_once += left.len().div_ceil(2);
        while at_once > 0 && Instant::now() < self.until {
            let mut at = 0;
            while at < left.len() {
                let end = (at + at_once).min(left.len());
                let mut batch = small.batch.clone();
                batch.skipped.extend(left[at..end].iter().cloned());
                match self.differs(&batch)? {
                    Some(text) => {
                        small = Small { batch, text };
                        left.drain(at..end);
                    }
                    None => at = end,
                }
            }
            at_once = if at_once == 1 { 0 } else { at_once.div_ceil(2) };
        }
        Ok(small)
    }
}

/// The steps of one program in its native output, as `thread.step`.
fn steps(output: &str) -> Vec<String> {
    let number = |line: &str| -> Option<String> {
        let step = line.split_once(": ")?.1.split(' ').next()?;
        let (thread, rest) = step.split_once('.')?;
        (thread.parse::<u32>().is_ok() && rest.parse::<u32>().is_ok()).then(|| step.to_owned())
    };
    output.lines().filter_map(number).collect()
}

/// The smallest batch found in the time. If the difference does not show again, the batch itself.
pub fn shrink(places: &Places, batch: &Batch, difference: &Difference) -> Result<Small, String> {
    let limit = if difference.is_hang { SMALL_TIME_MAX } else { PROGRAM_TIME_MAX };
    let until = Instant::now() + SHRINKING_TIME_MAX;
    let shrinking = Shrinking { places, deployment: difference.deployment, limit, until };
    let whole = Small { batch: batch.clone(), text: difference.text.clone() };
    let small = shrinking.one_program(whole)?;
    if small.batch.count != 1 {
        return Ok(small);
    }
    let native = run(places, &small.batch, Deployment::Native, PROGRAM_TIME_MAX)?;
    shrinking.fewer_steps(small, steps(&native.output))
}
