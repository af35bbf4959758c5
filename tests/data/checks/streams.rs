//! Streams by policy (GR-20 to GR-24) are an order of computations, and pass no failure on.

use overtake::data::{Array, ArrayOptions, Parents, discard, read};
use overtake::task::{Handle, More};

use crate::bed::{self, Bed};
use crate::failure::{Failure, Outcome, ensure, same};
use crate::rig::Rig;

fn open(rig: &Rig, parents: Parents) -> Result<Bed, Failure> {
    bed::open_with(rig, rig.shared_driver(), ArrayOptions { parents: Some(parents), ..ArrayOptions::default() })
}

/// A computation that fails.
fn fails(bed: &Bed, from: &Array<u32>, to: &Array<u32>) -> Result<Handle, Failure> {
    let fails =
        bed.arrays.launch("fails", (read(from), discard(to)), |_, _| -> Result<More, _> { Err("no luck".into()) });
    Ok(fails.held().submit()?)
}

/// One that does nothing.
fn stays(bed: &Bed, from: &Array<u32>, to: &Array<u32>) -> Result<Handle, Failure> {
    Ok(bed.arrays.launch("stays", (read(from), discard(to)), |_, _| Ok(More::Done)).submit()?)
}

/// Computations on other arrays run, whether they are submitted before the failure or behind it.
pub fn pass_no_failure_on(rig: &Rig) -> Outcome {
    for parents in [Parents::Same, Parents::Disjoint, Parents::EarlyDisjoint, Parents::MultiDisjoint] {
        let bed = open(rig, parents)?;
        let source = bed.arrays.array_of(&[1_u32; 8])?;
        let arrays = (0..7).map(|_| bed.arrays.array::<u32>(&[8])).collect::<Result<Vec<_>, _>>()?;
        let parent = bed.arrays.launch("parent", (read(&source), discard(&arrays[0])), |_, _| Ok(More::Done));
        let parent = parent.held().submit()?;
        // Two children of one parent: by some policies in one stream, though neither uses what the other writes.
        let bad = fails(&bed, &arrays[0], &arrays[1])?;
        let beside = stays(&bed, &arrays[0], &arrays[2])?;
        let behind = stays(&bed, &arrays[1], &arrays[3])?;
        parent.release()?;
        bad.release()?;
        ensure!(bad.wait().is_err(), "{parents:?}: it fails");
        beside.wait()?;
        ensure!(behind.wait().is_err(), "{parents:?}: it reads what was not written");
        for to in &arrays[4..] {
            stays(&bed, &source, to)?.wait()?;
        }
        bed.arrays.wait()?;
        same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)?;
    }
    Ok(())
}

/// One that the end gives up, because it waits for an open access, leaves its stream to the others.
pub fn go_on_at_the_end(rig: &Rig) -> Outcome {
    let bed = open(rig, Parents::Same)?;
    let source = bed.arrays.array_of(&[1_u32; 8])?;
    let [first, waits, runs] = [(); 3].map(|()| bed.arrays.array::<u32>(&[8]));
    let (first, waits, runs) = (first?, waits?, runs?);
    let guard = waits.overwrite()?;
    let parent = bed.arrays.launch("parent", (read(&source), discard(&first)), |_, _| Ok(More::Done));
    let parent = parent.held().submit()?;
    // Two children of one parent, in its stream.
    let [given_up, behind] = [stays(&bed, &first, &waits)?, stays(&bed, &first, &runs)?];
    parent.release()?;
    bed.arrays.clone().finish()?;
    ensure!(given_up.wait().is_err(), "it waits for the access");
    behind.wait()?;
    drop(guard);
    bed.arrays.wait()?;
    same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)
}
