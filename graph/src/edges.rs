//! Edges. An edge stands from when it is made until the node before has ended, or the node after it.

use std::ops::{Index, IndexMut};

use crate::list::NONE;
use crate::node::{Mark, Slot};

/// An edge, in the list of those out of `from` and in that of those into `to`. The first of a list has no `previous`:
/// the node tells which that is.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))] // a power of two, which makes an index a shift
pub(crate) struct Edge {
    pub from: u32,
    pub to: u32,
    pub out_previous: u32,
    pub out_next: u32,
    pub into_previous: u32,
    pub into_next: u32,
    /// It is one of the references of `to`.
    pub is_counted: bool,
    /// The mark of `from` that `to` starts at.
    pub mark: Mark,
    /// The caller has asked for that mark.
    pub is_asked: bool,
}

impl Edge {
    /// An edge in no list.
    #[inline(always)]
    pub fn new(from: u32, to: u32, mark: Mark, is_asked: bool, is_counted: bool) -> Edge {
        let (out_previous, out_next, into_previous, into_next) = (NONE, NONE, NONE, NONE);
        Edge { from, to, out_previous, out_next, into_previous, into_next, is_counted, mark, is_asked }
    }
}

/// All edges. Those that are free are a list.
pub(crate) struct Edges {
    all: Vec<Edge>,
    free: u32,
    /// How many edges more there may be.
    room: u32,
}

impl Edges {
    /// No edge, and room for so many.
    pub fn new(room: u32) -> Edges {
        Edges { all: Vec::new(), free: NONE, room }
    }

    /// How many edges more there may be.
    #[inline]
    pub fn room(&self) -> u32 {
        self.room
    }

    /// Adds an edge, for which there is room: the last out of its first node, and the first into the other one.
    #[inline(always)] // two calls, and in one of them most of the edge is known
    pub fn link(&mut self, slots: &mut [Slot], edge: Edge) {
        let (from, to) = (edge.from as usize, edge.to as usize);
        let (out, newest) = (slots[from].out, slots[to].into);
        let (index, free) = match self.all.get_mut(self.free as usize) {
            Some(free) => (self.free, free),
            None => self.grow(),
        };
        let next = free.out_next;
        *free = Edge { out_previous: out.last, into_next: newest, ..edge };
        self.free = next;
        slots[from].out.last = index;
        match out.first {
            NONE => slots[from].out.first = index,
            _ => self[out.last].out_next = index,
        }
        if newest != NONE {
            self[newest].into_previous = index;
        }
        slots[to].into = index;
        self.room -= 1;
    }

    #[cold]
    fn grow(&mut self) -> (u32, &mut Edge) {
        let index = self.all.len();
        self.all.push(Edge::new(NONE, NONE, Mark::Launched, false, false));
        (index as u32, &mut self.all[index])
    }

    /// Unlinks an edge from the node after it. The list of the node before it is left as it is.
    #[inline]
    pub fn unlink_last_end(&mut self, slots: &mut [Slot], index: u32) -> Edge {
        let edge = &mut self.all[index as usize];
        let it = *edge;
        edge.out_next = self.free;
        self.free = index;
        self.room += 1;
        let to = &mut slots[it.to as usize];
        if to.into == index {
            to.into = it.into_next;
        } else {
            self[it.into_previous].into_next = it.into_next;
        }
        if it.into_next != NONE {
            self[it.into_next].into_previous = it.into_previous;
        }
        it
    }

    pub fn unlink(&mut self, slots: &mut [Slot], index: u32) {
        let edge = self[index];
        let out = &mut slots[edge.from as usize].out;
        if out.first == index {
            out.first = edge.out_next;
        } else {
            self[edge.out_previous].out_next = edge.out_next;
        }
        match edge.out_next {
            NONE => out.last = edge.out_previous,
            next => self[next].out_previous = edge.out_previous,
        }
        self.unlink_last_end(slots, index);
    }
}

impl Index<u32> for Edges {
    type Output = Edge;

    #[inline]
    fn index(&self, index: u32) -> &Edge {
        &self.all[index as usize]
    }
}

impl IndexMut<u32> for Edges {
    #[inline]
    fn index_mut(&mut self, index: u32) -> &mut Edge {
        &mut self.all[index as usize]
    }
}
