//! Tables of a page about runs. Their cells carry the exact values, so they sort and copy by these.

use super::cells::{Cell, flatten, keys, label};
use super::read::Stored;
use crate::svg::escape;

/// A column: its key, and its name for a reader.
#[derive(Clone, Debug)]
pub(super) struct Column {
    pub(super) key: String,
    pub(super) label: String,
}

impl Column {
    pub(super) fn of(key: &str) -> Column {
        Column { key: key.to_owned(), label: label(key) }
    }
}

/// A table; a cell that was not measured is `None`.
#[derive(Clone, Debug)]
pub(super) struct Grid {
    /// A word that tells it from the page's other tables.
    pub(super) name: String,
    pub(super) columns: Vec<Column>,
    pub(super) rows: Vec<Vec<Option<Cell>>>,
}

impl Grid {
    /// Leaves out columns that have no value.
    pub(super) fn without_empty(self) -> Grid {
        let has_value = |index: usize| self.rows.iter().any(|row| row[index].is_some());
        let kept: Vec<usize> = (0..self.columns.len()).filter(|index| has_value(*index)).collect();
        let columns = kept.iter().map(|index| self.columns[*index].clone()).collect();
        let rows = self.rows.iter().map(|row| kept.iter().map(|index| row[*index].clone()).collect()).collect();
        Grid { name: self.name, columns, rows }
    }

    pub(super) fn to_html(&self) -> String {
        let is_number = |index: usize| {
            let words = |row: &Vec<Option<Cell>>| matches!(row[index], Some(Cell::Words(_)));
            !self.rows.iter().any(words)
        };
        let class = |index: usize| if is_number(index) { " class=\"number\"" } else { "" };
        let mut html = format!("<div class=\"wide\"><table class=\"data\" data-name=\"{}\">\n", escape(&self.name));
        html.push_str("<thead><tr>");
        for (index, column) in self.columns.iter().enumerate() {
            let (key, label) = (escape(&column.key), escape(&column.label));
            html.push_str(&format!("<th{} scope=\"col\" data-key=\"{key}\">{label}</th>", class(index)));
        }
        html.push_str("</tr></thead>\n<tbody>\n");
        for row in &self.rows {
            html.push_str("<tr>");
            for (index, (cell, column)) in row.iter().zip(&self.columns).enumerate() {
                let cell = cell.as_ref().map_or_else(|| "-".to_owned(), |cell| cell.to_html(&column.key));
                html.push_str(&format!("<td{}>{cell}</td>", class(index)));
            }
            html.push_str("</tr>\n");
        }
        html + "</tbody>\n</table></div>\n"
    }
}

/// Keys that tell rows apart: these stay columns even where all rows agree.
const NAMING: [&str; 8] = ["program", "client", "test", "case", "direction", "method", "mode", "phase"];
/// The samples are for the figures.
const HIDDEN: [&str; 1] = ["latency_steps_ns"];

/// The rows of a run, and the values that they have in common.
pub(super) struct Rows {
    pub(super) grid: Grid,
    pub(super) common: Vec<(String, Cell)>,
}

impl Rows {
    pub(super) fn of(run: &Stored, name: String) -> Rows {
        let rows: Vec<Vec<(String, Cell)>> = run.rows.iter().map(|row| flatten(row, &HIDDEN)).collect();
        let find =
            |row: &[(String, Cell)], key: &str| row.iter().find(|(its, _)| its == key).map(|(_, cell)| cell.clone());
        let (mut columns, mut common) = (Vec::new(), Vec::new());
        for key in keys(&rows) {
            let first = rows.first().and_then(|row| find(row, &key));
            let agree = rows.len() > 1 && rows.iter().all(|row| find(row, &key) == first);
            match first.filter(|_| agree && !NAMING.contains(&key.as_str())) {
                Some(cell) => common.push((key, cell)),
                None => columns.push(Column::of(&key)),
            }
        }
        let cells = |row: &Vec<(String, Cell)>| columns.iter().map(|column| find(row, &column.key)).collect();
        let rows = rows.iter().map(cells).collect();
        Rows { grid: Grid { name, columns, rows }, common }
    }
}

/// Keys and values as a list.
pub(super) fn list(name: &str, cells: &[(String, Cell)]) -> String {
    let row = |(key, cell): &(String, Cell)| {
        let (escaped, value) = (escape(key), cell.to_html(key));
        format!("<dt data-key=\"{escaped}\">{}</dt><dd>{value}</dd>\n", escape(&label(key)))
    };
    format!("<dl data-name=\"{}\">\n{}</dl>\n", escape(name), cells.iter().map(row).collect::<String>())
}
