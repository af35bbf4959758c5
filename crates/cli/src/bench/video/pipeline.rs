//! A pipeline: a picture is due at every beat.

use hal::{Host, Nanos, Result};

/// The time between two pictures.
pub const BEAT: Nanos = Nanos(1_000_000_000 / 60);

/// The pictures of a pipeline in a slice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Footage {
    /// From the moment that a picture was due to its result.
    pub latencies_ns: Vec<u64>,
    /// Pictures that were due.
    pub due: u64,
    /// Pictures whose result came after the next one was due, or that were left out because an earlier one took so
    /// long.
    pub missed: u64,
}

/// Makes a picture at every beat from `first` until `end`. `make` returns when the result is there.
pub fn shoot(host: &dyn Host, first: Nanos, end: Nanos, make: &mut dyn FnMut() -> Result<()>) -> Result<Footage> {
    let mut footage = Footage::default();
    loop {
        let due = Nanos(first.0 + footage.due * BEAT.0);
        if due + BEAT > end {
            return Ok(footage);
        }
        footage.due += 1;
        let now = host.now();
        if now >= due + BEAT {
            footage.missed += 1;
            continue;
        }
        host.sleep(due.since(now));
        make()?;
        let latency = host.now().since(due);
        footage.missed += u64::from(latency > BEAT);
        footage.latencies_ns.push(latency.0);
    }
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
        let host = gpu.host();
        let (first, number) = (host.now() + Nanos::from_ms(1), Cell::new(0));
        let end = Nanos(first.0 + 6 * BEAT.0);
        let mut make = || {
            // The second takes three beats and a half: its own, and two that are left out.
            host.sleep(if number.replace(number.get() + 1) == 1 { Nanos(BEAT.0 * 7 / 2) } else { Nanos::from_ms(2) });
            Ok(())
        };
        let footage = shoot(host, first, end, &mut make).unwrap();
        assert_eq!((footage.due, footage.missed, footage.latencies_ns.len()), (6, 3, 4), "{footage:?}");
        assert!(footage.latencies_ns[0] >= 2_000_000 && footage.latencies_ns[2] >= BEAT.0 / 2, "{footage:?}");
    }
}
