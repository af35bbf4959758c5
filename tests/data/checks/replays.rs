//! Replays of templates in random programs: tasks without arrays, which use lent elements by their addresses.

use hal::DevicePtr;
use overtake::data::read_write;
use overtake::task::{Error, Handle, More, Recording, Template};

use crate::bed::Bed;
use crate::checks::oracle::{How, Place};
use crate::checks::random::Program;
use crate::failure::Outcome;
use crate::prng::Prng;
use crate::raw::{self, Lent};

/// A step of a template.
#[derive(Clone, Copy, Debug)]
pub enum Does {
    /// A kernel adds the source to the target.
    Adds,
    /// The source is copied to the target.
    Copies,
    /// The target is set to a number, an argument of the replay.
    Sets,
    /// A function of the host, behind the others.
    Passes,
}

/// A template, with its steps: each comes after the one before.
pub struct Recorded {
    template: Template<Lent>,
    steps: Vec<Does>,
}

impl Recorded {
    /// Records up to four steps.
    pub fn new(bed: &Bed, prng: &mut Prng) -> Result<Recorded, Error> {
        let kinds = [Does::Adds, Does::Copies, Does::Sets, Does::Passes];
        let steps: Vec<Does> = (0..=prng.below(4)).map(|_| prng.pick(&kinds)).collect();
        let (mut recording, mut before) = (Recording::<Lent>::new(), Vec::new());
        for does in &steps {
            let step = match does {
                Does::Adds => raw::record_add(&mut recording, bed, &before),
                Does::Copies => raw::record_copy(&mut recording, &before),
                Does::Sets => recording.kernel("sets", &before, |lane, lent| {
                    let (start, count) = (DevicePtr(lent.target), u64::from(lent.count));
                    lane.driver().memset_d32_async(start, lent.value.to_bits(), count, lane.stream())?;
                    Ok(More::Done)
                }),
                Does::Passes => recording.host("passes", &before, |_| Ok(())),
            };
            before = vec![step];
        }
        Ok(Recorded { template: recording.finish()?, steps })
    }

    /// The values of the target behind a replay.
    fn values(&self, mut target: Vec<f32>, source: &[f32], value: f32) -> Vec<f32> {
        for does in &self.steps {
            match does {
                Does::Adds => target.iter_mut().zip(source).for_each(|(to, from)| *to += from),
                Does::Copies => target.copy_from_slice(source),
                Does::Sets => target.fill(value),
                Does::Passes => {}
            }
        }
        target
    }
}

impl Program<'_> {
    /// Two parts are lent on one device, and up to two replays in a row work on them, with other arguments and
    /// priorities. Earlier steps on other parts may be under way.
    pub fn replays(&mut self) -> Outcome {
        let target = self.part();
        let source = self.part_of(target.elements.len());
        if !self.size.fits || target.overlaps(&source) {
            return Ok(());
        }
        let device = self.device();
        let uses = [(target.clone(), How::ReadsAndWrites), (source.clone(), How::ReadsAndWrites)];
        let mut lent = Vec::new();
        let arrays = std::mem::take(&mut self.arrays);
        for (part, how) in &uses {
            let one = read_write(&arrays[part.array]).part(part.elements.clone()).lend(device);
            self.opens(Place::Device(device), &[(part.clone(), *how)], one.as_ref().map(drop))?;
            lent.extend(one);
        }
        let mut ends: Vec<Handle> = Vec::new();
        if let [to, from] = &lent[..] {
            let mut places = [(to.address().0, target), (from.address().0, source)];
            for _ in 0..=self.prng.below(2) {
                let (priority, value) = (self.priority(), self.prng.below(100) as f32);
                let [(to, target), (from, source)] = &places;
                let arguments = Lent { target: *to, source: *from, count: target.elements.len() as u32, value };
                let replay = self.recorded.template.replay(&self.bed.tasks, arguments).on(device).priority(priority);
                let replay = ends.iter().fold(replay, |replay, end| replay.after(end)).submit()?;
                let (to, from) = (self.oracle.values(target), self.oracle.values(source));
                let values = self.recorded.values(to, &from, value);
                self.oracle.set(target, &values);
                ends = vec![replay];
                places.swap(0, 1);
            }
        }
        ends.iter().try_for_each(Handle::wait)?;
        drop(lent);
        self.arrays = arrays;
        Ok(())
    }
}
