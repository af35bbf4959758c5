//! Eviction: makes room on a full device. The least recently used arrays leave it first, after their results have been
//! copied to the host.

use std::sync::Arc;

use graph::{Location, Priority};
use hal::{Code, Nanos, Wait};
use overtake_tasks::task::Error;

use crate::claim::Claim;
use crate::record::Record;
use crate::resident::{LOOK_EVERY, ROOM_WITHIN, Residents, STILL_FOR};
use crate::store::Store;

const FULL: &str = "the device is full, and the time is over in which arrays were to leave it: wait longer, drop \
                    arrays, or end accesses to them";

impl Store {
    /// Allocates device memory for all of these arrays at once, evicting others if necessary, and on the host for
    /// bytes that come through it.
    pub fn make_room(&self, claims: &[Claim], device: u8, priority: Priority) -> Result<(), Error> {
        let (place, residents) = (Location::Device(device), &self.residents[usize::from(device)]);
        let host = self.tasks.within().driver().host();
        let deadline = claims.iter().filter_map(|claim| claim.until).min();
        let deadline = deadline.unwrap_or_else(|| host.now() + ROOM_WITHIN);
        let mut still: Option<(u64, Nanos)> = None;
        for claim in claims {
            loop {
                let gone = residents.gone();
                let refused = match claim.record.ensure(place) {
                    Err(error) if error.code() == Code::OUT_OF_MEMORY => error,
                    ensured => break ensured?,
                };
                // A function of a task must not wait: it may be the one that the others wait for.
                if self.tasks.within().is_inside() {
                    return Err(refused.into());
                }
                if residents.trim()? > 0 {
                    continue;
                }
                match self.oldest_beside(claims, device)? {
                    Some(record) => self.evict(&record, device, priority)?,
                    // Tasks that have not ended may have some, or had some a moment ago.
                    None if self.has_others(claims, device) || residents.gone() != gone => {}
                    None => return Err(refused.into()),
                }
                let own = self.waits_for_this_thread(residents)?;
                let now = host.now();
                if now >= deadline {
                    // An array that no task used has left at once.
                    if residents.gone() != gone {
                        continue;
                    }
                    return Err(own.unwrap_or_else(|| Error::TimedOut { why: format!("{FULL}: {refused}") }));
                }
                still = own.as_ref().map(|_| still.filter(|(then, _)| *then == gone).unwrap_or((gone, now)));
                if let Some(error) = own.filter(|_| still.is_some_and(|(_, since)| now.since(since) >= STILL_FOR)) {
                    return Err(error);
                }
                self.wait_for_one(residents, gone)?;
            }
        }
        self.make_way(claims, place)
    }

    /// The error of a thread that would wait for itself: all that has not ended comes after accesses that it has open,
    /// and no other thread can end those.
    fn waits_for_this_thread(&self, residents: &Residents) -> Result<Option<Error>, Error> {
        let own = self.guards.of_this_thread();
        if own.is_empty() || residents.has_apart() {
            return Ok(None);
        }
        let mut held = self.tasks.within().enter()?;
        let nodes = || own.iter().map(|(node, _)| node.node());
        let mut behind = held.graph().all_behind(nodes());
        behind.extend(nodes());
        let is_stuck = held.has_only(&behind);
        drop(held);
        Ok(is_stuck.then(|| {
            let (access, bytes) = (own[0].0.name(), own[0].1);
            let text = format!(
                "the device is full, and all that could leave it waits for this thread itself: {access} of {bytes} \
                 bytes is open here; drop that access before this call"
            );
            Code::OUT_OF_MEMORY.at("overtake arrays").because(&text).into()
        }))
    }

    /// Has memory on the host for bytes that come through it.
    fn make_way(&self, claims: &[Claim], place: Location) -> Result<(), Error> {
        for claim in claims {
            let state = hal::locks::lock(&claim.record.state);
            let goes_through_host = claim.goes_through_host(&state, place);
            drop(state);
            if goes_through_host {
                claim.record.ensure(Location::Host)?;
            }
        }
        Ok(())
    }

    /// The array that has not been used for the longest time, of those that no task uses if there are any. It is none
    /// of these, and may leave the device.
    fn oldest_beside(&self, claims: &[Claim], device: u8) -> Result<Option<Arc<Record>>, Error> {
        let is_kept = |record: &Arc<Record>| claims.iter().any(|claim| Arc::ptr_eq(&claim.record, record));
        let others = self.residents[usize::from(device)]
            .records
            .records::<Record>()
            .into_iter()
            .filter(|record| !is_kept(record));
        let ages = others.filter_map(|record| {
            let state = hal::locks::lock(&record.state);
            let block = state.resident(Location::Device(device)).filter(|block| !block.is_lent());
            let age = block.map(|block| (Arc::strong_count(block) > 1, state.used));
            drop(state);
            age.map(|age| (age, record))
        });
        let mut ages: Vec<_> = ages.collect();
        ages.sort_by_key(|(age, _)| *age);
        for (_, record) in ages {
            let held = self.tasks.within().enter()?;
            let may_leave = record.needs_to_leave(Location::Device(device)).is_some();
            drop(held);
            if may_leave {
                return Ok(Some(record));
            }
        }
        Ok(None)
    }

    /// Whether there are blocks beside those of these arrays.
    fn has_others(&self, claims: &[Claim], device: u8) -> bool {
        let has = |claim: &Claim| {
            let state = hal::locks::lock(&claim.record.state);
            state.resident(Location::Device(device)).is_some_and(|block| !block.is_lent())
        };
        let mut own: Vec<*const Record> = Vec::new();
        for claim in claims.iter().filter(|claim| has(claim)) {
            own.push(Arc::as_ptr(&claim.record));
        }
        own.sort_unstable();
        own.dedup();
        self.residents[usize::from(device)].count() > own.len() as u64
    }

    /// The array leaves the device, if it still may. Bytes that are nowhere else are copied to the host by a task, and
    /// its block goes with the last task that uses it.
    fn evict(&self, record: &Arc<Record>, device: u8, priority: Priority) -> Result<(), Error> {
        let (all, place) = (0..record.bytes, Location::Device(device));
        if self.is_needed_on_host(record, place)? {
            record.ensure(Location::Host)?;
        }
        let shared = self.tasks.within();
        // It may be one of a section, or of the arrays around this one.
        let order = record.store.order.take();
        let mut held = order.enter(shared)?;
        let has_host = hal::locks::lock(&record.state).host.is_some();
        let needs = record.needs_to_leave(place).filter(|needs| needs.fetches.is_empty() || has_host);
        let written =
            needs.map(|needs| record.fetch(&mut held, needs, Location::Host, ("make room", priority)).map(drop));
        let mut gone = None;
        if let Some(Ok(())) = &written {
            let mut state = hal::locks::lock(&record.state);
            state.validity.leaves(&all, place);
            gone = state.take_resident(device);
            hal::locks::lock(&self.counts).evictions += u64::from(gone.is_some());
        }
        drop(order);
        shared.pump(held);
        drop(gone);
        written.unwrap_or(Ok(()))
    }

    fn is_needed_on_host(&self, record: &Record, place: Location) -> Result<bool, Error> {
        let _held = self.tasks.within().enter()?;
        Ok(record.needs_to_leave(place).is_some_and(|needs| !needs.fetches.is_empty()))
    }

    /// Waits until a block has gone, or for a while.
    fn wait_for_one(&self, residents: &Residents, gone: u64) -> Result<(), Error> {
        let shared = self.tasks.within();
        let mut held = shared.enter()?;
        held.flush();
        shared.pump(held);
        let end = shared.awaited(|host| {
            let deadline = host.now() + LOOK_EVERY;
            host.wait_until(Some(deadline), &mut || residents.gone() != gone)
        });
        if end == Wait::Stuck {
            let text = "the device is full, and the computations that use it never end: release their references, and \
                        drop the guards that they wait for";
            return Err(Code::OUT_OF_MEMORY.at("overtake arrays").because(text).into());
        }
        Ok(())
    }
}
