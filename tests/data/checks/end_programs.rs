//! Random programs that end their arrays beside accesses: of halves and of all, at home and elsewhere, opened or asked
//! for by other threads. What comes behind no access that the program has is run, and its results come home.

use std::ops::Range;
use std::sync::Arc;

use hal::Nanos;
use overtake::Overtake;
use overtake::data::{AccessAt, Array, ArrayOptions, Arrays, Location, Sum, discard, read, read_write, reduce, write};
use overtake::dispatch::{DispatchOptions, Dispatcher};
use overtake::task::More;

use crate::bed;
use crate::checks::end_beside::{AT_ONCE, with_another};
use crate::failure::{Failure, Outcome, ensure};
use crate::prng::Prng;
use crate::raw;
use crate::rig::Rig;

const COUNT: usize = 1 << 10;
const PROGRAMS: u64 = 600;
const STEPS: u64 = 10;
const NOTHING: Range<usize> = 0..0;
/// As the program knows them, and as parts of the array.
const HALVES: [Range<usize>; 3] = [0..1, 1..2, 0..2];

fn part(halves: &Range<usize>) -> Range<usize> {
    halves.start * COUNT / 2..halves.end * COUNT / 2
}

/// An access, or a computation that writes.
struct Step<'a> {
    halves: Range<usize>,
    /// The accesses to the same bytes that were open when it came.
    behind: Vec<usize>,
    /// It has no results whatever it comes behind: it fails, only the program could start it, or it was to overwrite
    /// and never had the elements.
    is_lost: bool,
    access: Option<AccessAt<'a>>,
    /// The program has its elements.
    is_asked: bool,
    is_overwrite: bool,
    /// It writes where the array is not at home.
    keeps_back: bool,
}

struct Program<'a> {
    rig: &'a Rig,
    arrays: &'a Arrays,
    adopted: &'a Array<f32>,
    steps: Vec<Step<'a>>,
    /// Of each half, if all that was submitted has run.
    values: [f32; 2],
}

impl<'a> Program<'a> {
    fn step(&mut self, prng: &mut Prng) -> Outcome {
        let (arrays, adopted, halves) = (self.arrays, self.adopted, HALVES[prng.below(3) as usize].clone());
        let (value, uses) = (prng.below(100) as f32, part(&halves));
        // Writers are refused while an access has frozen the elements.
        match prng.below(12) {
            0 | 1 => {
                let fills = arrays.host("fills", (discard(adopted).part(uses),), move |(all,)| {
                    all.fill(value);
                    Ok(())
                });
                let is_held = prng.below(6) == 0;
                if if is_held { fills.held() } else { fills }.submit().is_ok() {
                    self.notes(halves, is_held, |_| value);
                }
            }
            2 => {
                let stays = arrays.launch("stays", (read_write(adopted).part(uses),), |_, _| Ok(More::Done));
                if stays.submit().is_ok() {
                    self.notes(halves, false, |value| value);
                }
            }
            3 => {
                let fails = arrays.host("fails", (discard(adopted).part(uses),), |_| Err("no luck".into()));
                if prng.below(4) == 0 && fails.submit().is_ok() {
                    self.notes(halves, true, |_| f32::NAN);
                }
            }
            4..7 => {
                // The results of one that spans both would be combined as a whole.
                for half in halves.map(|half| half..half + 1) {
                    let adds = arrays.host("adds", (reduce(adopted, Sum).part(part(&half)),), |(sum,)| {
                        sum.iter_mut().for_each(|each| *each += 1.0);
                        Ok(())
                    });
                    if adds.submit().is_ok() {
                        self.notes(half, false, |value| value + 1.0);
                    }
                }
            }
            7 | 8 => self.opens(halves, prng)?,
            _ => self.asks_or_closes(prng)?,
        }
        Ok(())
    }

    /// A computation has been submitted.
    fn notes(&mut self, halves: Range<usize>, is_lost: bool, changes: impl Fn(f32) -> f32) {
        self.values[halves.clone()].iter_mut().for_each(|value| *value = changes(*value));
        self.push(halves, is_lost, None, false);
    }

    fn push(&mut self, halves: Range<usize>, is_lost: bool, access: Option<AccessAt<'a>>, is_overwrite: bool) {
        let is_before =
            |step: &Step| step.access.is_some() && step.halves.start < halves.end && halves.start < step.halves.end;
        let behind = (0..self.steps.len()).filter(|at| is_before(&self.steps[*at])).collect();
        let (is_asked, keeps_back) = (false, is_overwrite);
        self.steps.push(Step { halves, behind, is_lost, access, is_asked, is_overwrite, keeps_back });
    }

    /// In this thread or in another one.
    fn elsewhere<T: Send>(&self, prng: &mut Prng, body: impl FnOnce() -> T + Send) -> Result<T, Failure> {
        match prng.below(3) {
            0 => with_another(self.rig, |_| Ok(body()), || ()).0,
            _ => Ok(body()),
        }
    }

    fn opens(&mut self, halves: Range<usize>, prng: &mut Prng) -> Outcome {
        let at = if prng.below(2) == 0 { Location::Host } else { Location::Device(0) };
        let (adopted, uses, way) = (self.adopted, part(&halves), prng.below(4));
        let access = self.elsewhere(prng, || match way {
            0 => read(adopted).part(uses).open_at(at),
            1 => write(adopted).part(uses).open_at(at),
            2 => read_write(adopted).part(uses).open_at(at),
            _ => discard(adopted).part(uses).open_at(at),
        })?;
        if let Ok(access) = access {
            self.push(halves, false, Some(access), way == 3);
            let writes_elsewhere = way != 0 && at != Location::Host;
            if let Some(step) = self.steps.last_mut() {
                step.keeps_back |= writes_elsewhere;
            }
        }
        Ok(())
    }

    fn asks_or_closes(&mut self, prng: &mut Prng) -> Outcome {
        let open: Vec<usize> = (0..self.steps.len()).filter(|at| self.steps[*at].access.is_some()).collect();
        if open.is_empty() {
            return Ok(());
        }
        let one = prng.pick(&open);
        if prng.below(2) == 0 {
            // What needs the elements of one that was to overwrite them fails.
            let step = &mut self.steps[one];
            step.is_lost = step.is_overwrite;
            (step.access, step.is_asked) = (None, false);
        } else if let Some(access) = self.steps[one].access.as_ref().filter(|_| !self.steps[one].is_overwrite) {
            let asked = self.elsewhere(prng, || access.address().is_ok_and(|address| address.is_some()))?;
            // The thread that has asked last has it: another one would not end it.
            let has = asked && access.address().is_ok_and(|address| address.is_some());
            self.steps[one].is_asked |= has;
        }
        Ok(())
    }

    /// The halves of which results may be lost or elsewhere.
    fn lost(&self) -> [bool; 2] {
        let (mut lost, mut steps) = ([false; 2], Vec::new());
        for step in &self.steps {
            let keeps = step.access.is_some() && (step.is_asked || step.is_overwrite);
            let needs = step.behind.iter().any(|at| steps[*at]) || lost[step.halves.clone()].contains(&true);
            steps.push(step.is_lost || keeps || needs);
            let range = if steps.last() == Some(&true) { step.halves.clone() } else { NOTHING };
            lost[range].fill(true);
        }
        lost
    }
}

/// An access that nothing waits for stays.
fn are_left_alone(steps: &[Step<'_>], lost: &[bool; 2]) -> Outcome {
    for (at, step) in steps.iter().enumerate() {
        let has_behind = steps.iter().any(|other| other.behind.contains(&at));
        let is_alone = !has_behind && !step.keeps_back && !lost[step.halves.clone()].contains(&true);
        if let Some(access) = step.access.as_ref().filter(|_| is_alone) {
            let told = access.address();
            ensure!(told.is_ok(), "step {at} is left, though nothing waits for it: {told:?}");
        }
    }
    Ok(())
}

/// Runs a program. Returns the halves that had to come home, and whether the end was without an error.
fn run(rig: &Rig, overtake: &Arc<Overtake>, seed: u64) -> Result<([bool; 2], bool), Failure> {
    let (mut prng, host) = (Prng::new(seed), rig.driver().host());
    let dispatcher = Dispatcher::open(overtake, DispatchOptions::default())?;
    let arrays = Arrays::open(&dispatcher, ArrayOptions::default())?;
    let memory = rig.pinned_of(&[0; 4 * COUNT])?;
    let adopted = raw::adopt_pinned(&arrays, &memory)?;
    let mut program = Program { rig, arrays: &arrays, adopted: &adopted, steps: Vec::new(), values: [0.0; 2] };
    for _ in 0..STEPS {
        program.step(&mut prng)?;
        if prng.below(3) == 0 {
            host.sleep(Nanos::from_us(50));
        }
    }
    let (begun, lost) = (host.now(), program.lost());
    let ended = arrays.clone().finish();
    ensure!(host.now().since(begun) < AT_ONCE, "the end has waited for this thread: {ended:?}");
    ensure!(ended.is_ok() || lost != [false; 2], "nothing keeps the results: {ended:?}");
    let Program { steps, values, .. } = program;
    for half in 0..2 {
        let bytes = memory.read((half * 2 * COUNT) as u64, 4);
        let seen = f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        let is_there = seen == values[half] || (ended.is_err() && lost[half]);
        ensure!(is_there, "half {half} has {seen}, and not {}, and the end was {ended:?}", values[half]);
    }
    are_left_alone(&steps, &lost)?;
    drop(steps);
    drop(dispatcher);
    Ok((lost.map(|lost| !lost), ended.is_ok()))
}

/// An end without an error has brought all results, and one with an error all those that nothing keeps back. It has not
/// waited for its own thread.
pub fn bring_all_that_can_come(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let (mut well, mut beside) = (0, 0);
    for seed in 0..PROGRAMS {
        let told = run(rig, &bed.overtake, seed);
        let (home, ended) = told.map_err(|error| Failure::new(format_args!("program {seed}: {error}")))?;
        well += u64::from(ended);
        beside += u64::from(!ended && home != [false; 2]);
    }
    ensure!((PROGRAMS / 4..PROGRAMS).contains(&well), "{well} of {PROGRAMS} have ended well");
    ensure!(beside > PROGRAMS / 40, "only {beside} of {PROGRAMS} have brought a half beside one that stays away");
    Ok(())
}
