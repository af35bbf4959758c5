//! The few figures of a machine on which the constants of copies depend.

use std::sync::Arc;

use console::progress::Progress;
use hal::{Driver, Result};
use overtake::options::{Profile, Transport};
use overtake::{Options, Overtake, Priority};
use priority::Direction;
use serde::{Deserialize, Serialize};

use crate::pageable::memory::{Copier, Host, Memory};

/// A copy that shows the rate of the link.
const LARGE_BYTES: u64 = 64 << 20;
const LARGE_COPIES: usize = 9;
const SMALL_BYTES: u64 = 64 << 10;
const SMALL_COPIES: usize = 101;
/// The sizes of pageable copies of which one may be the smallest that is staged.
const STAGED_BYTES: [u64; 6] = [256 << 10, 512 << 10, 1 << 20, 2 << 20, 4 << 20, 8 << 20];
const STAGED_COPIES: usize = 15;
/// A size is worth staging if that is so many times as fast.
const WORTH: f64 = 1.1;
/// The first staged copies have the threads and the slots made.
const FIRST_COPIES: usize = 100;

const DIRECTIONS: [Direction; 2] = [Direction::HostToDevice, Direction::DeviceToHost];

/// The steps of [`measure()`].
pub const STEPS: usize = 4;

/// The figures of a device. Pairs are to the device and to the host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// The rate of copies of 64 MiB by the copy engine.
    pub engine_gbps: [f64; 2],
    /// The same by a copy kernel, with the warps that it has on such a link; `null` without one.
    pub kernel_gbps: Option<[f64; 2]>,
    /// The time of a copy of 64 KiB on an idle engine, from its call to its end.
    pub small_us: [f64; 2],
    /// The rates of pageable copies, by size: the driver's, and staged. Empty where the process has too few cores.
    pub pageable: [Vec<Pageable>; 2],
}

/// Pageable copies of one size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pageable {
    /// The size.
    pub bytes: u64,
    /// The rate of the driver's copies.
    pub driver_gbps: f64,
    /// The rate of those through pinned slots.
    pub staged_gbps: f64,
}

impl Calibration {
    /// The rate of the link, for the option `link_gbps`: that of the slower direction.
    #[must_use]
    pub fn link_gbps(&self) -> u32 {
        (self.engine_gbps[0].min(self.engine_gbps[1]).round() as u32).max(1)
    }

    /// The smallest size from which on staging is worth it, in each direction.
    #[must_use]
    pub fn staging_bytes_min(&self) -> [Option<u64>; 2] {
        self.pageable.each_ref().map(|rates| {
            let is_worth = |rate: &&Pageable| rate.staged_gbps >= WORTH * rate.driver_gbps;
            rates.iter().rev().take_while(is_worth).last().map(|rate| rate.bytes)
        })
    }
}

/// Measures the device whose context is current.
pub fn measure(driver: &Arc<dyn Driver>, progress: &mut Progress) -> Result<Calibration> {
    let memory = Arc::new(Memory::new(driver, LARGE_BYTES, LARGE_BYTES)?);
    let native = |direction| Copier::native(&memory, direction, 0);
    progress.step("copy engine");
    let engine_gbps = pair(|direction| rate(&native(direction)?, LARGE_BYTES, LARGE_COPIES, &mut Host::Pinned))?;
    progress.step("small copies");
    let small_ns = pair(|direction| time(&native(direction)?, SMALL_BYTES, SMALL_COPIES, &mut Host::Pinned))?;
    let mut calibration = Calibration {
        engine_gbps,
        kernel_gbps: None,
        small_us: small_ns.map(|ns| ns as f64 / 1e3),
        pageable: Default::default(),
    };
    progress.step("copy kernel");
    calibration.kernel_gbps = by_kernel(driver, &memory, calibration.link_gbps())?;
    progress.step("pageable copies");
    calibration.pageable = pageable(driver, &memory, Options::default())?;
    Ok(calibration)
}

fn pair<T>(mut of: impl FnMut(Direction) -> Result<T>) -> Result<[T; 2]> {
    let [to_device, to_host] = DIRECTIONS;
    Ok([of(to_device)?, of(to_host)?])
}

/// The median time of copies, of which the first is not counted.
fn time(copier: &Copier, bytes: u64, copies: usize, host: &mut Host<'_>) -> Result<u64> {
    copier.copy(host, bytes)?;
    let mut times = (0..copies).map(|_| copier.copy(host, bytes)).collect::<Result<Vec<_>>>()?;
    times.sort_unstable();
    Ok(times[copies / 2].max(1))
}

fn rate(copier: &Copier, bytes: u64, copies: usize, host: &mut Host<'_>) -> Result<f64> {
    Ok(bytes as f64 / time(copier, bytes, copies, host)? as f64)
}

/// As under the drop-in, but unguarded: a bulk copy of a program that has urgent copies too.
fn by_kernel(driver: &Arc<dyn Driver>, memory: &Arc<Memory>, link_gbps: u32) -> Result<Option<[f64; 2]>> {
    let Profile { kernel_h2d, kernel_d2h, .. } = Profile::DROP_IN;
    let profile = Profile { transport: Transport::Kernel, kernel_h2d, kernel_d2h, ..Profile::LIBRARY };
    let overtake = Overtake::attach(driver, Options { profile, link_gbps: Some(link_gbps), ..Options::default() })?;
    let _urgent = overtake.stream(overtake.priorities().highest())?;
    let bulk = |direction| Copier::through(memory, direction, &overtake, Priority::LOWEST);
    let rates = pair(|direction| rate(&bulk(direction)?, LARGE_BYTES, LARGE_COPIES, &mut Host::Pinned))?;
    Ok((overtake.statistics().kernel.copies > 0).then_some(rates))
}

/// With the threads of these options.
fn pageable(driver: &Arc<dyn Driver>, memory: &Arc<Memory>, options: Options) -> Result<[Vec<Pageable>; 2]> {
    let profile = Profile { staging_bytes_min: STAGED_BYTES[0], ..Profile::LIBRARY };
    let options = Options { profile, staging: true, ..options };
    let overtake = Overtake::attach(driver, options)?;
    let mut bytes = vec![1_u8; STAGED_BYTES[STAGED_BYTES.len() - 1] as usize];
    pair(|direction| {
        let (native, staged) =
            (Copier::native(memory, direction, 0)?, Copier::through(memory, direction, &overtake, Priority::LOWEST)?);
        let before = overtake.statistics().staged.copies;
        let mut firsts = 0;
        while overtake.statistics().staged.copies == before && firsts < FIRST_COPIES {
            staged.copy(&mut Host::Pageable(&mut bytes), STAGED_BYTES[0])?;
            firsts += 1;
        }
        if firsts == FIRST_COPIES {
            return Ok(Vec::new());
        }
        let of = |size| {
            let mut rate = |copier| rate(copier, size, STAGED_COPIES, &mut Host::Pageable(&mut bytes));
            Ok(Pageable { bytes: size, driver_gbps: rate(&native)?, staged_gbps: rate(&staged)? })
        };
        STAGED_BYTES.into_iter().map(of).collect()
    })
}

#[cfg(test)]
mod tests {
    use softgpu::{Parameters, SoftGpu};

    use super::*;

    fn calibrated(preset: &str) -> Calibration {
        let parameters = Parameters::named(preset).unwrap();
        let driver: Arc<dyn Driver> = Arc::new(SoftGpu::builder().parameters(parameters).build());
        let _open = console::device::OpenDevice::open(&driver, 0).unwrap();
        measure(&driver, &mut Progress::new(true, false, STEPS)).unwrap()
    }

    #[test]
    fn the_figures_of_a_machine_are_found() {
        let found = calibrated("l4");
        assert_eq!(found.link_gbps(), 25, "{found:?}");
        assert!(
            found.kernel_gbps.is_some_and(|rates| rates.iter().all(|gbps| (20.0..27.0).contains(gbps))),
            "{found:?}"
        );
        assert!(found.small_us.iter().all(|us| (4.0..25.0).contains(us)), "{found:?}");
    }

    #[test]
    fn pageable_copies_have_their_rates_by_size() {
        let driver: Arc<dyn Driver> = Arc::new(SoftGpu::builder().build());
        let _open = console::device::OpenDevice::open(&driver, 0).unwrap();
        let memory = Arc::new(Memory::new(&driver, LARGE_BYTES, SMALL_BYTES).unwrap());
        let found = pageable(&driver, &memory, Options { staging_threads: 4, ..Options::default() }).unwrap();
        for rates in &found {
            assert_eq!(rates.iter().map(|rate| rate.bytes).collect::<Vec<_>>(), STAGED_BYTES, "{found:?}");
        }
        let largest = found[0][STAGED_BYTES.len() - 1];
        assert!(largest.staged_gbps > largest.driver_gbps && largest.driver_gbps > 5.0, "{found:?}");
    }

    #[test]
    fn a_driver_that_refuses_the_kernel_has_no_rate_of_it() {
        assert_eq!(calibrated("l4@525").kernel_gbps, None);
    }

    #[test]
    fn staging_is_worth_it_where_all_larger_sizes_are_faster() {
        let rates = |times: [f64; 4]| {
            let of = |(index, staged_gbps)| Pageable { bytes: 1_u64 << index, driver_gbps: 1.0, staged_gbps };
            times.into_iter().enumerate().map(of).collect::<Vec<_>>()
        };
        let calibration = Calibration {
            engine_gbps: [9.0, 8.6],
            kernel_gbps: None,
            small_us: [1.0; 2],
            pageable: [rates([2.0, 1.0, 2.0, 3.0]), rates([3.0, 3.0, 3.0, 1.0])],
        };
        assert_eq!((calibration.staging_bytes_min(), calibration.link_gbps()), ([Some(4), None], 9));
    }
}
