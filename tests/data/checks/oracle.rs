//! The oracle of random programs: the same steps one after another, with each element by itself.

use std::ops::Range;

use crate::failure::{Outcome, same};

/// What becomes of a step, or of an element.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    /// It runs, and the element is there.
    #[default]
    Good,
    /// Some elements of a result of reductions are lost, and others with them if it is combined later.
    Either,
    /// It was cancelled, or needs what one that was cancelled should have written.
    Lost,
}

/// An element, and where it is up to date.
#[derive(Clone, Copy, Default)]
struct Element {
    value: f32,
    fate: Fate,
    is_written: bool,
    on_host: bool,
    /// A bit for each device.
    on_devices: u8,
}

impl Element {
    fn is_at(self, place: Place) -> bool {
        match place {
            Place::Host => self.on_host,
            Place::Device(device) => self.on_devices & 1 << device != 0,
        }
    }
}

/// The bytes that have moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// To a device, from the host or another device.
    pub to_devices: u64,
    pub to_host: u64,
}

/// The place of a use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Host,
    Device(u8),
}

/// How a step uses elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    Reads,
    Writes,
    ReadsAndWrites,
    Discards,
    /// By addition, or by the greater one.
    Adds,
    Raises,
}

impl How {
    fn is_reduction(self) -> bool {
        matches!(self, How::Adds | How::Raises)
    }
}

/// Elements of an array.
#[derive(Clone, Debug)]
pub struct Part {
    pub array: usize,
    pub elements: Range<usize>,
}

impl Part {
    pub fn overlaps(&self, other: &Part) -> bool {
        let (one, two) = (&self.elements, &other.elements);
        self.array == other.array && one.start < two.end && two.start < one.end
    }
}

/// All arrays.
pub struct Oracle {
    arrays: Vec<Vec<Element>>,
    pub moved: Moved,
    /// The results of reductions that have not been combined with their elements.
    results: Vec<(Part, How)>,
    /// Bytes go from device to device. If not, they go through the host.
    has_links: bool,
}

impl Oracle {
    pub fn new(arrays: usize, elements: usize, has_links: bool) -> Oracle {
        let arrays = vec![vec![Element::default(); elements]; arrays];
        Oracle { arrays, moved: Moved::default(), results: Vec::new(), has_links }
    }

    /// Whether a step with these uses is possible: it reads no element that was never written.
    pub fn is_possible(&self, uses: &[(Part, How)]) -> bool {
        let reads = |how| !matches!(how, How::Writes | How::Discards);
        let is_written = |part: &Part| self.arrays[part.array][part.elements.clone()].iter().all(|it| it.is_written);
        uses.iter().filter(|(_, how)| reads(*how)).all(|(part, _)| is_written(part))
    }

    /// What becomes of a step with these uses, if it is not cancelled.
    pub fn fate(&self, uses: &[(Part, How)]) -> Fate {
        let of = |part: &Part| self.arrays[part.array][part.elements.clone()].iter().map(|it| it.fate).max();
        let needed = uses.iter().filter(|(_, how)| *how != How::Discards);
        // A reduction begins without the elements that it is combined with.
        let fates = needed.map(|(part, how)| match of(part).unwrap_or_default() {
            Fate::Lost if how.is_reduction() => Fate::Either,
            fate => fate,
        });
        fates.max().unwrap_or_default()
    }

    /// A step with these uses, which has this fate, has been submitted.
    pub fn fares(&mut self, uses: &[(Part, How)], fate: Fate) {
        for (part, how) in uses.iter().filter(|(_, how)| *how != How::Reads) {
            for it in &mut self.arrays[part.array][part.elements.clone()] {
                it.fate = if how.is_reduction() { it.fate.max(fate) } else { fate };
            }
        }
    }

    /// Combines the results of reductions on the host that come before a step, also before one that is not possible.
    pub fn combines(&mut self, uses: &[(Part, How)]) {
        let has_order =
            |part: &Part, how| uses.iter().any(|(other, other_how)| part.overlaps(other) && how != *other_how);
        let results = std::mem::take(&mut self.results);
        let (now, later): (Vec<_>, Vec<_>) = results.into_iter().partition(|(part, how)| has_order(part, *how));
        self.results = later;
        for (part, _) in now {
            let elements = &mut self.arrays[part.array][part.elements.clone()];
            if elements.iter().any(|it| it.fate != Fate::Good) {
                // It is combined as a whole, and those that are there may be lost with the others.
                elements.iter_mut().for_each(|it| it.fate = it.fate.max(Fate::Either));
            }
            self.takes(Place::Host, &[(part, How::ReadsAndWrites)]);
        }
    }

    /// Has the elements of a step where it runs, those of its reductions later, on the host.
    pub fn uses(&mut self, place: Place, uses: &[(Part, How)]) {
        self.combines(uses);
        let (results, others): (Vec<_>, Vec<_>) = uses.iter().cloned().partition(|(_, how)| how.is_reduction());
        self.results.extend(results);
        self.takes(place, &others);
    }

    /// Has elements there: first all are brought, then those that it writes are there alone.
    fn takes(&mut self, place: Place, uses: &[(Part, How)]) {
        for (part, _) in uses.iter().filter(|(_, how)| *how != How::Discards) {
            for it in &mut self.arrays[part.array][part.elements.clone()] {
                let is_far = place != Place::Host && !it.on_host && !self.has_links;
                if !it.is_written || it.is_at(place) {
                    continue;
                }
                if is_far || place == Place::Host {
                    (it.on_host, self.moved.to_host) = (true, self.moved.to_host + 4);
                }
                if let Place::Device(device) = place {
                    (it.on_devices, self.moved.to_devices) = (it.on_devices | 1 << device, self.moved.to_devices + 4);
                }
            }
        }
        for (part, _) in uses.iter().filter(|(_, how)| *how != How::Reads) {
            for it in &mut self.arrays[part.array][part.elements.clone()] {
                (it.is_written, it.on_host, it.on_devices) = (true, place == Place::Host, 0);
                if let Place::Device(device) = place {
                    it.on_devices = 1 << device;
                }
            }
        }
    }

    pub fn values(&self, part: &Part) -> Vec<f32> {
        self.arrays[part.array][part.elements.clone()].iter().map(|it| it.value).collect()
    }

    pub fn set(&mut self, part: &Part, values: &[f32]) {
        let elements = &mut self.arrays[part.array][part.elements.clone()];
        elements.iter_mut().zip(values).for_each(|(it, value)| it.value = *value);
    }

    /// The array is a new one.
    pub fn clear(&mut self, array: usize) {
        self.arrays[array].fill(Element::default());
        self.results.retain(|(part, _)| part.array != array);
    }

    /// The parts of an array that are written, in their order, each of one fate.
    pub fn written(&self, array: usize) -> Vec<Range<usize>> {
        let (elements, mut parts) = (&self.arrays[array], Vec::<Range<usize>>::new());
        for at in (0..elements.len()).filter(|at| elements[*at].is_written) {
            match parts.last_mut() {
                Some(last) if last.end == at && elements[last.start].fate == elements[at].fate => last.end = at + 1,
                _ => parts.push(at..at + 1),
            }
        }
        parts
    }

    /// Compares elements bit by bit.
    pub fn check(&self, what: &str, part: &Part, seen: &[f32]) -> Outcome {
        let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<u32>>();
        same(&format!("{what} of {part:?}"), &bits(seen), &bits(&self.values(part)))
    }
}
