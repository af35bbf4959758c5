//! Several runs side by side: a line for each measurement, a column for each run.

use serde_json::Number;

use super::cells::{Cell, flatten, label};
use super::read::Stored;
use super::table::{Column, Grid, HIDDEN};

/// Figures that are compared.
const FIGURES: [&str; 7] = ["p50_us", "p99_us", "max_us", "bulk_gbps", "missed", "call_ns", "alone_gbps"];
/// Numbers that name a measurement as words do.
const NAMING: [&str; 5] = ["high_bytes", "bulk_bytes", "priority", "burst", "gpus"];
/// Words that name no measurement: those of a run alone, and those that follow from the method.
const LOOSE: [&str; 6] = ["values", "report", "warnings", "transport", "urgent_transport", "emulation"];

/// A measurement: the values that name it, and its place among those of the same name.
type Key = (Vec<(String, Cell)>, usize);

struct Line {
    key: Key,
    /// The cells of each run that has the measurement.
    runs: Vec<Option<Vec<(String, Cell)>>>,
}

fn lines(runs: &[Stored]) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for (index, run) in runs.iter().enumerate() {
        for row in &run.rows {
            let cells = flatten(row, &HIDDEN);
            let names = |(key, cell): &&(String, Cell)| match cell {
                Cell::Words(_) => !LOOSE.contains(&key.as_str()),
                Cell::Number(_) => NAMING.contains(&key.as_str()),
            };
            let name: Vec<(String, Cell)> = cells.iter().filter(names).cloned().collect();
            let open = lines.iter_mut().find(|line| line.key.0 == name && line.runs[index].is_none());
            match open {
                Some(line) => line.runs[index] = Some(cells),
                None => {
                    let place = lines.iter().filter(|line| line.key.0 == name).count();
                    let mut of_runs = vec![None; runs.len()];
                    of_runs[index] = Some(cells);
                    lines.push(Line { key: (name, place), runs: of_runs });
                }
            }
        }
    }
    lines
}

/// The table, with the runs by their labels.
pub(super) fn grid(runs: &[Stored], labels: &[String]) -> Grid {
    let lines = lines(runs);
    let names: Vec<Vec<(String, Cell)>> = lines.iter().map(|line| line.key.0.clone()).collect();
    let keys = super::cells::keys(&names);
    let mut columns: Vec<Column> = keys.iter().map(|key| Column::of(key)).collect();
    for figure in FIGURES {
        for run in labels {
            columns.push(Column { key: format!("{run}.{figure}"), label: format!("{}, run {run}", label(figure)) });
        }
        if figure == FIGURES[0] {
            let by_first = |run: &String| Column {
                key: format!("{run}.by_first"),
                label: format!("{}, run {run} / run {}", label(figure), labels[0]),
            };
            columns.extend(labels.iter().skip(1).map(by_first));
        }
    }
    let rows = lines.iter().map(|line| cells(line, &keys)).collect();
    Grid { name: "beside".to_owned(), columns, rows }.without_empty()
}

fn cells(line: &Line, keys: &[String]) -> Vec<Option<Cell>> {
    let find =
        |cells: &[(String, Cell)], key: &str| cells.iter().find(|(its, _)| its == key).map(|(_, cell)| cell.clone());
    let mut row: Vec<Option<Cell>> = keys.iter().map(|key| find(&line.key.0, key)).collect();
    for figure in FIGURES {
        let values: Vec<Option<Cell>> =
            line.runs.iter().map(|run| run.as_ref().and_then(|cells| find(cells, figure))).collect();
        row.extend(values.iter().cloned());
        if figure == FIGURES[0] {
            row.extend(values.iter().skip(1).map(|value| over(value.as_ref(), values[0].as_ref())));
        }
    }
    row
}

fn over(value: Option<&Cell>, reference: Option<&Cell>) -> Option<Cell> {
    let number = |cell: Option<&Cell>| match cell {
        Some(Cell::Number(number)) => number.as_f64(),
        _ => None,
    };
    Number::from_f64(number(value)? / number(reference)?).map(Cell::Number)
}
