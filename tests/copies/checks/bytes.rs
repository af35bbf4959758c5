//! Every byte goes to the same place as without overtake, and no copy overtakes another of its own stream.

use hal::{HostThread, Nanos};
use overtake::options::Transport;
use overtake::{Options, Overtake, Priorities};

use crate::bed;
use crate::failure::{Failure, Outcome, ensure};
use crate::lane::Lane;
use crate::rig::Rig;

const LANE_BYTES: u64 = 300_000;
const COPIES: usize = 48;

/// Random copies on lanes of three priorities, with kernels between. Every other lane waits for its neighbour now and
/// then.
pub fn under(rig: &Rig, options: Options) -> Outcome {
    let overtake = bed::open(rig, options)?;
    let lanes = run(rig, &overtake, &[1, 1, 2, 3], COPIES)?;
    bed::at_rest(rig, &overtake)?;
    lanes.iter().try_for_each(|lane| lane.verify(rig))?;
    ensure!(overtake.statistics().errors == 0, "{:?}", overtake.statistics());
    Ok(())
}

fn run(rig: &Rig, overtake: &Overtake, priorities: &[u8], copies: usize) -> Result<Vec<Lane>, Failure> {
    let spin = rig.kernels()?.spin;
    let mut lanes = priorities
        .iter()
        .zip(100..)
        .map(|(priority, seed)| Lane::new(rig, overtake, *priority, LANE_BYTES, seed))
        .collect::<Result<Vec<_>, _>>()?;
    for round in 0..copies {
        for index in 0..lanes.len() {
            lanes[index].copy_behind_kernels(rig.driver(), spin)?;
            if round % 7 == index {
                lanes[index].stream.wait_for(&lanes[(index + 1) % priorities.len()].stream)?;
            }
        }
    }
    lanes.iter().try_for_each(|lane| lane.stream.synchronize())?;
    Ok(lanes)
}

/// Eight priorities where the hardware has fewer queues.
pub fn eight_priorities(rig: &Rig) -> Outcome {
    for transport in [Transport::Engine, Transport::Kernel] {
        let priorities = Priorities::new(8).expect("8 is a valid count");
        let overtake = bed::open(rig, Options { priorities, ..bed::transport(transport) })?;
        let lanes = run(rig, &overtake, &[1, 2, 3, 4, 5, 6, 7, 8], COPIES / 2)?;
        bed::at_rest(rig, &overtake)?;
        lanes.iter().try_for_each(|lane| lane.verify(rig))?;
    }
    Ok(())
}

/// Eight threads feed eight streams each.
pub fn many_threads(rig: &Rig) -> Outcome {
    const THREADS: u64 = 8;
    const STREAMS: u64 = 8;
    let overtake = bed::open(rig, bed::small_options())?;
    let mut threads: Vec<HostThread<Result<Vec<Lane>, Failure>>> = Vec::new();
    for thread in 0..THREADS {
        let lane = |n| Lane::new(rig, &overtake, 1 + ((thread + n) % 3) as u8, 96 << 10, 1_000 + thread * STREAMS + n);
        let mut lanes = (0..STREAMS).map(lane).collect::<Result<Vec<_>, _>>()?;
        threads.push(rig.spawn(&format!("feeder {thread}"), move |driver| {
            for _ in 0..12 {
                lanes.iter_mut().try_for_each(Lane::copy)?;
                driver.host().sleep(Nanos::from_us(20));
            }
            lanes.iter().try_for_each(|lane| lane.stream.synchronize())?;
            Ok(lanes)
        }));
    }
    let host = rig.driver().host();
    let lanes = threads.into_iter().map(|thread| thread.join(host)).collect::<Result<Vec<_>, _>>()?;
    bed::at_rest(rig, &overtake)?;
    lanes.iter().flatten().try_for_each(|lane| lane.verify(rig))
}
