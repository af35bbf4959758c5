//! Accesses of the program that are given up before it has their elements, in random programs: nothing is changed.

use std::time::Duration;

use overtake::data::{Array, Arrays, Location, Sum, Use, Writes, discard, read, read_write, reduce, write};
use overtake::task::{Error, Handle, More};

use crate::bed;
use crate::failure::{Failure, Outcome, ensure, same};
use crate::prng::Prng;
use crate::rig::Rig;

const COUNT: usize = 256;
const PROGRAMS: u64 = 60;
const STEPS: u64 = 12;
const SPAN: Duration = Duration::from_micros(200);

/// An array, and each of its elements as the program knows it.
struct Known<'a> {
    arrays: &'a Arrays,
    array: &'a Array<f32>,
    value: Option<f32>,
    /// Computations may fail.
    may_fail: bool,
}

impl Known<'_> {
    fn step(&mut self, prng: &mut Prng) -> Outcome {
        match (prng.below(8), self.value) {
            (0, _) => {
                let value = prng.below(100) as f32;
                self.array.overwrite()?.fill(value);
                self.value = Some(value);
            }
            (1, Some(value)) => {
                self.adds()?;
                self.value = Some(value + 1.0);
            }
            (2, Some(_)) => drop(self.stays_on_the_device()?),
            (3, _) => self.never_asks(prng)?,
            (5 | 6, _) if self.may_fail => self.has_a_reader_behind(prng)?,
            (4, Some(_)) => self.comes_too_late(prng)?,
            _ => self.is_as_known(prng)?,
        }
        Ok(())
    }

    fn adds(&self) -> Outcome {
        let adds = self.arrays.host("adds", (reduce(self.array, Sum),), |(sum,)| {
            sum.iter_mut().for_each(|each| *each += 1.0);
            Ok(())
        });
        adds.submit()?;
        Ok(())
    }

    fn stays_on_the_device(&self) -> Result<Handle, Failure> {
        Ok(self.arrays.launch("stays", (read_write(self.array),), |_, _| Ok(More::Done)).submit()?)
    }

    /// One that writes. Of elements that were never written none is read.
    fn writer(&self, prng: &mut Prng) -> Use<'_, Writes<f32>> {
        match prng.below(if self.value.is_some() { 3 } else { 2 }) {
            0 => discard(self.array),
            1 => write(self.array),
            _ => read_write(self.array),
        }
    }

    /// Its elements may come, and it does not ask for their address.
    fn never_asks(&self, prng: &mut Prng) -> Outcome {
        let at = if prng.below(2) == 0 { Location::Host } else { Location::Device(0) };
        let access = match self.value {
            Some(_) if prng.below(4) == 0 => read(self.array).open_at(at)?,
            _ => self.writer(prng).open_at(at)?,
        };
        if prng.below(2) == 0 {
            access.there().wait()?;
        }
        Ok(())
    }

    /// It fails if it needs what the access was going to write: all, or elements that have no contents yet.
    fn has_a_reader_behind(&mut self, prng: &mut Prng) -> Outcome {
        let at = if prng.below(2) == 0 { Location::Host } else { Location::Device(0) };
        let overwrites = prng.below(2) == 0;
        let access = if overwrites { discard(self.array) } else { write(self.array) }.open_at(at)?;
        let fails = overwrites || self.value.is_none();
        let reader = self.arrays.launch("reads", (read(self.array),), |_, _| Ok(More::Done)).submit()?;
        let next = (prng.below(2) == 0).then(|| prng.below(100) as f32);
        if let Some(value) = next {
            let fills = self.arrays.host("fills", (discard(self.array),), move |(all,)| {
                all.fill(value);
                Ok(())
            });
            fills.submit()?;
        }
        drop(access);
        same("whether the reader behind it fails", &reader.wait().is_err(), &fails)?;
        self.value = next.or(self.value);
        Ok(())
    }

    /// A reader or a writer holds it back.
    fn comes_too_late(&self, prng: &mut Prng) -> Outcome {
        let held = match prng.below(2) {
            0 => self.arrays.launch("reads", (read(self.array),), |_, _| Ok(More::Done)).held().submit()?,
            _ => self.arrays.launch("writes", (read_write(self.array),), |_, _| Ok(More::Done)).held().submit()?,
        };
        let access = self.writer(prng).within(SPAN);
        let told = if prng.below(2) == 0 { access.open().map(drop) } else { access.lend(0).map(drop) };
        ensure!(matches!(told, Err(Error::TimedOut { .. })), "it is {told:?}");
        Ok(held.release()?)
    }

    fn is_as_known(&self, prng: &mut Prng) -> Outcome {
        let Some(value) = self.value else {
            let told = read(self.array).open().map(drop);
            ensure!(matches!(told, Err(Error::Refused(_))), "no element was ever written, and it is {told:?}");
            return Ok(());
        };
        if prng.below(2) == 0 {
            let access = read(self.array).open_at(Location::Device(0))?;
            access.there().wait()?;
            ensure!(access.address()?.is_some(), "the elements are there");
        }
        same("the values", &read(self.array).open()?.to_vec(), &vec![value; COUNT])
    }

    fn end(&self, prng: &mut Prng) -> Outcome {
        self.is_as_known(prng)?;
        self.arrays.wait()?;
        let failure = self.arrays.failure();
        ensure!(self.may_fail || failure.is_none(), "no computation has failed: {failure:?}");
        Ok(())
    }
}

/// Neither the contents, nor what reductions have added, nor that there are none yet.
pub fn change_nothing(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    for seed in 0..PROGRAMS {
        let array = bed.arrays.array(&[COUNT])?;
        let (mut prng, arrays) = (Prng::new(seed), &bed.arrays);
        let mut known = Known { arrays, array: &array, value: None, may_fail: true };
        let ended = (0..STEPS).try_for_each(|_| known.step(&mut prng)).and_then(|()| known.end(&mut prng));
        ended.map_err(|error| Failure::new(format_args!("program {seed}: {error}")))?;
    }
    same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)
}

/// The same in a section, which loses nothing by it.
pub fn change_nothing_in_a_section(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    for seed in 0..PROGRAMS {
        let lent = bed.arrays.array_of(&[3.0; COUNT])?;
        let (section, (array,)) = bed.arrays.section("inside", (write(&lent),)).open()?;
        let mut prng = Prng::new(seed);
        let mut known = Known { arrays: &section, array: &array, value: Some(3.0), may_fail: false };
        let ended = (0..STEPS).try_for_each(|_| known.step(&mut prng)).and_then(|()| known.end(&mut prng));
        ended.map_err(|error| Failure::new(format_args!("program {seed}: {error}")))?;
        let value = known.value;
        let ended = section.end()?.wait();
        ensure!(ended.is_ok(), "program {seed}: the section has lost nothing: {ended:?}");
        drop(array);
        Known { arrays: &bed.arrays, array: &lent, value, may_fail: false }.is_as_known(&mut prng)?;
    }
    bed.arrays.wait()?;
    same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)
}
