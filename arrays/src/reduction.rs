//! Reductions: partial results in separate memory, which are combined with the array before its next other use.
#![allow(unsafe_code)] // the function that combines gets slices of memory by its address

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use graph::{Location, Mode, Priority};
use hal::DevicePtr;
use overtake_tasks::task::{Error, Handle, Lane, More, WorkResult};

use crate::arguments::Rights;
use crate::claim::{Claim, overlap};
use crate::operator::Reducer;
use crate::record::{Memory, Partial, Record};
use crate::right::{Place, Reads, Writes};
use crate::submit::Submission;

/// The most partial results of the same bytes in one place: so many reductions run there at once.
const PARTIALS_MAX: usize = 8;

/// The claims of a task, with a partial result in the place of each reduction.
pub(super) struct Own<'s> {
    claims: Cow<'s, [Claim]>,
    after: Cow<'s, [Handle]>,
    /// The records that its partial results are for.
    reduced: Vec<(Arc<Record>, Arc<Record>)>,
}

impl Own<'_> {
    /// The submission of these claims.
    pub fn submission<'o>(&'o self, asked: &Submission<'o>) -> Submission<'o> {
        Submission { claims: &self.claims, after: &self.after, ..*asked }
    }

    /// Whether no partial result has been combined meanwhile. Asked with the order of submissions held: then it stays
    /// so until that is let go of.
    pub fn is_current(&self) -> bool {
        self.reduced.iter().all(|(record, partial)| record.has_partial(partial))
    }
}

impl<'s> Submission<'s> {
    /// The claims that the task has: first the results of reductions are combined that it has an order with.
    pub fn own(&self) -> Result<Own<'s>, Error> {
        self.settle()?;
        let (claims, after) = (Cow::Borrowed(self.claims), Cow::Borrowed(self.after));
        let mut own = Own { claims, after, reduced: Vec::new() };
        if self.claims.iter().any(|claim| claim.reducer.is_some()) {
            let _held = self.store.tasks.within().enter()?;
            own.after.to_mut().extend(self.lost()?);
        }
        for (at, claim) in self.claims.iter().enumerate() {
            let Some(reducer) = claim.reducer else { continue };
            let partial = match claim.record.free_partial(&claim.bytes, self.place, &reducer) {
                Some(partial) => partial,
                None => self.start(claim, reducer)?,
            };
            own.reduced.push((Arc::clone(&claim.record), Arc::clone(&partial)));
            let until = claim.until;
            own.claims.to_mut()[at] = Claim { until, ..Claim::whole(partial, Mode::ReadWrite) };
        }
        Ok(own)
    }

    /// Combines the results of all reductions that these claims have an order with.
    pub fn settle(&self) -> Result<(), Error> {
        self.store.may_enter()?;
        for claim in self.claims {
            while let Some(partial) = claim.record.partial_before(claim) {
                claim.record.combine(&partial, self.name, self.priority)?;
            }
        }
        Ok(())
    }

    /// Starts a partial result from the identity.
    fn start(&self, claim: &Claim, reducer: Reducer) -> Result<Arc<Record>, Error> {
        let record = Record::new(self.store, claim.bytes.end - claim.bytes.start, None)?;
        let whole = Claim { until: claim.until, ..Claim::whole(Arc::clone(&record), Mode::Discard) };
        let (claims, name) = ([whole], format!("{}: identity", self.name));
        let start = Submission { claims: &claims, name: &name, after: &[], ..*self };
        let (tasks, bytes, identity) = (&self.store.tasks, record.bytes, (reducer.identity)());
        let begun = start.begin()?;
        let describe = |Memory { addresses, kept }| {
            let start = addresses[0];
            let Location::Device(device) = self.place else {
                let elements = bytes as usize;
                return tasks.host(&name, move || {
                    let _kept = &kept;
                    // SAFETY: memory of the record, which this task keeps and uses alone.
                    let (all,) = unsafe { <(Writes<u8>,)>::views(&[Place { start, elements }]) };
                    all.chunks_exact_mut(identity.len()).for_each(|element| element.copy_from_slice(&identity));
                    Ok(())
                });
            };
            let launch = move |lane: &mut Lane<'_>| {
                let _kept = &kept;
                fill(lane, DevicePtr(start), bytes, &identity)
            };
            tasks.kernel(&name, launch).on(device)
        };
        start.submit(begun, describe, || ())?;
        let partial = Partial { record: Arc::clone(&record), bytes: claim.bytes.clone(), place: self.place, reducer };
        claim.record.change_partials(|partials| partials.push(partial));
        Ok(record)
    }
}

/// Sets each element of some memory: all bytes to the first one's, then those apart that are others.
fn fill(lane: &mut Lane<'_>, start: DevicePtr, bytes: u64, element: &[u8]) -> WorkResult<More> {
    let (stream, pitch) = (lane.stream(), element.len() as u64);
    let driver = lane.driver();
    driver.memset_d8_async(start, element[0], bytes, stream)?;
    for (at, byte) in (0..).zip(element).filter(|(_, byte)| **byte != element[0]) {
        driver.memset_2d_d8_async(DevicePtr(start.0 + at), pitch, *byte, 1, bytes / pitch, stream)?;
    }
    Ok(More::Done)
}

impl Record {
    fn has_partial(&self, partial: &Arc<Record>) -> bool {
        hal::locks::lock(&self.state).partials.iter().any(|other| Arc::ptr_eq(&other.record, partial))
    }

    /// The first result that has to be combined before a use. Reductions of one operator are no such use.
    pub(super) fn partial_before(&self, claim: &Claim) -> Option<Partial> {
        if !self.has_partials.load(Ordering::Relaxed) {
            return None;
        }
        let is_same = |partial: &Partial| claim.reducer.is_some_and(|reducer| reducer.is(&partial.reducer));
        let state = hal::locks::lock(&self.state);
        let mut before = state.partials.iter().filter(|partial| overlap(&partial.bytes, &claim.bytes));
        before.find(|partial| !is_same(partial)).cloned()
    }

    /// A partial result of these bytes that no task uses; of those that tasks use the one that was used first, if there
    /// are many.
    fn free_partial(&self, bytes: &Range<u64>, place: Location, reducer: &Reducer) -> Option<Arc<Record>> {
        let state = hal::locks::lock(&self.state);
        let fits = |it: &&Partial| it.bytes == *bytes && it.place == place && it.reducer.is(reducer);
        let fitting: Vec<&Arc<Record>> = state.partials.iter().filter(fits).map(|it| &it.record).collect();
        // A task keeps all that it uses.
        let free = fitting.iter().copied().find(|record| Arc::strong_count(record) == 1);
        let oldest = || fitting.iter().copied().min_by_key(|record| hal::locks::lock(&record.state).used);
        free.or_else(|| oldest().filter(|_| fitting.len() >= PARTIALS_MAX)).cloned()
    }

    /// Combines all results with the bytes.
    pub fn settle(self: &Arc<Record>, name: &str, priority: Priority) -> Result<(), Error> {
        while let Some(partial) = self.partial_before(&Claim::whole(Arc::clone(self), Mode::ReadWrite)) {
            self.combine(&partial, name, priority)?;
        }
        Ok(())
    }

    /// Combines a result with the bytes, by a task of the host, which it returns, if no other thread has done so.
    pub(super) fn combine(
        self: &Arc<Record>,
        partial: &Partial,
        name: &str,
        priority: Priority,
    ) -> Result<Option<Handle>, Error> {
        let (store, name, reducer) = (&self.store, format!("{name}: combine"), partial.reducer);
        let target = Claim::of(Arc::clone(self), partial.bytes.clone(), Mode::ReadWrite);
        let claims = [target, Claim::whole(Arc::clone(&partial.record), Mode::Read)];
        let submission = Submission::of(store, &name, priority, Location::Host, &claims);
        let begun = submission.begin()?;
        if !self.has_partial(&partial.record) {
            return Ok(None);
        }
        let elements = partial.record.bytes as usize;
        let describe = |Memory { addresses, kept }| {
            let places = [addresses[0], addresses[1]].map(|start| Place { start, elements });
            store.tasks.host(&name, move || {
                let _kept = &kept;
                // SAFETY: memory of two records, which this task keeps. The graph keeps other users of the bytes away.
                let (into, others) = unsafe { <(Writes<u8>, Reads<u8>)>::views(&places) };
                (reducer.combine)(into, others);
                Ok(())
            })
        };
        let is_other = |other: &Partial| !Arc::ptr_eq(&other.record, &partial.record);
        let forget = || self.change_partials(|partials| partials.retain(is_other));
        let combined = submission.submit(begun, describe, forget)?;
        let is_of_device = matches!(partial.place, Location::Device(_));
        let mut counts = hal::locks::lock(&store.counts);
        counts.combined += 1;
        counts.combined_bytes += if is_of_device { partial.record.bytes } else { 0 };
        Ok(Some(combined))
    }
}

#[cfg(test)]
mod tests {
    use copies::{Options, Overtake};
    use overtake_tasks::dispatch::{DispatchOptions, Dispatcher};

    use super::*;
    use crate::{ArrayOptions, Arrays, Sum, reduce};

    fn open() -> (Dispatcher, Arrays) {
        let driver: Arc<dyn hal::Driver> = Arc::new(softgpu::SoftGpu::builder().build());
        let overtake = Arc::new(Overtake::open(&driver, hal::Device(0), Options::default()).unwrap());
        let dispatcher = Dispatcher::open(&overtake, DispatchOptions::default()).unwrap();
        let arrays = Arrays::open(&dispatcher, ArrayOptions::default()).unwrap();
        (dispatcher, arrays)
    }

    #[test]
    fn a_result_that_has_been_combined_is_chosen_no_more() {
        let (_dispatcher, arrays) = open();
        let array = arrays.array_of(&[1_u32, 2]).unwrap();
        let (record, claims) = (&array.record, [reduce(&array, Sum).claim()]);
        let (store, place, priority) = (&record.store, Location::Device(0), Priority::LOWEST);
        let asked = Submission::of(store, "adds", priority, place, &claims);
        let (one, other) = (asked.own().unwrap(), asked.own().unwrap());
        assert!(one.is_current() && other.is_current());
        assert!(!Arc::ptr_eq(&one.reduced[0].1, &other.reduced[0].1), "both are used");
        record.settle("reads", priority).unwrap();
        assert!(!one.is_current() && !other.is_current());
        assert!(asked.own().unwrap().is_current());
        assert_eq!(array.read().unwrap().to_vec(), [1, 2]);
    }

    #[test]
    fn results_that_are_all_used_are_shared() {
        let (_dispatcher, arrays) = open();
        let array = arrays.array_of(&[1_u32]).unwrap();
        let add = || {
            arrays.host("adds", (reduce(&array, Sum),), |(sum,)| {
                sum[0] += 1;
                Ok(())
            })
        };
        let held: Vec<Handle> = (0..20).map(|_| add().held().submit().unwrap()).collect();
        assert_eq!(hal::locks::lock(&array.record.state).partials.len(), PARTIALS_MAX);
        held.iter().for_each(|task| task.release().unwrap());
        assert_eq!(array.read().unwrap()[0], 21);
        assert_eq!(arrays.statistics().combined, PARTIALS_MAX as u64);
    }

    /// Two threads may find the same result at once, each before the other combines it.
    #[test]
    fn a_result_is_combined_once_whoever_has_found_it() {
        let (_dispatcher, arrays) = open();
        let array = arrays.array_of(&[1_u32]).unwrap();
        let add = arrays.host("adds", (reduce(&array, Sum),), |(sum,)| {
            sum[0] += 5;
            Ok(())
        });
        add.submit().unwrap();
        let (record, reader) = (&array.record, Claim::whole(Arc::clone(&array.record), Mode::Read));
        let found = [(); 2].map(|()| record.partial_before(&reader).unwrap());
        let combined = found.map(|partial| record.combine(&partial, "reads", Priority::LOWEST).unwrap().is_some());
        assert_eq!(combined, [true, false]);
        assert_eq!(array.read().unwrap().to_vec(), [6]);
        assert_eq!(arrays.statistics().combined, 1);
    }
}
