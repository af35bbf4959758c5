//! Tables of a page about runs. Their cells carry the exact values, so they sort and copy by these.

use super::cells::{Cell, flatten, keys, label};
use super::read::Stored;
use crate::SlowFrames;
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
/// The samples are for the figures, and slow frames have a table of their own.
pub(super) const HIDDEN: [&str; 2] = ["latency_steps_ns", "slow"];

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

/// The slowest frames of all rows, where they were asked for: the row, the frame, and how long each stage took.
pub(super) fn slow_frames(run: &Stored, name: String) -> Option<Grid> {
    let (mut all, mut stages): (Vec<Vec<(String, Cell)>>, Vec<String>) = (Vec::new(), Vec::new());
    for row in &run.rows {
        let Some(slow) = row.get("slow").cloned() else { continue };
        let Ok(SlowFrames { stages: named, median_us, frames, .. }) = serde_json::from_value(slow) else { continue };
        let of_row = ["method", "stream", "setting"].iter().filter_map(|key| Some(((*key).to_owned(), row.get(*key)?)));
        let of_row: Vec<(String, Cell)> =
            of_row.filter_map(|(key, value)| Some((key, Cell::Words(value.as_str()?.to_owned())))).collect();
        let line = |first: [(&str, Cell); 3], took_us: &[f64]| {
            let first = first.into_iter().map(|(key, cell)| (key.to_owned(), cell));
            let took = named.iter().zip(took_us).map(|(stage, us)| (format!("{stage}_us"), Cell::of(*us)));
            of_row.iter().cloned().chain(first).chain(took).collect::<Vec<_>>()
        };
        let words = |text: &str| Cell::Words(text.to_owned());
        let all_us = Cell::of(median_us.iter().sum());
        all.push(line([("frame", words("median")), ("latency_us", all_us), ("lost_in", words("-"))], &median_us));
        for frame in &frames {
            let (captured, lost) = (Cell::of(frame.captured_us), words(&frame.stage));
            let first = [("frame", captured), ("latency_us", Cell::of(frame.latency_us)), ("lost_in", lost)];
            all.push(line(first, &frame.stages_us));
        }
        stages = named;
    }
    let first = ["method", "stream", "setting", "frame", "latency_us", "lost_in"].map(str::to_owned);
    let keys = first.into_iter().chain(stages.iter().map(|stage| format!("{stage}_us")));
    let columns: Vec<Column> = keys.map(|key| Column::of(&key)).collect();
    let find = |row: &[(String, Cell)], key: &str| row.iter().find(|(its, _)| its == key).map(|(_, cell)| cell.clone());
    let cells = |row: &Vec<(String, Cell)>| columns.iter().map(|column| find(row, &column.key)).collect();
    let rows: Vec<Vec<Option<Cell>>> = all.iter().map(cells).collect();
    (!rows.is_empty()).then(|| Grid { name, columns, rows }.without_empty())
}

/// Keys and values as a list.
pub(super) fn list(name: &str, cells: &[(String, Cell)]) -> String {
    let row = |(key, cell): &(String, Cell)| {
        let (escaped, value) = (escape(key), cell.to_html(key));
        format!("<dt data-key=\"{escaped}\">{}</dt><dd>{value}</dd>\n", escape(&label(key)))
    };
    format!("<dl data-name=\"{}\">\n{}</dl>\n", escape(name), cells.iter().map(row).collect::<String>())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn slow_frames_have_a_table_beside_their_median() {
        let slow = json!({"stages": ["taken", "seen"], "median_us": [2.0, 3.5], "by_stage": {"seen": 1},
            "frames": [{"captured_us": 70.0, "latency_us": 42.0, "stage": "seen", "stages_us": [2.0, 40.0]}]});
        let Value::Object(row) = json!({"method": "pipeline", "slow": slow}) else { unreachable!() };
        let (header, rest, trace, drawn) = (None, Default::default(), None, Vec::new());
        let run = Stored { name: String::new(), header, rows: vec![row], rest, trace, own: None, drawn };
        let grid = slow_frames(&run, "slow-1".to_owned()).unwrap();
        let keys: Vec<&str> = grid.columns.iter().map(|column| column.key.as_str()).collect();
        assert_eq!(keys, ["method", "frame", "latency_us", "lost_in", "taken_us", "seen_us"]);
        let words = |text: &str| Some(Cell::Words(text.to_owned()));
        let us = |value| Some(Cell::of(value));
        let median = [words("pipeline"), words("median"), us(5.5), words("-"), us(2.0), us(3.5)];
        let frame = [words("pipeline"), us(70.0), us(42.0), words("seen"), us(2.0), us(40.0)];
        assert_eq!(grid.rows, [median, frame]);
        assert!(Rows::of(&run, String::new()).grid.columns.iter().all(|column| !column.key.starts_with("slow")));
    }
}
