//! Transfers: those that uses need are made, once, and no others. Each check counts them.

use overtake::buffer::PinnedBuffer;
use overtake::data::{discard, read, read_write, write};
use overtake::task::More;

use crate::bed;
use crate::failure::{Outcome, ensure, same};
use crate::raw;
use crate::rig::Rig;

const COUNT: usize = 1000;
const BYTES: u64 = 4 * COUNT as u64;

/// The first numbers, as floats.
fn numbers() -> Vec<f32> {
    (0..COUNT).map(|number| number as f32).collect()
}

/// Two readers share an upload; the host's second access copies nothing; results that no access asks for stay.
pub fn made_once(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let source = bed.arrays.array_of(&numbers())?;
    let [twice, again, thrice] = [0; 3].map(|_| bed.arrays.array::<f32>(&[COUNT]));
    let (twice, again, thrice) = (twice?, again?, thrice?);
    raw::add(&bed, "twice", &source, &source, &twice).submit()?;
    raw::add(&bed, "again", &source, &source, &again).submit()?;
    raw::add(&bed, "thrice", &twice, &source, &thrice).submit()?;
    bed.transfers("three readers", (1, BYTES), (0, 0))?;
    for _ in 0..2 {
        let seen = thrice.read()?;
        ensure!(seen.iter().zip(numbers()).all(|(seen, number)| *seen == 3.0 * number), "{:?}", &seen[..8]);
    }
    bed.transfers("after the host's accesses", (1, BYTES), (1, BYTES))?;
    // The next computation finds it on the device still.
    raw::add(&bed, "six times", &thrice, &thrice, &again).submit()?;
    same("the last", &again.read()?[COUNT - 1], &(6.0 * (COUNT - 1) as f32))?;
    bed.transfers("at the end", (1, BYTES), (2, 2 * BYTES))
}

/// Only the parts move that a use needs and that are not there.
pub fn of_parts(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let (source, sum) = (bed.arrays.array_of(&numbers())?, bed.arrays.array_of(&numbers())?);
    let part = |range: std::ops::Range<usize>| (&source, range);
    raw::add_parts(&bed, "first", part(100..200), part(100..200), (&sum, 0..100)).submit()?;
    bed.transfers("a part of 100", (1, 400), (0, 0))?;
    raw::add_parts(&bed, "second", part(50..250), part(100..300), (&sum, 100..300)).submit()?;
    // 50..100 and 200..250 for the left, then 250..300 for the right.
    bed.transfers("the rest of 50 to 300", (3, 1000), (0, 0))?;
    bed.arrays.wait()?;
    let seen = sum.read()?;
    bed.transfers("the sums", (3, 1000), (1, 1200))?;
    for at in 0..COUNT {
        let expected = match at {
            0..100 => 2 * (at + 100),
            100..300 => (at - 100 + 50) + at,
            _ => at,
        };
        same(&format!("element {at}"), &seen[at], &(expected as f32))?;
    }
    drop(seen);
    source.change()?[150] = -1.0;
    raw::add_parts(&bed, "third", part(140..160), part(140..160), (&sum, 0..20)).submit()?;
    bed.transfers("the whole was the host's", (4, 1080), (1, 1200))?;
    read_write(&source).part(155..156).open()?[0] = -2.0;
    raw::add_parts(&bed, "fourth", part(140..160), part(140..160), (&sum, 0..20)).submit()?;
    bed.transfers("one element was the host's", (5, 1084), (1, 1200))?;
    let seen = read(&sum).part(10..16).open()?;
    same("the sums of the host's elements", &[seen[0], seen[5]], &[-2.0, -4.0])
}

/// Nothing is copied for memory that is overwritten, nor for results that no access asks for.
pub fn not_needed(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let (source, sum) = (bed.arrays.array_of(&numbers())?, bed.arrays.array_of(&numbers())?);
    raw::add(&bed, "discards", &source, &source, &sum).submit()?.wait()?;
    bed.transfers("the target is overwritten", (1, BYTES), (0, 0))?;
    sum.overwrite()?.fill(7.0);
    bed.transfers("the host overwrites it", (1, BYTES), (0, 0))?;
    drop(sum);
    bed.arrays.wait()?;
    bed.transfers("it is dropped", (1, BYTES), (0, 0))
}

/// A use that writes some elements has the others brought, as far as there are any.
pub fn written_in_part(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let (source, old, new) =
        (bed.arrays.array_of(&numbers())?, bed.arrays.array_of(&numbers())?, bed.arrays.array::<f32>(&[COUNT])?);
    for sum in [&old, &new] {
        raw::add_uses(&bed, "writes ten", (read(&source), read(&source), write(sum)), 10).submit()?;
    }
    bed.transfers("source and old contents", (2, 2 * BYTES), (0, 0))?;
    let seen = old.read()?;
    same("elements around the end", &[seen[9], seen[10], seen[999]], &[18.0, 10.0, 999.0])?;
    raw::add_uses(&bed, "again", (read(&source), read(&source), discard(&new)), COUNT).submit()?;
    bed.transfers("all that it needs is there", (2, 2 * BYTES), (1, BYTES))
}

/// Bytes come before they are asked for, where the program says so.
pub fn on_demand(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let (source, sum) = (bed.arrays.array_of(&numbers())?, bed.arrays.array::<f32>(&[COUNT])?);
    read(&source).to_device()?.wait()?;
    bed.transfers("an upload before its use", (1, BYTES), (0, 0))?;
    raw::add(&bed, "sum", &source, &source, &sum).submit()?;
    read(&sum).part(0..10).to_host()?.wait()?;
    bed.transfers("ten elements back", (1, BYTES), (1, 40))?;
    same("the last of them", &read(&sum).part(0..10).open()?[9], &18.0)?;
    bed.transfers("they were there", (1, BYTES), (1, 40))
}

/// Functions of the host use arrays as kernels do.
pub fn by_host_tasks(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let [source, sum, total] = [COUNT, COUNT, 1].map(|count| bed.arrays.array::<f32>(&[count]));
    let (source, sum, total) = (source?, sum?, total?);
    let fill = bed.arrays.host("fill", (discard(&source),), |(source,)| {
        source.copy_from_slice(&numbers());
        Ok(())
    });
    fill.submit()?;
    raw::add(&bed, "sum", &source, &source, &sum).submit()?;
    let add_up = bed.arrays.host("add up", (read(&sum), read(&source), write(&total)), |(sum, source, total)| {
        total[0] = sum.iter().sum::<f32>() - source.iter().sum::<f32>();
        Ok(())
    });
    add_up.submit()?;
    same("the total", &total.read()?[0], &numbers().iter().sum())?;
    bed.transfers("a launch between two functions", (1, BYTES), (1, BYTES))?;
    let library = bed.arrays.launch("clear", (discard(&sum).part(0..10),), |lane, at| {
        lane.driver().memset_d8_async(at[0], 0, 40, lane.stream())?;
        Ok(More::Done)
    });
    library.submit()?;
    let seen = sum.read()?;
    same("cleared elements, and the next", &[seen[0], seen[9], seen[10]], &[0.0, 0.0, 20.0])?;
    bed.transfers("the cleared part", (1, BYTES), (2, BYTES + 40))
}

/// Memory that the caller has lent has the results when it comes back, and only the bytes that it lacks are copied.
pub fn released(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let mut memory = PinnedBuffer::<f32>::new(&bed.overtake, COUNT)?;
    memory.copy_from_slice(&numbers());
    let array = bed.arrays.adopt(memory)?;
    same("its shape", &array.shape(), &&[COUNT][..])?;
    raw::add_uses(&bed, "in place", (read(&array), read(&array), write(&array)), 500).submit()?;
    bed.transfers("to the device", (1, BYTES), (0, 0))?;
    let Some(memory) = array.release()? else { return Err(crate::failure::Failure::new("no buffer")) };
    bed.transfers("back", (1, BYTES), (1, BYTES))?;
    same("its elements", &[memory[499], memory[500]], &[998.0, 500.0])?;
    let own = bed.arrays.array_of(&[1_u8; 3])?;
    ensure!(own.release()?.is_none(), "it was not made of a buffer");
    let unused = bed.arrays.adopt(memory)?;
    let memory = unused.release()?;
    bed.transfers("it was not used", (1, BYTES), (1, BYTES))?;
    same("elements", &memory.map(|memory| memory.len()), &Some(COUNT))
}
