//! Claims: the bytes of arrays that a task uses, without their types.

use std::ops::Range;
use std::sync::Arc;

use graph::{Access, Location, Locations, Mode, Refused, Use};
use hal::Nanos;
use overtake_tasks::task::{Handle, Reason};
use overtake_tasks::within::Held;

use crate::operator::Reducer;
use crate::record::{Kept, Memory, Node, Record, State};

/// The bytes of an array that a task uses.
#[derive(Clone)]
pub struct Claim {
    pub(super) record: Arc<Record>,
    pub(super) bytes: Range<u64>,
    pub(super) mode: Mode,
    /// Of a reduction.
    pub(super) reducer: Option<Reducer>,
    /// It waits until then: an access for its elements, and each use for room on a full device.
    pub(super) until: Option<Nanos>,
    /// A view of the array, as long as a computation is described: its memory is given to nobody meanwhile.
    pub(super) _view: Option<Arc<()>>,
}

impl Claim {
    /// Of these bytes, for the library itself.
    pub(super) fn of(record: Arc<Record>, bytes: Range<u64>, mode: Mode) -> Claim {
        Claim { record, bytes, mode, reducer: None, until: None, _view: None }
    }

    /// The same of all bytes.
    pub(super) fn whole(record: Arc<Record>, mode: Mode) -> Claim {
        let bytes = 0..record.bytes;
        Claim::of(record, bytes, mode)
    }

    /// The same as the graph knows it.
    pub(super) fn access(&self) -> Access {
        let is_whole = self.bytes == (0..self.record.bytes);
        Access { data: self.record.data, range: (!is_whole).then(|| self.bytes.clone()), mode: self.mode }
    }

    /// Adds the bytes of a use of its array, by the memories that have them. Asked with the dispatcher's lock held.
    fn add_uses(&self, bytes: &Range<u64>, mode: Mode, uses: &mut Vec<Use>) {
        if self.record.is_token {
            return;
        }
        let (mut state, first) = (hal::locks::lock(&self.record.state), uses.len());
        state.validity.each(bytes, Node::progress, |bytes, at| {
            // Bytes that were never written are as far from each device as those of the host.
            let at = if at == Locations::NONE { Locations::only(Location::Host) } else { at };
            mode.on(bytes.end - bytes.start, at).add(uses, first);
        });
    }

    /// Adds the memory of its use there to that of a task. Returns whether there is some, for the way of its bytes to
    /// there too.
    pub(super) fn has_memory(&self, place: Location, memory: &mut Memory) -> bool {
        let state = hal::locks::lock(&self.record.state);
        let Some(start) = state.start(place) else { return false };
        memory.addresses.push(start + self.bytes.start);
        memory.kept.push(Kept::in_state(&self.record, &state, place));
        !self.goes_through_host(&state, place) || state.start(Location::Host).is_some()
    }

    /// Whether bytes have contents from this use on alone: it overwrites them, or none was ever written. Asked with
    /// the dispatcher's lock held, before it is noted.
    pub(super) fn makes_contents(&self) -> bool {
        let is_unwritten = || {
            let (state, mut is_all) = (&mut hal::locks::lock(&self.record.state), true);
            state.validity.each(&self.bytes, Node::progress, |_, at| is_all &= at == Locations::NONE);
            is_all
        };
        self.mode == Mode::Discard || (self.mode == Mode::Write && is_unwritten())
    }

    /// The access ends without the program having had its bytes. Those that were there stay as they are, so its node is
    /// released. If it was to make their contents ([`Claim::makes_contents`]) that is given up, for this reason.
    pub(super) fn leaves(
        &self,
        held: &mut Held<'_>,
        node: &Handle,
        makes_contents: bool,
        reason: Reason,
    ) -> Result<(), Refused> {
        if makes_contents {
            held.give_up(node.node(), reason);
            held.collect();
        }
        self.thaw(node);
        if self.mode.is_write() {
            hal::locks::lock(&self.record.state).validity.withdraws(&self.bytes, &Node(node.clone()), Node::progress);
        }
        if makes_contents { Ok(()) } else { held.graph().release(node.node()) }
    }

    /// The bytes are not frozen by this node any more, if they were.
    pub(super) fn thaw(&self, node: &Handle) {
        hal::locks::lock(&self.record.state).frozen.retain(|(by, _)| !by.is_same(node));
    }

    /// Whether the bytes that are there before matter. What is only written of a token leaves nothing as it was.
    pub(super) fn needs_bytes(&self) -> bool {
        self.mode.needs_bytes() && !(self.record.is_token && self.mode == Mode::Write)
    }

    /// Whether bytes may come to this place through the host.
    pub(super) fn goes_through_host(&self, state: &State, place: Location) -> bool {
        self.needs_bytes() && self.record.is_beyond(state, place)
    }

    /// Whether it would write bytes that are frozen.
    pub(super) fn is_frozen(&self, state: &State) -> bool {
        self.mode.is_write() && state.frozen.iter().any(|(_, frozen)| overlap(frozen, &self.bytes))
    }

    /// Whether bytes that were never written are an error. A use that only writes may leave them so.
    pub(super) fn needs_contents(&self) -> bool {
        !matches!(self.mode, Mode::Write | Mode::Discard)
    }

    /// Whether two claims of one task would be references to the same bytes, of which one writes. A reduction has
    /// memory of its own, but two reductions may share it, where there are many.
    pub(super) fn aliases(&self, other: &Claim) -> bool {
        let is_same = Arc::ptr_eq(&self.record, &other.record) && overlap(&self.bytes, &other.bytes);
        is_same
            && match (self.reducer, other.reducer) {
                (None, None) => self.mode.conflicts(other.mode),
                (one, other) => one.is_some() && other.is_some(),
            }
    }
}

/// The bytes that a task with these claims uses, each once, by the memories that have them. Asked with the dispatcher's
/// lock held.
pub(super) fn uses(claims: &[Claim]) -> Vec<Use> {
    let object = |claim: &Claim| claims.iter().position(|first| Arc::ptr_eq(&first.record, &claim.record));
    // A reduction works on memory of its own.
    let shared = claims.iter().filter(|claim| claim.reducer.is_none());
    let stretches = shared.filter_map(|claim| Some((object(claim)?, claim.bytes.clone(), claim.mode))).collect();
    let mut uses = Vec::new();
    for (object, bytes, mode) in graph::each_once(stretches) {
        claims[object].add_uses(&bytes, mode, &mut uses);
    }
    uses
}

pub(super) fn overlap(one: &Range<u64>, other: &Range<u64>) -> bool {
    one.start < other.end && other.start < one.end
}
