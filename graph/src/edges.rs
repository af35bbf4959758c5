//! Edges. An edge stands from when it is made until the node before has ended, or the node after it.

use std::ops::{Index, IndexMut};

use crate::list::NONE;
use crate::node::Mark;
use crate::nodes::Nodes;

/// An edge, in the list of those out of `from` and in that of those into `to`.
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
    /// The mark of `from` that the caller asked for.
    pub asked: Option<Mark>,
}

/// All edges. Those that are free are a list.
pub(crate) struct Edges {
    all: Vec<Edge>,
    free: u32,
    live: u32,
}

impl Edges {
    pub fn new() -> Edges {
        Edges { all: Vec::new(), free: NONE, live: 0 }
    }

    #[inline]
    pub fn live(&self) -> u32 {
        self.live
    }

    #[inline]
    pub fn link(&mut self, nodes: &mut Nodes, from: u32, to: u32, asked: Option<Mark>) -> u32 {
        let (last, newest) = (nodes[from].out.last, nodes[to].into);
        let edge = Edge {
            from,
            to,
            out_previous: last,
            out_next: NONE,
            into_previous: NONE,
            into_next: newest,
            is_counted: false,
            asked,
        };
        let index = self.free;
        let index = if index == NONE {
            self.all.push(edge);
            self.all.len() as u32 - 1
        } else {
            self.free = self[index].out_next;
            self[index] = edge;
            index
        };
        match last {
            NONE => nodes[from].out.first = index,
            last => self[last].out_next = index,
        }
        nodes[from].out.last = index;
        if newest != NONE {
            self[newest].into_previous = index;
        }
        nodes[to].into = index;
        self.live += 1;
        index
    }

    /// Unlinks an edge from the node after it. The list of the node before it is left as it is.
    #[inline]
    pub fn unlink_last_end(&mut self, nodes: &mut Nodes, index: u32) {
        let edge = &mut self.all[index as usize];
        let (to, previous, next) = (edge.to, edge.into_previous, edge.into_next);
        edge.out_next = self.free;
        self.free = index;
        self.live -= 1;
        match previous {
            NONE => nodes[to].into = next,
            previous => self[previous].into_next = next,
        }
        if next != NONE {
            self[next].into_previous = previous;
        }
    }

    pub fn unlink(&mut self, nodes: &mut Nodes, index: u32) {
        let edge = self[index];
        match edge.out_previous {
            NONE => nodes[edge.from].out.first = edge.out_next,
            previous => self[previous].out_next = edge.out_next,
        }
        match edge.out_next {
            NONE => nodes[edge.from].out.last = edge.out_previous,
            next => self[next].out_previous = edge.out_previous,
        }
        self.unlink_last_end(nodes, index);
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
