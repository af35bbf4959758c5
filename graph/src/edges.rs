//! Edges. An edge exists from its creation until the node before it, or the node after it, has ended.

use crate::list::NONE;
use crate::node::{Edge, IN_SLOT, Mark, Slot};
use crate::nodes::two;

/// An edge that stands in no slot. Its size is a power of two, which makes an index a shift.
#[repr(align(32))]
struct Apart(Edge);

/// All edges that stand in no slot, and the lists of all. Those that are free are a list.
pub(crate) struct Edges {
    all: Vec<Apart>,
    free: u32,
    /// How many edges more there may be, in slots or not. Below 0 where some were made without room.
    room: i64,
    /// How many that would be if there were none.
    most: u32,
}

impl Edges {
    /// No edge, and room for so many.
    pub fn new(room: u32) -> Edges {
        Edges { all: Vec::new(), free: NONE, room: room.into(), most: room }
    }

    /// How many edges more there may be.
    #[inline]
    pub fn room(&self) -> i64 {
        self.room
    }

    /// Whether there may be so many more.
    #[inline]
    pub fn has_room(&self, count: usize) -> bool {
        count as i64 <= self.room
    }

    /// How many there may be at all, but for those that have room besides.
    pub fn most(&self) -> u32 {
        self.most
    }

    /// Room for so many edges of a node that is to come, which its others do not get.
    pub fn reserve_besides(&mut self, count: u32) {
        (self.room, self.most) = (self.room - i64::from(count), self.most - count);
    }

    /// That room, for those edges.
    pub fn give_back_besides(&mut self, count: u32) {
        (self.room, self.most) = (self.room + i64::from(count), self.most + count);
    }

    #[inline]
    pub fn get<'e>(&'e self, slots: &'e [Slot], index: u32) -> &'e Edge {
        if index & IN_SLOT != 0 { &slots[(index ^ IN_SLOT) as usize].edge } else { &self.all[index as usize].0 }
    }

    #[inline]
    pub fn get_mut<'e>(&'e mut self, slots: &'e mut [Slot], index: u32) -> &'e mut Edge {
        if index & IN_SLOT != 0 { &mut slots[(index ^ IN_SLOT) as usize].edge } else { &mut self.all[index as usize].0 }
    }

    /// The node that an edge leads to.
    #[inline]
    pub fn end(&self, index: u32) -> u32 {
        if index & IN_SLOT != 0 { index ^ IN_SLOT } else { self.all[index as usize].0.to }
    }

    /// An edge that leads to this node.
    #[inline]
    pub fn leading_to<'e>(&'e mut self, to: &'e mut Slot, index: u32) -> &'e mut Edge {
        if index & IN_SLOT != 0 { &mut to.edge } else { &mut self.all[index as usize].0 }
    }

    /// Room for an edge that is to come.
    pub fn reserve(&mut self) {
        self.room -= 1;
    }

    /// That room, for the edge or for others.
    pub fn give_back_room(&mut self) {
        self.room += 1;
    }

    /// Adds an edge: the last out of its first node, and the first into the other one.
    #[inline(always)] // in each call most of the edge is known
    pub fn link(&mut self, slots: &mut [Slot], edge: Edge) {
        let [from, to] = two(slots, edge.from, edge.to);
        let out = from.out;
        if to.into == NONE {
            self.link_in_slot(from, to, edge)
        } else {
            self.add(from, to, edge)
        }
        if out.first == NONE {
            from.out.first = from.out.last;
        } else {
            let index = from.out.last;
            self.get_mut(slots, out.last).out_next = index;
        }
    }

    /// An edge into a node without any. It is the last out of the node before.
    #[inline(always)] // as `link`
    fn link_in_slot(&mut self, from: &mut Slot, to: &mut Slot, edge: Edge) {
        // `to.edge.to` is the number of that slot, for ever.
        let (it, index) = (&mut to.edge, edge.to | IN_SLOT);
        (it.from, it.out_next, it.into_next) = (edge.from, NONE, NONE);
        (it.mark, it.is_asked, it.is_counted) = (edge.mark, edge.is_asked, edge.is_counted);
        it.passes_no_failure = edge.passes_no_failure;
        to.into = index;
        self.room -= 1;
        it.out_previous = std::mem::replace(&mut from.out.last, index);
    }

    /// An edge into a node that has others is the first of those from now on. It is the last out of the node before.
    #[inline(always)] // as `link`
    fn add(&mut self, from: &mut Slot, to: &mut Slot, edge: Edge) {
        if self.free == NONE {
            self.grow();
        }
        let index = self.free;
        let Apart(it) = &mut self.all[index as usize];
        self.free = it.out_next;
        let newest = std::mem::replace(&mut to.into, index);
        let out_previous = std::mem::replace(&mut from.out.last, index);
        *it = Edge { into_next: newest, out_previous, ..edge };
        self.leading_to(to, newest).into_previous = index;
        self.room -= 1;
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        self.free = self.all.len() as u32;
        self.all.push(Apart(Edge::new(NONE, NONE, Mark::Launched, false, false)));
    }

    /// Unlinks an edge from the node after it. The list of the node before it is left as it is.
    #[inline]
    pub fn unlink_last_end(&mut self, slots: &mut [Slot], index: u32) -> Edge {
        self.room += 1;
        let it = *self.get(slots, index);
        if index & IN_SLOT == 0 {
            self.all[index as usize].0.out_next = self.free;
            self.free = index;
        }
        let to = &mut slots[it.to as usize];
        if to.into == index {
            to.into = it.into_next;
        } else {
            self.get_mut(slots, it.into_previous).into_next = it.into_next;
        }
        if it.into_next != NONE {
            self.get_mut(slots, it.into_next).into_previous = it.into_previous;
        }
        it
    }

    /// Unlinks an edge that is the only one out of its node and the only one into the other, if that is not to be told:
    /// it is a node of the device that was waiting for the launch only. Returns whether that is so.
    #[inline]
    pub fn unlink_silent(&mut self, slots: &mut [Slot], index: u32) -> bool {
        if index & IN_SLOT == 0 {
            return false;
        }
        let to = &mut slots[(index ^ IN_SLOT) as usize];
        let is_silent = to.into == index && to.edge.out_next == NONE && !to.edge.is_counted && to.kind.is_device();
        if is_silent {
            to.into = NONE;
            self.room += 1;
        }
        is_silent
    }

    pub fn unlink(&mut self, slots: &mut [Slot], index: u32) {
        let edge = *self.get(slots, index);
        let from = edge.from as usize;
        if slots[from].out.first == index {
            slots[from].out.first = edge.out_next;
        } else {
            self.get_mut(slots, edge.out_previous).out_next = edge.out_next;
        }
        match edge.out_next {
            NONE => slots[from].out.last = edge.out_previous,
            next => self.get_mut(slots, next).out_previous = edge.out_previous,
        }
        self.unlink_last_end(slots, index);
    }
}
