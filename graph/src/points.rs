//! The points that stand for a node without a lane: lists in one array.

use crate::list::NONE;
use crate::node::Point;

#[derive(Clone, Copy)]
struct Cell {
    point: Point,
    next: u32,
}

/// All lists. Cells that are free are a list.
pub(crate) struct Points {
    cells: Vec<Cell>,
    free: u32,
}

impl Points {
    pub fn new() -> Points {
        Points { cells: Vec::new(), free: NONE }
    }

    /// Puts a point before the list, and returns the longer list.
    #[inline]
    pub fn push(&mut self, list: u32, point: Point) -> u32 {
        let cell = Cell { point, next: list };
        if self.free == NONE {
            self.cells.push(cell);
            return self.cells.len() as u32 - 1;
        }
        let index = self.free;
        self.free = self.cells[index as usize].next;
        self.cells[index as usize] = cell;
        index
    }

    /// The first point of a list, and the rest.
    #[inline]
    pub fn split(&self, list: u32) -> Option<(Point, u32)> {
        (list != NONE).then(|| (self.cells[list as usize].point, self.cells[list as usize].next))
    }

    /// Frees a list.
    #[inline]
    pub fn free(&mut self, mut list: u32) {
        while let Some((_, next)) = self.split(list) {
            self.cells[list as usize].next = self.free;
            self.free = list;
            list = next;
        }
    }
}
