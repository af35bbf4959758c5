//! The transfers that a use needs: one for each memory that its bytes come from, and for bytes written by the same
//! unfinished tasks. So a transfer fails only with the tasks that write its bytes, and other uses may share it.

use std::ops::Range;
use std::sync::Arc;

use graph::{Fetch, Location, Needs, Priority};
use overtake_tasks::task::{Error, Handle};
use overtake_tasks::within::Held;

use crate::record::{Node, Record, State};
use crate::transfer::Transfer;

impl Record {
    /// The needs of a use of these bytes there. Asked with the dispatcher's lock held.
    pub fn needs(&self, bytes: &Range<u64>, place: Location) -> Needs<Node> {
        self.needs_in_state(&mut hal::locks::lock(&self.state), bytes, place)
    }

    /// The same with the record's lock at hand.
    pub fn needs_in_state(&self, state: &mut State, bytes: &Range<u64>, place: Location) -> Needs<Node> {
        let place = self.place(place);
        let nearness = |from| self.store.places.nearness(from, place);
        state.validity.needs(bytes, place, nearness, Node::progress)
    }

    /// The copies to the host that are to be made before it leaves that place, if it may. Asked as [`Record::needs`].
    pub fn needs_to_leave(&self, place: Location) -> Option<Needs<Node>> {
        let mut state = hal::locks::lock(&self.state);
        state.validity.needs_to_leave(&(0..self.bytes), (place, Location::Host), Node::progress)
    }

    /// Appends the transfers that a use there needs, for a task with this name and priority. Bytes of a device without
    /// a link go through the host, whose memory is there.
    pub fn fetch(
        self: &Arc<Record>,
        held: &mut Held<'_>,
        mut needs: Needs<Node>,
        place: Location,
        task: (&str, Priority),
    ) -> Result<Vec<Handle>, Error> {
        let is_far = |from| self.store.places.nearness(from, place) == 0.0;
        let (far, mut near): (Vec<_>, Vec<_>) = needs.fetches.drain(..).partition(|fetch| is_far(fetch.from));
        for part in far {
            let to_host = self.needs(&part.bytes, Location::Host);
            self.fetch(held, to_host, Location::Host, task)?;
            near.extend(self.needs(&part.bytes, place).fetches);
        }
        let mut handles = Vec::new();
        while let Some(Fetch { from, after, .. }) = near.first().cloned() {
            let is_beside = |fetch: &Fetch<Node>| fetch.from == from && fetch.after == after;
            let (these, others): (Vec<_>, Vec<_>) = near.into_iter().partition(is_beside);
            near = others;
            let parts = these.into_iter().map(|fetch| fetch.bytes).collect();
            let transfer = Transfer { record: self, from, to: place, parts, after };
            let handle = transfer.append(held, task.0, task.1)?;
            let mut state = hal::locks::lock(&self.state);
            let node = Node(handle.clone());
            transfer.parts.iter().for_each(|part| state.validity.arrives(part, place, &node));
            drop(state);
            handles.push(handle);
        }
        Ok(handles)
    }
}
