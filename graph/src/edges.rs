//! Edges. An edge stands from when it is made until the node before has ended, or the node after it.

use std::ops::{Index, IndexMut};

use crate::list::NONE;
use crate::node::Mark;
use crate::nodes::Nodes;

/// An edge, in the list of those out of `from` and in that of those into `to`.
#[derive(Clone, Copy, Debug)]
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

    pub fn live(&self) -> u32 {
        self.live
    }

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
        match edge.into_previous {
            NONE => nodes[edge.to].into = edge.into_next,
            previous => self[previous].into_next = edge.into_next,
        }
        if edge.into_next != NONE {
            self[edge.into_next].into_previous = edge.into_previous;
        }
        self[index].out_next = self.free;
        self.free = index;
        self.live -= 1;
    }
}

impl Index<u32> for Edges {
    type Output = Edge;

    fn index(&self, index: u32) -> &Edge {
        &self.all[index as usize]
    }
}

impl IndexMut<u32> for Edges {
    fn index_mut(&mut self, index: u32) -> &mut Edge {
        &mut self.all[index as usize]
    }
}
