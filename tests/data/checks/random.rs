//! Random programs: kernels, functions, reductions, replays of templates, readers that are cancelled and accesses of
//! the host with parts of arrays, in all modes and priorities.
//! The values are those of the same steps one after another, and not a byte moves that they do not ask for.

use overtake::Priority;
use overtake::data::{Array, ArrayOptions, Computation, Max, Sum, discard, read, read_write, reduce, write};
use overtake::heap::HeapOptions;
use overtake::task::{Handle, More};

use crate::bed::{self, Bed};
use crate::checks::oracle::{How, Moved, Oracle, Part, Place};
use crate::checks::replays::Recorded;
use crate::doors;
use crate::failure::{Failure, Outcome, ensure, same};
use crate::prng::Prng;
use crate::rig::Rig;

/// On the software GPU, in CI. A real one runs fewer.
const PROGRAMS: u64 = 3500;
pub const PROGRAMS_REAL: u64 = 1000;
const STEPS: u64 = 12;
/// On a device that is too small.
const PROGRAMS_FULL: u64 = 300;

/// The arrays of a program.
#[derive(Clone, Copy)]
pub struct Size {
    pub arrays: usize,
    pub elements: usize,
    /// The device has room for all of them.
    pub fits: bool,
    /// The program names the device of each step.
    pub names_devices: bool,
    /// Bytes go from device to device.
    pub has_links: bool,
}

pub const SMALL: Size = Size { arrays: 3, elements: 24, fits: true, names_devices: true, has_links: true };
/// Each has a page of its own.
const LARGE: Size = Size { arrays: 5, elements: 1024, fits: false, ..SMALL };
const LARGE_BYTES: u64 = 4 * LARGE.elements as u64;

pub struct Program<'b> {
    pub bed: &'b Bed,
    pub prng: Prng,
    pub oracle: Oracle,
    pub arrays: Vec<Array<f32>>,
    pub recorded: Recorded,
    /// The last tasks, which may have ended.
    last: Vec<Handle>,
    pub size: Size,
}

impl<'b> Program<'b> {
    fn new(bed: &'b Bed, size: Size, seed: u64) -> Result<Program<'b>, Failure> {
        let arrays = (0..size.arrays).map(|_| bed.arrays.array(&[size.elements])).collect::<Result<_, _>>()?;
        let oracle = Oracle::new(size.arrays, size.elements, size.has_links);
        let mut prng = Prng::new(seed);
        let recorded = Recorded::new(bed, &mut prng)?;
        Ok(Program { bed, prng, oracle, arrays, recorded, last: Vec::new(), size })
    }

    /// Some elements of any array.
    pub fn part(&mut self) -> Part {
        let length = 1 + self.prng.below(self.size.elements as u64) as usize;
        self.part_of(length)
    }

    pub fn part_of(&mut self, length: usize) -> Part {
        let start = self.prng.below((self.size.elements - length + 1) as u64) as usize;
        Part { array: self.prng.below(self.size.arrays as u64) as usize, elements: start..start + length }
    }

    pub fn priority(&mut self) -> Priority {
        Priority::new(self.prng.pick(&[1, 1, 2, 5, 8])).expect("a priority")
    }

    pub fn device(&mut self) -> u8 {
        self.prng.below(u64::from(self.bed.devices)) as u8
    }

    /// Submits a step, which must be refused exactly if it reads elements that were never written.
    fn submit(&mut self, place: Place, uses: &[(Part, How)], step: Computation<'_>) -> Result<bool, Failure> {
        let is_possible = self.oracle.is_possible(uses);
        let submitted = step.submit();
        self.oracle.combines(uses);
        ensure!(submitted.is_ok() == is_possible, "it is possible: {is_possible}, and {submitted:?}");
        if is_possible {
            self.oracle.uses(place, uses);
        }
        self.last.extend(submitted);
        Ok(is_possible)
    }

    /// A kernel adds two parts, in place or to another part.
    fn kernel(&mut self) -> Outcome {
        let left = self.part();
        let count = left.elements.len();
        let right = self.part_of(count);
        let how = self.prng.pick(&[How::Discards, How::Writes, How::ReadsAndWrites]);
        let target = if how == How::ReadsAndWrites { left.clone() } else { self.part_of(count) };
        let is_racing = |part: &Part| target.overlaps(part) && target.elements != part.elements;
        if is_racing(&left) || is_racing(&right) {
            return Ok(());
        }
        let (bed, priority, device) = (self.bed, self.priority(), self.device());
        let arrays = std::mem::take(&mut self.arrays);
        let of = |part: &Part| (&arrays[part.array], part.elements.clone());
        let ((one, at_one), (two, at_two), (sum, at_sum)) = (of(&left), of(&right), of(&target));
        let ways = match how {
            How::Discards => discard(sum),
            How::Writes => write(sum),
            _ => read_write(sum),
        };
        let uses = (read(one).part(at_one), read(two).part(at_two), ways.part(at_sum));
        let step = doors::add_uses(bed, "kernel", uses, count).priority(priority);
        let step = if self.size.names_devices { step.on(device) } else { step };
        let uses = [(left.clone(), How::Reads), (right.clone(), How::Reads), (target.clone(), how)];
        let is_done = self.submit(Place::Device(device), &uses, step);
        self.arrays = arrays;
        if is_done? {
            let (left, right) = (self.oracle.values(&left), self.oracle.values(&right));
            let mut sum = vec![0.0; count];
            workloads::reference::add(&left, &right, &mut sum);
            self.oracle.set(&target, &sum);
        }
        Ok(())
    }

    /// A function of the host: each element of a part becomes that of another one, and one more.
    fn function(&mut self) -> Outcome {
        let from = self.part();
        let to = self.part_of(from.elements.len());
        if from.overlaps(&to) {
            return Ok(());
        }
        let priority = self.priority();
        let (bed, arrays) = (self.bed, std::mem::take(&mut self.arrays));
        let uses = (
            read(&arrays[from.array]).part(from.elements.clone()),
            discard(&arrays[to.array]).part(to.elements.clone()),
        );
        let step = bed.arrays.host("function", uses, |(from, to)| {
            to.iter_mut().zip(from).for_each(|(to, from)| *to = from + 1.0);
            Ok(())
        });
        let uses = [(from.clone(), How::Reads), (to.clone(), How::Discards)];
        let is_done = self.submit(Place::Host, &uses, step.priority(priority));
        self.arrays = arrays;
        if is_done? {
            let values: Vec<f32> = self.oracle.values(&from).iter().map(|value| value + 1.0).collect();
            self.oracle.set(&to, &values);
        }
        Ok(())
    }

    /// A kernel adds a part to another one, or a function of the host has its greater elements there. Both may overlap.
    fn reduction(&mut self) -> Outcome {
        let from = self.part();
        let (count, to) = (from.elements.len(), self.part_of(from.elements.len()));
        let (priority, device, how) =
            (self.priority(), self.device(), self.prng.pick(&[How::Adds, How::Adds, How::Raises]));
        let (bed, arrays) = (self.bed, std::mem::take(&mut self.arrays));
        let reads = read(&arrays[from.array]).part(from.elements.clone());
        let (place, step) = if how == How::Adds {
            let uses = (reads, reduce(&arrays[to.array], Sum).part(to.elements.clone()));
            let step = doors::add_up(bed, "adds", uses, count);
            (Place::Device(device), if self.size.names_devices { step.on(device) } else { step })
        } else {
            let uses = (reads, reduce(&arrays[to.array], Max).part(to.elements.clone()));
            let step = bed.arrays.host("raises", uses, |(from, to)| {
                to.iter_mut().zip(from).for_each(|(to, from)| *to = from.max(*to));
                Ok(())
            });
            (Place::Host, step)
        };
        let is_done = self.submit(place, &[(from.clone(), How::Reads), (to.clone(), how)], step.priority(priority));
        self.arrays = arrays;
        if is_done? {
            let combine = if how == How::Adds { |one: f32, other| one + other } else { f32::max };
            let values = self.oracle.values(&from).into_iter().zip(self.oracle.values(&to));
            let values: Vec<f32> = values.map(|(from, to)| combine(from, to)).collect();
            self.oracle.set(&to, &values);
        }
        Ok(())
    }

    /// The host reads.
    fn look(&mut self) -> Outcome {
        let part = self.part();
        let uses = [(part.clone(), How::Reads)];
        let guard = read(&self.arrays[part.array]).part(part.elements.clone()).open();
        self.oracle.combines(&uses);
        ensure!(guard.is_ok() == self.oracle.is_possible(&uses), "{guard:?}");
        if let Ok(seen) = guard {
            self.oracle.uses(Place::Host, &uses);
            self.oracle.check("the host's view", &part, &seen)?;
        }
        Ok(())
    }

    /// The host writes, and has the guard while other steps are submitted.
    fn change(&mut self) -> Outcome {
        let (part, how) = (self.part(), self.prng.pick(&[How::Discards, How::Writes, How::ReadsAndWrites]));
        // A full device would wait for tasks that wait for the guard.
        let steps = if self.size.fits { self.prng.below(4) } else { 0 };
        let uses = [(part.clone(), how)];
        let array = std::mem::replace(&mut self.arrays[part.array], self.bed.arrays.array(&[self.size.elements])?);
        let ways = match how {
            How::Discards => discard(&array),
            How::Writes => write(&array),
            _ => read_write(&array),
        };
        let opened = ways.part(part.elements.clone()).open();
        self.oracle.combines(&uses);
        ensure!(opened.is_ok() == self.oracle.is_possible(&uses), "{opened:?}");
        let mut values = Vec::new();
        if let Ok(mut guard) = opened {
            self.oracle.uses(Place::Host, &uses);
            guard.iter_mut().for_each(|element| *element = self.prng.below(100) as f32);
            values = guard.to_vec();
            self.oracle.set(&part, &values);
            // The others must not wait for this thread: they are submitted, and not looked at.
            self.steps_beside(&array, &part, steps)?;
            ensure!(guard.iter().zip(&values).all(|(seen, own)| seen == own), "others have written in the guard");
        }
        drop(values);
        self.arrays[part.array] = array;
        Ok(())
    }

    /// Steps that use the array of a guard and others, while the guard is open.
    fn steps_beside(&mut self, array: &Array<f32>, part: &Part, steps: u64) -> Outcome {
        for _ in 0..steps {
            let (priority, device, count) = (self.priority(), self.device(), part.elements.len());
            let target = Part { array: (part.array + 1) % self.size.arrays, elements: self.part_of(count).elements };
            let sum = discard(&self.arrays[target.array]).part(target.elements.clone());
            let of = || read(array).part(part.elements.clone());
            let step = doors::add_uses(self.bed, "beside a guard", (of(), of(), sum), count);
            step.priority(priority).on(device).submit()?;
            self.oracle.uses(Place::Device(device), &[(part.clone(), How::Reads), (target.clone(), How::Discards)]);
            let doubled: Vec<f32> = self.oracle.values(part).iter().map(|value| value + value).collect();
            self.oracle.set(&target, &doubled);
        }
        Ok(())
    }

    /// Elements are brought to a place before they are asked for.
    fn bring(&mut self) -> Outcome {
        let (part, device) = (self.part(), self.device());
        let place = self.prng.pick(&[Place::Host, Place::Device(device)]);
        let (uses, priority) = ([(part.clone(), How::Reads)], self.priority());
        let bringing = read(&self.arrays[part.array]).part(part.elements.clone()).priority(priority);
        let brought = if place == Place::Host { bringing.to_host() } else { bringing.to(device) };
        self.oracle.combines(&uses);
        ensure!(brought.is_ok() == self.oracle.is_possible(&uses), "{brought:?}");
        if brought.is_ok() {
            self.oracle.uses(place, &uses);
        }
        Ok(())
    }

    /// An array goes, with work on it under way, and another one comes.
    fn renew(&mut self) -> Outcome {
        let array = self.prng.below(self.size.arrays as u64) as usize;
        self.arrays[array] = self.bed.arrays.array(&[self.size.elements])?;
        self.oracle.clear(array);
        Ok(())
    }

    /// A reader is cancelled. Steps that write what it reads come behind it, and run.
    fn cancels(&mut self) -> Outcome {
        let (part, priority, device) = (self.part(), self.priority(), self.device());
        let (bed, arrays) = (self.bed, std::mem::take(&mut self.arrays));
        let uses = (read(&arrays[part.array]).part(part.elements.clone()),);
        let step = bed.arrays.launch("cancelled", uses, |_, _| Ok(More::Done)).priority(priority).held();
        let step = if self.size.names_devices { step.on(device) } else { step };
        let is_there = self.submit(Place::Device(device), &[(part, How::Reads)], step);
        self.arrays = arrays;
        let Some(reader) = self.last.last().filter(|_| matches!(is_there, Ok(true))).cloned() else {
            return is_there.map(drop);
        };
        // A full device would wait for it.
        for _ in 0..if self.size.fits { self.prng.below(4) } else { 0 } {
            if self.prng.below(2) == 0 { self.kernel() } else { self.function() }?;
        }
        ensure!(reader.cancel()?, "it is held");
        Ok(())
    }

    /// A task is raised, with all before it. It may have ended.
    fn raise(&mut self) -> Outcome {
        let (count, priority) = (self.last.len() as u64, self.priority());
        if count > 0 {
            let task = self.last.swap_remove(self.prng.below(count) as usize);
            if let Err(error) = task.raise(priority) {
                ensure!(task.is_done(), "a task that has not ended is raised: {error}");
            }
        }
        Ok(())
    }

    fn step(&mut self) -> Outcome {
        match self.prng.below(25) {
            0..6 => self.kernel(),
            6..9 => self.function(),
            9 | 10 => self.look(),
            11..14 => self.change(),
            14 => self.bring(),
            16..20 => self.reduction(),
            20 | 21 => self.raise(),
            22 => self.replays(),
            23.. => self.cancels(),
            _ => self.renew(),
        }
    }

    /// Compares all that was written, and the bytes that have moved.
    fn check(&mut self, before: Moved) -> Outcome {
        for array in 0..self.size.arrays {
            for elements in self.oracle.written(array) {
                let part = Part { array, elements: elements.clone() };
                let seen = read(&self.arrays[array]).part(elements).open()?;
                self.oracle.uses(Place::Host, &[(part.clone(), How::Reads)]);
                self.oracle.check("the end", &part, &seen)?;
            }
        }
        if !self.size.fits || !self.size.names_devices {
            return Ok(());
        }
        let now = moved(self.bed);
        let to_devices = now.to_devices - before.to_devices;
        let moved = Moved { to_devices, to_host: now.to_host - before.to_host };
        same("the bytes that have moved", &moved, &self.oracle.moved)
    }
}

fn moved(bed: &Bed) -> Moved {
    let statistics = bed.arrays.statistics();
    let to_devices = statistics.upload_bytes + statistics.between_device_bytes;
    // How many results of reductions there are depends on the times at which tasks end.
    Moved { to_devices, to_host: statistics.download_bytes - statistics.combined_bytes }
}

fn run(bed: &Bed, size: Size, seed: u64) -> Outcome {
    let mut program = Program::new(bed, size, seed)?;
    let before = moved(bed);
    for _ in 0..STEPS {
        program.step()?;
    }
    program.check(before)
}

pub fn run_all(bed: &Bed, size: Size, programs: u64) -> Outcome {
    for seed in 0..programs {
        run(bed, size, seed).map_err(|error| Failure::from_text(format!("program {seed}: {error}")))?;
    }
    bed.arrays.wait()?;
    same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)?;
    ensure!(bed.arrays.failure().is_none(), "{:?}", bed.arrays.failure());
    Ok(())
}

/// The values and the bytes that move are those of the oracle.
pub fn values(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let programs = if rig.driver().host().is_virtual() { PROGRAMS } else { PROGRAMS_REAL };
    run_all(&bed, SMALL, programs)?;
    ensure!(bed.arrays.statistics().shared > programs, "few uses have shared a transfer");
    Ok(())
}

/// The values are those of the oracle on a device that has room for three arrays, of which some leave.
pub fn values_when_full(rig: &Rig) -> Outcome {
    values_when_full_on(rig, 1)
}

/// The same on two devices, from each of which some leave.
pub fn values_when_two_are_full(rig: &Rig) -> Outcome {
    if rig.driver().device_count()? < 2 { Ok(()) } else { values_when_full_on(rig, 2) }
}

fn values_when_full_on(rig: &Rig, devices: u8) -> Outcome {
    let device = HeapOptions { page_bytes: LARGE_BYTES, max_bytes: 3 * LARGE_BYTES, ..HeapOptions::default() };
    let options = ArrayOptions { device, ..ArrayOptions::default() };
    let bed = bed::open_on(rig, rig.shared_driver(), devices, options)?;
    run_all(&bed, LARGE, PROGRAMS_FULL)?;
    ensure!(
        bed.arrays.statistics().evictions > PROGRAMS_FULL / 2,
        "few arrays have left: {:?}",
        bed.arrays.statistics()
    );
    Ok(())
}
