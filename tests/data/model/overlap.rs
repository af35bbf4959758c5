//! Transfers and computations of chains that have nothing in common overlap.

use hal::Nanos;
use overtake::data::{Array, read};

use super::on;
use crate::bed;
use crate::failure::{Failure, Outcome, ensure};
use crate::raw;

const ELEMENTS: usize = 1 << 19;
/// More than there are lanes for.
const CHAINS: usize = 10;

/// Chains of a transfer to the device, a computation and a transfer back take about as long as the transfers of one way
/// and one more: none waits for a computation of another chain, also where computations share lanes.
pub fn more_chains_than_lanes() -> Outcome {
    on(|_, rig| {
        let (bed, host) = (bed::open(rig)?, rig.driver().host());
        let arrays = || (0..CHAINS).map(|_| Ok(bed.arrays.array(&[ELEMENTS])?)).collect::<Result<Vec<_>, Failure>>();
        let (sources, sums): (Vec<Array<f32>>, Vec<Array<f32>>) = (arrays()?, arrays()?);
        let mut spans = [Nanos::ZERO; 2];
        // The first time all memory is made.
        for way in [1, 0, 1] {
            sources.iter().try_for_each(|source| source.overwrite().map(drop))?;
            let start = host.now();
            for (source, sum) in sources.iter().zip(&sums) {
                if way == 0 {
                    read(source).to_device()?;
                } else {
                    raw::add(&bed, "sum", source, source, sum).submit()?;
                }
            }
            if way == 1 {
                sums.iter().try_for_each(|sum| read(sum).to_host().map(drop))?;
            }
            bed.arrays.wait()?;
            spans[way] = host.now().since(start);
        }
        let [up, chains] = spans;
        ensure!(chains < Nanos(up.0 + up.0 / 3), "chains took {chains}, and their transfers to the device {up}");
        Ok(())
    })
}
