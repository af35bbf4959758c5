//! The places of a figure's panels: side by side while each has room, else in rows.

use crate::svg::Area;

/// A panel is at least this wide, if only one row is not enough.
const LEAST_WIDTH: f64 = 250.0;
/// Between panels side by side.
const BETWEEN: f64 = 28.0;

/// The places of all panels, each of one size.
pub(super) struct Grid {
    columns: usize,
    rows: usize,
    corner: (f64, f64),
    size: (f64, f64),
    row_height: f64,
}

impl Grid {
    /// `count` panels of `height` between `left` and `right`, the first row at `top`; a row takes `row_height` with its
    /// title and its axis.
    pub(super) fn new(count: usize, (left, right): (f64, f64), top: f64, height: f64, row_height: f64) -> Grid {
        let most = (((right - left + BETWEEN) / (LEAST_WIDTH + BETWEEN)).floor() as usize).max(1);
        let rows = count.div_ceil(most).max(1);
        let columns = count.div_ceil(rows).max(1);
        let width = (right - left - BETWEEN * (columns - 1) as f64) / columns as f64;
        Grid { columns, rows, corner: (left, top), size: (width, height), row_height }
    }

    /// The height beyond one row.
    pub(super) fn extra_height(&self) -> f64 {
        self.row_height * (self.rows - 1) as f64
    }

    /// The place of a panel.
    pub(super) fn area(&self, index: usize) -> Area {
        let (row, column) = (index / self.columns, index % self.columns);
        let left = self.corner.0 + (self.size.0 + BETWEEN) * column as f64;
        let top = self.corner.1 + self.row_height * row as f64;
        Area { left, top, right: left + self.size.0, bottom: top + self.size.1 }
    }

    /// Whether a panel is the first of its row, which has the labels of the axis at its left.
    pub(super) fn is_first_of_row(&self, index: usize) -> bool {
        index.is_multiple_of(self.columns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panels_stand_side_by_side_and_then_in_rows() {
        let grid = |count| Grid::new(count, (60.0, 940.0), 100.0, 200.0, 300.0);
        assert_eq!(
            [0, 1, 3, 4, 7].map(|count| (grid(count).columns, grid(count).rows)),
            [(1, 1), (1, 1), (3, 1), (2, 2), (3, 3)]
        );
        let four = grid(4);
        assert_eq!(four.area(3), Area { left: 514.0, top: 400.0, right: 940.0, bottom: 600.0 });
        assert_eq!([0, 1, 2, 3].map(|index| four.is_first_of_row(index)), [true, false, true, false]);
        assert_eq!(four.extra_height(), 300.0);
    }
}
