//! The watchdog opens words that stay up too long, and gives up after doing so too often.

use hal::Nanos;
use overtake::copy::{Plan, Reason};
use overtake::options::Transport;

use crate::bed;
use crate::failure::{Failure, Outcome, ensure, same};
use crate::lane::{Lane, level};
use crate::model::on;
use crate::model::stall::Stall;
use crate::rig::Rig;
use crate::traffic::done_within;

/// Whether bulk completes while an urgent copy does not.
fn bulk_passes(rig: &Rig, stall: &Stall<'_>) -> Result<bool, Failure> {
    let urgent = stall.stalled(20)?;
    let bulk = stall.bulk()?;
    let passes = done_within(rig, &bulk, Nanos::from_ms(5))?;
    urgent.wait()?;
    bulk.wait()?;
    bed::at_rest(rig, &stall.overtake)?;
    Ok(passes)
}

/// Bulk does not wait for an urgent copy that makes no progress; without a watchdog it would.
pub fn opens_words_that_stay_up() -> Outcome {
    for watchdog in [true, false] {
        on(
            |builder| builder,
            |gpu, rig| {
                let mut options = bed::transport(Transport::Kernel);
                if !watchdog {
                    options.rescue_after = Nanos::MAX;
                }
                let stall = Stall::new(gpu, rig, options)?;
                same("whether bulk passes", &bulk_passes(rig, &stall)?, &watchdog)?;
                same("rescues", &stall.overtake.statistics().rescues, &u64::from(watchdog))
            },
        )?;
    }
    Ok(())
}

/// After too many rescues all copies go natively, and every byte still arrives.
pub fn stands_down() -> Outcome {
    on(
        |builder| builder,
        |gpu, rig| {
            let mut options = bed::transport(Transport::Kernel);
            options.profile.rescues_max = 3;
            let stall = Stall::new(gpu, rig, options)?;
            // Its next copies need no fence, until words are not used any more.
            let rider = stall.overtake.adopt(rig.stream()?, level(3))?;
            stall.urgent_of(&rider)?.wait()?;
            bed::at_rest(rig, &stall.overtake)?;
            for round in 1..=3 {
                ensure!(!stall.overtake.statistics().stood_down, "stood down before round {round}");
                ensure!(bulk_passes(rig, &stall)?, "round {round} was not rescued");
            }
            let statistics = stall.overtake.statistics();
            ensure!(statistics.stood_down && statistics.rescues == 3, "{statistics:?}");
            let (bulk, urgent) = (stall.bulk()?, stall.urgent()?);
            same("bulk", &bulk.plan(), &Plan::Native(Reason::StoodDown))?;
            same("urgent", &urgent.plan(), &Plan::Native(Reason::StoodDown))?;
            same("the copy without a fence", &stall.urgent_of(&rider)?.plan(), &Plan::Native(Reason::StoodDown))?;
            same("copies that hold others off", &bed::raised(&stall.overtake), &0)?;
            let mut lane = Lane::new(rig, &stall.overtake, 2, 100_000, 5)?;
            (0..20).try_for_each(|_| lane.copy())?;
            lane.stream.synchronize()?;
            lane.verify(rig)
        },
    )
}

/// A layer that stood down tries again after a pause, which is longer each time.
pub fn tries_again() -> Outcome {
    on(
        |builder| builder,
        |gpu, rig| {
            let mut options = bed::transport(Transport::Kernel);
            options.profile.rescues_max = 1;
            let stall = Stall::new(gpu, rig, options)?;
            for (round, seconds) in [(1, 10), (2, 20), (3, 40)] {
                ensure!(bulk_passes(rig, &stall)?, "round {round} was not rescued");
                ensure!(stall.overtake.statistics().stood_down, "round {round} went wrong too often");
                rig.driver().host().sleep(Nanos::from_ms(seconds * 1_000 - 500));
                ensure!(stall.overtake.statistics().stood_down, "a pause of {seconds} s ended too early");
                same("bulk", &stall.bulk()?.plan(), &Plan::Native(Reason::StoodDown))?;
                rig.driver().host().sleep(Nanos::from_ms(600));
                let statistics = stall.overtake.statistics();
                same("now", &(statistics.stood_down, statistics.stand_downs), &(false, round))?;
                same("times it has tried again", &statistics.resumptions, &round)?;
                let bulk = stall.bulk()?;
                ensure!(matches!(bulk.plan(), Plan::Kernel { .. }), "bulk yields again: {:?}", bulk.plan());
                bulk.wait()?;
                bed::at_rest(rig, &stall.overtake)?;
            }
            Ok(())
        },
    )
}

/// A copy that becomes schedulable after that raises nothing: no thread would open the word again.
pub fn raises_nothing_afterwards() -> Outcome {
    on(
        |builder| builder,
        |gpu, rig| {
            let mut options = bed::transport(Transport::Kernel);
            options.profile.rescues_max = 1;
            let stall = Stall::new(gpu, rig, options)?;
            let waiting = stall.overtake.adopt(rig.stream()?, level(3))?;
            stall.make_careful(&waiting)?;
            let gate = rig.gate(waiting.raw())?;
            let behind = stall.urgent_of(&waiting)?;
            same("the plan", &behind.plan(), &Plan::Urgent)?;
            let (urgent, bulk) = (stall.stalled(20)?, stall.bulk()?);
            let overtake = &stall.overtake;
            bed::eventually(rig, "it stands down", || overtake.statistics().stood_down)?;
            gate.open();
            // The engine starts neither of the urgent copies meanwhile.
            for _ in 0..100 {
                same("copies that hold others off", &bed::raised(&stall.overtake), &0)?;
                rig.driver().host().sleep(Nanos::from_us(20));
            }
            [behind, urgent, bulk].iter().try_for_each(|copy| copy.wait())?;
            bed::at_rest(rig, &stall.overtake)
        },
    )
}
