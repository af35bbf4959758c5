//! Random programs: kernels, functions, reductions, replays of templates, steps that are cancelled and accesses of the
//! host with parts of arrays, in all modes and priorities.
//! The values are those of the same steps one after another, and not a byte moves that they do not ask for. What needs
//! the results of a cancelled step fails with it, and nothing else does.

use overtake::Priority;
use overtake::data::{Array, ArrayOptions, Computation, Max, Sum, discard, read, read_write, reduce, write};
use overtake::heap::HeapOptions;
use overtake::task::{Error, Handle};

use crate::bed::{self, Bed};
use crate::checks::cancelled::is_cancelled;
use crate::checks::oracle::{Fate, How, Moved, Oracle, Part, Place};
use crate::checks::replays::Recorded;
use crate::failure::{Failure, Outcome, ensure, same};
use crate::prng::Prng;
use crate::raw;
use crate::rig::Rig;

const PROGRAMS: u64 = 1000;
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

/// What is done with a step.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub enum Next {
    #[default]
    Runs,
    /// It is held, and released later.
    IsHeld,
    /// It is held, and cancelled later.
    IsHeldInVain,
    /// It is cancelled at once, and may have started.
    IsCancelled,
}

pub struct Program<'b> {
    pub bed: &'b Bed,
    pub prng: Prng,
    pub oracle: Oracle,
    pub arrays: Vec<Array<f32>>,
    pub recorded: Recorded,
    /// The last tasks, which may have ended.
    pub last: Vec<Handle>,
    /// All tasks with what becomes of them.
    pub fates: Vec<(Handle, Fate)>,
    /// Programs that cancel writers, whose transfers are not counted: some are made and some not.
    pub cancels_writers: bool,
    /// How many it has cancelled.
    pub cancelled: u64,
    /// The way of the next step, and the step itself.
    pub next: Next,
    pub chosen: Option<(Handle, Fate)>,
    pub size: Size,
}

impl<'b> Program<'b> {
    fn new(bed: &'b Bed, size: Size, seed: u64) -> Result<Program<'b>, Failure> {
        let arrays = (0..size.arrays).map(|_| bed.arrays.array(&[size.elements])).collect::<Result<_, _>>()?;
        let oracle = Oracle::new(size.arrays, size.elements, size.has_links);
        let mut prng = Prng::new(seed);
        let recorded = Recorded::new(bed, &mut prng)?;
        let (last, fates, cancels_writers) = (Vec::new(), Vec::new(), prng.below(2) == 0);
        let (cancelled, next, chosen) = (0, Next::Runs, None);
        Ok(Program { bed, prng, oracle, arrays, recorded, last, fates, cancels_writers, cancelled, next, chosen, size })
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
    pub fn submit(&mut self, place: Place, uses: &[(Part, How)], step: Computation<'_>) -> Result<bool, Failure> {
        let is_possible = self.oracle.is_possible(uses);
        let next = std::mem::take(&mut self.next);
        let step = if matches!(next, Next::IsHeld | Next::IsHeldInVain) { step.held() } else { step };
        let submitted = step.submit();
        self.oracle.combines(uses);
        ensure!(submitted.is_ok() == is_possible, "it is possible: {is_possible}, and {submitted:?}");
        if is_possible {
            self.oracle.uses(place, uses);
        }
        if let Ok(task) = submitted {
            let own = self.oracle.fate(uses);
            let is_lost = next == Next::IsHeldInVain || (next == Next::IsCancelled && task.cancel()?);
            let fate = if is_lost { Fate::Lost } else { own };
            self.oracle.fares(uses, fate);
            if next != Next::Runs {
                let has_to_wait = if next == Next::IsCancelled { Fate::Either } else { own };
                self.chosen = Some((task.clone(), has_to_wait));
            }
            self.fates.push((task.clone(), fate));
            self.last.push(task);
        }
        Ok(is_possible)
    }

    /// An access of the host with this use has been opened, or refused. Returns whether it is open: where it is not,
    /// the elements are as they were.
    pub fn opens(&mut self, place: Place, uses: &[(Part, How)], opened: Result<(), &Error>) -> Result<bool, Failure> {
        let is_possible = self.oracle.is_possible(uses);
        self.oracle.combines(uses);
        let fate = self.oracle.fate(uses);
        let is_open = opened.is_ok();
        let is_right = is_open == (is_possible && fate != Fate::Lost) || (is_possible && fate == Fate::Either);
        let is_told = is_open || !is_possible || opened.is_err_and(is_cancelled);
        ensure!(is_right && is_told, "it is possible: {is_possible}, {fate:?}, and {opened:?}");
        if is_open {
            self.oracle.uses(place, uses);
            self.oracle.fares(uses, Fate::Good);
        }
        Ok(is_open)
    }

    /// A kernel adds two parts, in place or to another part.
    pub fn kernel(&mut self) -> Outcome {
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
        let step = raw::add_uses(bed, "kernel", uses, count).priority(priority);
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
    pub fn function(&mut self) -> Outcome {
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
    pub fn reduction(&mut self) -> Outcome {
        let from = self.part();
        let (count, to) = (from.elements.len(), self.part_of(from.elements.len()));
        let (priority, device, how) =
            (self.priority(), self.device(), self.prng.pick(&[How::Adds, How::Adds, How::Raises]));
        let (bed, arrays) = (self.bed, std::mem::take(&mut self.arrays));
        let reads = read(&arrays[from.array]).part(from.elements.clone());
        let (place, step) = if how == How::Adds {
            let uses = (reads, reduce(&arrays[to.array], Sum).part(to.elements.clone()));
            let step = raw::add_up(bed, "adds", uses, count);
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
        let arrays = std::mem::take(&mut self.arrays);
        let guard = read(&arrays[part.array]).part(part.elements.clone()).open();
        self.opens(Place::Host, &uses, guard.as_ref().map(drop))?;
        if let Ok(seen) = &guard {
            self.oracle.check("the host's view", &part, seen)?;
        }
        drop(guard);
        self.arrays = arrays;
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
        self.opens(Place::Host, &uses, opened.as_ref().map(drop))?;
        let mut values = Vec::new();
        if let Ok(mut guard) = opened {
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
            let step = raw::add_uses(self.bed, "beside a guard", (of(), of(), sum), count);
            let uses = [(part.clone(), How::Reads), (target.clone(), How::Discards)];
            let is_done = self.submit(Place::Device(device), &uses, step.priority(priority).on(device))?;
            ensure!(is_done, "its elements are written");
            let doubled: Vec<f32> = self.oracle.values(part).iter().map(|value| value + value).collect();
            self.oracle.set(&target, &doubled);
        }
        Ok(())
    }

    /// Elements are brought to a place before they are asked for.
    pub fn bring(&mut self) -> Outcome {
        let (part, device) = (self.part(), self.device());
        let place = self.prng.pick(&[Place::Host, Place::Device(device)]);
        let (uses, priority) = ([(part.clone(), How::Reads)], self.priority());
        let bringing = read(&self.arrays[part.array]).part(part.elements.clone()).priority(priority);
        let brought = if place == Place::Host { bringing.to_host() } else { bringing.to(device) };
        self.oracle.combines(&uses);
        ensure!(brought.is_ok() == self.oracle.is_possible(&uses), "{brought:?}");
        if let Ok(brought) = brought {
            self.oracle.uses(place, &uses);
            self.fates.push((brought, self.oracle.fate(&uses)));
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
        match self.prng.below(27) {
            0..6 => self.kernel(),
            6..9 => self.function(),
            9 | 10 => self.look(),
            11..14 => self.change(),
            14 => self.bring(),
            16..20 => self.reduction(),
            20 | 21 => self.raise(),
            22 => self.replays(),
            23 | 24 => self.cancels_reader(),
            25.. if self.cancels_writers => self.cancels_writer(),
            _ => self.renew(),
        }
    }

    /// Compares all that was written, and the bytes that have moved.
    fn check(&mut self, before: Moved) -> Outcome {
        for array in 0..self.size.arrays {
            for elements in self.oracle.written(array) {
                let part = Part { array, elements: elements.clone() };
                let arrays = std::mem::take(&mut self.arrays);
                let seen = read(&arrays[array]).part(elements).open();
                self.opens(Place::Host, &[(part.clone(), How::Reads)], seen.as_ref().map(drop))?;
                if let Ok(seen) = &seen {
                    self.oracle.check("the end", &part, seen)?;
                }
                drop(seen);
                self.arrays = arrays;
            }
        }
        self.check_fates()?;
        if !self.size.fits || !self.size.names_devices || self.cancels_writers {
            return Ok(());
        }
        let now = moved(self.bed);
        let to_devices = now.to_devices - before.to_devices;
        let moved = Moved { to_devices, to_host: now.to_host.wrapping_sub(before.to_host) };
        same("the bytes that have moved", &moved, &self.oracle.moved)
    }
}

fn moved(bed: &Bed) -> Moved {
    let statistics = bed.arrays.statistics();
    let to_devices = statistics.upload_bytes + statistics.between_device_bytes;
    // How many results of reductions there are depends on the times at which tasks end. Lost ones move nothing.
    Moved { to_devices, to_host: statistics.download_bytes.wrapping_sub(statistics.combined_bytes) }
}

/// Returns how many steps were cancelled in it.
fn run(bed: &Bed, size: Size, seed: u64) -> Result<u64, Failure> {
    let mut program = Program::new(bed, size, seed)?;
    let before = moved(bed);
    if program.cancels_writers {
        program.begins()?;
    }
    for _ in 0..STEPS {
        program.step()?;
    }
    program.check(before)?;
    Ok(program.cancelled)
}

pub fn run_all(bed: &Bed, size: Size, programs: u64) -> Outcome {
    let mut cancelled = 0;
    for seed in 0..programs {
        cancelled += run(bed, size, seed).map_err(|error| Failure::from_text(format!("program {seed}: {error}")))?;
    }
    ensure!(cancelled > programs / 4, "few steps that write were cancelled: {cancelled} in {programs} programs");
    bed.arrays.wait()?;
    same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)?;
    ensure!(bed.arrays.failure().is_none(), "{:?}", bed.arrays.failure());
    Ok(())
}

/// So many programs, or as many as `RANDOM_PROGRAMS` says.
pub fn programs(usual: u64) -> Result<u64, Failure> {
    let said = std::env::var("RANDOM_PROGRAMS").map_or(Ok(usual), |text| text.parse());
    said.map_err(|error| Failure::from_text(format!("RANDOM_PROGRAMS: {error}")))
}

/// The values and the bytes that move are those of the oracle.
pub fn values(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let programs = programs(PROGRAMS)?;
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
