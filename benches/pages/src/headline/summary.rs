//! The one table of the front page: an urgent copy through the library and from an unmodified program.

use report::views::percent_of_raw;
use report::{Column, Table, format};

use super::cells::{factor, spread};
use super::groups::{Group, groups, over_idle};
use super::programs::Line;
use super::sources::{self, asked};
use crate::stored::Stored;

/// The size of the urgent copies.
const URGENT_BYTES: u64 = 64 << 10;
/// The directions as the library's runs and the program's cases name them, and as the table does.
const DIRECTIONS: [(&str, &str, &str); 2] = [("h2d", "H2D side", "to the device"), ("d2h", "D2H side", "to the host")];

/// `summary DEVICE`: idle, beside bulk by CUDA alone, and beside bulk with overtake.
pub fn table(runs: &[Stored], words: &[&str]) -> Result<String, String> {
    let (library, program) = (asked(runs, "latency", words)?, asked(runs, "contended", words)?);
    if library.is_empty() || program.is_empty() {
        return Ok(sources::none(if library.is_empty() { "latency" } else { "contended" }));
    }
    let mut table = Table::new(vec![
        Column::words("64 KiB copy, p50 us"),
        Column::numbers("idle device"),
        Column::numbers("beside bulk, CUDA alone"),
        Column::numbers("/ idle"),
        Column::numbers("beside bulk, overtake"),
        Column::numbers("/ idle"),
        Column::numbers("bulk keeps, %"),
    ]);
    let groups = groups(&library);
    for (direction, _, title) in DIRECTIONS {
        if let Some(cells) = library_cells(&groups, direction) {
            table.push([format!("through the library, {title}")].into_iter().chain(cells));
        }
    }
    for (_, case, title) in DIRECTIONS {
        let line = |mode, phase| Line::find(&program, case, mode, phase);
        let (idle, native, ours) = (line("native", "idle"), line("native", "loaded"), line("overtake", "loaded"));
        let factors = (native.over_idle(), ours.over_idle());
        let cells = [idle.p50(), native.p50(), factors.0, ours.p50(), factors.1, ours.bulk_percent(&native)];
        table.push([format!("unmodified PyTorch program, {title}")].into_iter().chain(cells));
    }
    let through = |name: &str, runs: &[&Stored], question: &str| {
        format!("\n{name}: {}", sources::line_of_medians(runs, question))
    };
    let library = through("Library", &library, "latency");
    Ok(table.to_markdown() + &library + &through("Program", &program, "contended"))
}

fn library_cells(groups: &[Group], direction: &str) -> Option<[String; 6]> {
    let find = |method: &str| {
        let is_its = |group: &&Group| {
            let key = &group.key;
            let is_row =
                (key.method.as_str(), key.direction.as_str(), key.bytes.0) == (method, direction, URGENT_BYTES);
            is_row && key.variant.is_empty()
        };
        groups.iter().find(is_its)
    };
    let (idle, native, ours) = (find("idle")?, find("native+priority")?, find("kernel/hold")?);
    let p50 = |group: &Group| spread(&group.values(|row| row.p50_us), format::us);
    let over = |group: &Group| spread(&group.values(over_idle), factor);
    let kept = spread(&ours.values(percent_of_raw), |percent| format!("{percent:.0}"));
    Some([p50(idle), p50(native), over(native), p50(ours), over(ours), kept])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::headline::example;

    #[test]
    fn library_and_program_stand_in_one_table() {
        let row = |method: &str, p50_us: f64| example::bench("latency", "h100", method, p50_us).rows.remove(0);
        let rows = vec![row("idle", 10.0), row("native+priority", 9_000.0), row("kernel/hold", 12.0)];
        let runs = [example::run("latency", "h100", rows), example::contended([10.0, 20.0, 1_000.0, 30.0])];
        let text = table(&runs, &["h100"]).unwrap();
        for line in [
            "| through the library, to the device | 10.0 | 9,000 | 900 | 12.0 | 1.20 | 98 |",
            "| unmodified PyTorch program, to the device | 10.0 | 1,000 | 100 | 30.0 | 3.00 | - |",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
        assert!(
            text.contains("`reports/latency/raw.tar.gz`") && text.contains("`reports/contended/raw.tar.gz`"),
            "{text}"
        );
        assert!(table(&runs[..1], &["h100"]).unwrap().starts_with("No run of product"));
    }
}
