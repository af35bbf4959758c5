//! Tables of programs that do not know overtake, natively and under it.

use report::{Column, ProgramRow, Table, format};
use serde_json::Value;

use super::cells::{NONE, Tail, factor, gbps, spread, tail};
use super::groups::current;
use super::sources;
use crate::stored::Stored;

/// The modes, and the phases of each, in the order of a table.
const LINES: [(&str, &str); 4] =
    [("native", "idle"), ("overtake", "idle"), ("native", "loaded"), ("overtake", "loaded")];

/// The rows of one run.
pub fn rows_of(run: &Stored) -> Vec<ProgramRow> {
    run.rows.iter().filter_map(|row| serde_json::from_value(row.clone()).ok()).collect()
}

/// The same line of every run: the row, and the native idle row of the same case and run to compare it with.
pub struct Line {
    rows: Vec<(ProgramRow, Option<f64>)>,
}

impl Line {
    /// The lines of a case in some mode and phase.
    pub fn find(runs: &[&Stored], case: &str, mode: &str, phase: &str) -> Line {
        let find = |run: &&Stored| {
            let rows = rows_of(run);
            let is = |row: &&ProgramRow, mode, phase| row.case == case && row.mode == mode && row.phase == phase;
            let idle_us = rows.iter().find(|row| is(row, "native", "idle")).and_then(|row| row.p50_us);
            rows.iter().find(|row| is(row, mode, phase)).map(|row| (row.clone(), idle_us))
        };
        Line { rows: runs.iter().filter_map(find).collect() }
    }

    /// The median of each run.
    pub fn medians_us(&self) -> Vec<f64> {
        self.rows.iter().filter_map(|(row, _)| row.p50_us).collect()
    }

    /// Medians and their range.
    pub fn p50(&self) -> String {
        spread(&self.medians_us(), format::us)
    }

    /// The median over the native idle median.
    pub fn over_idle(&self) -> String {
        let over = |(row, idle_us): &(ProgramRow, Option<f64>)| Some(row.p50_us? / (*idle_us)?);
        spread(&self.rows.iter().filter_map(over).collect::<Vec<_>>(), factor)
    }

    /// The tail.
    pub fn tail(&self) -> String {
        let of = |(row, _): &'_ (ProgramRow, Option<f64>)| (row.samples, row.p99_us, row.max_us);
        let tails = self.rows.iter().map(|row| {
            let (samples, p99_us, max_us) = of(row);
            Tail { samples, p99_us, max_us, latencies_ns: &row.0.latencies_ns }
        });
        tail(&tails.collect::<Vec<_>>())
    }

    /// The share of the native bandwidth that bulk keeps, in percent, run by run.
    pub fn bulk_percents(&self, native: &Line) -> Vec<f64> {
        let bulk = |line: &Line| line.rows.iter().map(|(row, _)| row.bulk_gbps).collect::<Vec<_>>();
        let kept = |(ours, native): (Option<f64>, Option<f64>)| Some(100.0 * ours? / native?);
        bulk(self).into_iter().zip(bulk(native)).filter_map(kept).collect()
    }

    /// The same, as median and range.
    pub fn bulk_percent(&self, native: &Line) -> String {
        spread(&self.bulk_percents(native), |percent| format!("{percent:.0}"))
    }

    /// The bandwidth of the bulk, run by run.
    pub fn rates_gbps(&self) -> Vec<f64> {
        self.rows.iter().filter_map(|(row, _)| row.bulk_gbps).collect()
    }

    /// Bandwidth of the bulk.
    pub fn bulk(&self) -> String {
        spread(&self.rates_gbps(), gbps)
    }

    /// Bandwidth of the bulk alone, where it was measured.
    pub fn bulk_alone(&self) -> String {
        spread(&self.rows.iter().filter_map(|(row, _)| row.bulk_alone_gbps).collect::<Vec<_>>(), gbps)
    }
}

/// The cases of runs, in the order in which they first come.
pub fn cases(runs: &[&Stored]) -> Vec<String> {
    let mut cases: Vec<String> = Vec::new();
    for row in runs.iter().flat_map(|run| rows_of(run)) {
        if !cases.contains(&row.case) {
            cases.push(row.case);
        }
    }
    cases
}

/// A table of some cases of the runs of a script. The bulk alone has a column where a run has measured it.
pub fn lines_table(runs: &[&Stored], cases: &[(String, String)]) -> Table {
    let is_alone = runs.iter().flat_map(|run| rows_of(run)).any(|row| row.bulk_alone_gbps.is_some());
    let mut columns = vec![
        Column::words("copy"),
        Column::words("device"),
        Column::words("program"),
        Column::numbers("p50 us"),
        Column::numbers("p50 / native idle"),
        Column::numbers("p99 us"),
        Column::numbers("bulk GB/s"),
    ];
    columns.extend(is_alone.then(|| Column::numbers("bulk alone GB/s")));
    let mut table = Table::new(columns);
    for (case, title) in cases {
        for (mode, phase) in LINES {
            let line = Line::find(runs, case, mode, phase);
            let device = if phase == "idle" { "idle" } else { "beside bulk" };
            let program = if mode == "native" { "native" } else { "`overtake run`" };
            let cells = [line.p50(), line.over_idle(), line.tail(), line.bulk()];
            if cells.iter().any(|cell| cell != NONE) {
                let alone = is_alone.then(|| line.bulk_alone());
                let cells = cells.into_iter().chain(alone);
                table.push([title.clone(), device.to_owned(), program.to_owned()].into_iter().chain(cells));
            }
        }
    }
    table
}

/// `scripts QUESTION DEVICE`: all cases of a script that `pair.py` runs.
pub fn script_table(runs: &[Stored], words: &[&str]) -> Result<String, String> {
    let [question, device] = words else { return Err("`scripts` is followed by a question and a device".to_owned()) };
    let runs = current(runs, question, device);
    if runs.is_empty() {
        return Ok(sources::none(question));
    }
    let cases: Vec<_> = cases(&runs).into_iter().map(|case| (case.clone(), case)).collect();
    let table = lines_table(&runs, &cases).to_markdown();
    Ok(format!("![medians]({device}.svg)\n\n{table}\n{}", sources::line(&runs, question)))
}

/// `programs DEVICE`: in how many runs each unmodified program had the same result, and the way of its copies.
pub fn table(runs: &[Stored], words: &[&str]) -> Result<String, String> {
    let runs = sources::asked(runs, "programs", words)?;
    let mut table = Table::new(vec![
        Column::words("program"),
        Column::numbers("runs"),
        Column::numbers("as natively"),
        Column::numbers("urgent copies"),
        Column::numbers("bulk by kernel"),
        Column::numbers("passed on"),
        Column::numbers("rescues"),
    ]);
    let rows = || runs.iter().flat_map(|run| &run.rows).filter(|row| row.get("client").is_some());
    let mut names: Vec<&str> = rows().filter_map(|row| row["client"].as_str()).collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        let its: Vec<&Value> = rows().filter(|row| row["client"] == name).collect();
        let count = |class: &str| {
            let all: Vec<f64> = its.iter().filter_map(|row| row["copies"][class].as_f64()).collect();
            super::cells::range(&all, |copies| format::grouped(copies, 0))
        };
        let native_fails = its.iter().all(|row| row["same"] == "native fails");
        let same = its.iter().filter(|row| row["same"] == "yes").count().to_string();
        table.push([
            name.to_owned(),
            its.len().to_string(),
            if native_fails { "fails natively".to_owned() } else { same },
            count("urgent"),
            count("kernel"),
            count("passed on"),
            its.iter().filter_map(|row| row["rescues"].as_u64()).max().unwrap_or(0).to_string(),
        ]);
    }
    let suites = suites(&runs);
    Ok(match (table.is_empty(), suites.is_empty()) {
        (true, true) => sources::none("programs"),
        (true, false) => suites.to_markdown(),
        (false, true) => table.to_markdown(),
        (false, false) => table.to_markdown() + "\n" + &suites.to_markdown(),
    })
}

/// The public test suites, run by run: how many tests ended natively as under the drop-in.
fn suites(runs: &[&Stored]) -> Table {
    let mut table = Table::new(vec![
        Column::words("suite"),
        Column::words("commit"),
        Column::numbers("tests in both"),
        Column::numbers("pass"),
        Column::numbers("skipped"),
        Column::numbers("fail natively and here"),
        Column::numbers("differ at first"),
        Column::numbers("differ again, alone"),
    ]);
    for run in runs {
        for row in run.rows.iter().filter(|row| row.get("suite").is_some()) {
            let number = |name: &str| format::grouped(row[name].as_f64().unwrap_or(0.0), 0);
            let text = |name: &str| row[name].as_str().unwrap_or("");
            table.push([
                format!("{} {}", text("suite"), text("version")),
                run.header.commit[..7].to_owned(),
                number("compared"),
                number("passed"),
                number("skipped"),
                number("failed"),
                number("differ"),
                row["lasting"].as_array().map_or(0, Vec::len).to_string(),
            ]);
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::headline::example;

    #[test]
    fn factors_are_against_the_native_idle_device_of_the_same_run() {
        let runs = [[10.0, 20.0, 1_000.0, 30.0], [20.0, 50.0, 1_000.0, 40.0]].map(example::contended);
        let text = script_table(&runs, &["contended", "h100"]).unwrap();
        let line = |program: &str, device: &str| {
            let is_it = |line: &&str| line.contains(&format!("| {device} | {program} |"));
            text.lines().find(is_it).unwrap_or_default().to_owned()
        };
        assert!(line("native", "idle").contains("| 15.0 (10.0 to 20.0) | 1.00 |"), "{text}");
        assert!(line("`overtake run`", "idle").contains("| 2.25 (2.00 to 2.50) |"), "{text}");
        assert!(line("`overtake run`", "beside bulk").contains("| 2.50 (2.00 to 3.00) |"), "{text}");
        assert!(
            line("`overtake run`", "beside bulk").contains("| max 80.0 of 1,200 |"),
            "no percentile of 600: {text}"
        );
        assert!(text.contains("Median (lowest to highest) of 2 runs"), "{text}");
    }

    #[test]
    fn bulk_alone_has_a_column_where_it_was_measured() {
        let mut run = example::contended([1.0; 4]);
        let table = |run: &Stored| script_table(std::slice::from_ref(run), &["contended", "h100"]).unwrap();
        assert!(!table(&run).contains("alone"), "{}", table(&run));
        run.rows[3]["bulk_alone_gbps"] = 55.0.into();
        assert!(table(&run).contains("| bulk GB/s | bulk alone GB/s |"), "{}", table(&run));
        let text = table(&run);
        let line = text.lines().find(|line| line.contains("| beside bulk | `overtake run` |"));
        assert!(line.is_some_and(|line| line.ends_with("| 55.0 |")), "{text}");
    }

    #[test]
    fn runs_of_other_products_are_not_quoted() {
        let mut old = example::contended([7.0; 4]);
        old.header.product = report::PRODUCT - 1;
        let text = script_table(&[old.clone(), example::contended([2.0; 4])], &["contended", "h100"]).unwrap();
        assert!(text.contains("One run") && !text.contains("7.0"), "{text}");
        let text = script_table(&[old], &["contended", "h100"]).unwrap();
        assert!(text.starts_with("No run of product"), "{text}");
    }
}
