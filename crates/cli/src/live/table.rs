//! A reading as text, in at most 80 columns.

use report::format;

use super::flow::{Flow, Row, WAYS};

/// The orders of rows, in which the key `s` goes round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    #[default]
    Traffic,
    Waits,
    Staged,
    Program,
    Pid,
}

impl Order {
    pub fn next(self) -> Order {
        match self {
            Order::Traffic => Order::Waits,
            Order::Waits => Order::Staged,
            Order::Staged => Order::Program,
            Order::Program => Order::Pid,
            Order::Pid => Order::Traffic,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Order::Traffic => "traffic",
            Order::Waits => "p99",
            Order::Staged => "staged",
            Order::Program => "program",
            Order::Pid => "pid",
        }
    }

    /// Sorts the rows: numbers with the largest first.
    pub fn sort(self, rows: &mut [Row]) {
        let traffic = |row: &Row| row.h2d.bytes_per_s.unwrap_or(0.0) + row.d2h.bytes_per_s.unwrap_or(0.0);
        rows.sort_by(|one, other| match self {
            Order::Traffic => traffic(other).total_cmp(&traffic(one)),
            Order::Waits => other.p99_us.unwrap_or(0.0).total_cmp(&one.p99_us.unwrap_or(0.0)),
            Order::Staged => other.staged_bytes.cmp(&one.staged_bytes),
            Order::Program => one.program.cmp(&other.program),
            Order::Pid => one.pid.cmp(&other.pid),
        });
    }
}

/// The line above the columns.
pub fn heading() -> String {
    let flow = |direction: &str| format!("{:>8} {:>5} {:>5}", format!("{direction} GB/s"), "peak", "limit");
    first_line("PID", "PROGRAM", "GPU", "STATE", &format!("{}  {}", flow("H2D"), flow("D2H")))
}

fn first_line(pid: &str, program: &str, gpu: &str, state: &str, flows: &str) -> String {
    format!("{pid:>7} {program:<14.14} {gpu:>3} {state:<10.10} {flows}")
}

/// The lines of a row.
pub fn lines(row: &Row) -> [String; 3] {
    let Row { pid, program, gpu, state, h2d, d2h, .. } = row;
    let flows = format!("{}  {}", flow(h2d), flow(d2h));
    let us = |value: Option<f64>| value.map_or("-".to_owned(), format::span_us);
    let urgent = row.urgent_per_s.map_or("-".to_owned(), |rate| format::grouped(rate, 0));
    let staged = match row.staged_bytes as f64 {
        bytes if bytes >= 1e9 => format!("{:.1} GB", bytes / 1e9),
        bytes => format!("{:.1} MB", bytes / 1e6),
    };
    let (p50, p99, stand_downs) = (us(row.p50_us), us(row.p99_us), row.stand_downs);
    [
        first_line(&pid.to_string(), program, &gpu.to_string(), state, &flows),
        format!("        urgent {urgent}/s, p50 {p50}, p99 {p99}; staged {staged}; stand-downs {stand_downs}"),
        format!("        by way: {}", ways(row)),
    ]
}

fn ways(row: &Row) -> String {
    let Some(ways) = &row.ways else { return "no copies in this time".to_owned() };
    let share = |way: &str| ways.get(way).copied().unwrap_or(0.0) * 100.0;
    let shares: Vec<String> = WAYS.iter().map(|way| format!("{way} {:.0} %", share(way))).collect();
    shares.join(", ")
}

fn flow(flow: &Flow) -> String {
    let gbps = |rate: Option<f64>, decimals| rate.map_or("-".to_owned(), |rate| format!("{:.decimals$}", rate / 1e9));
    let (rate, peak, limit) =
        (gbps(flow.bytes_per_s, 2), gbps(flow.peak_bytes_per_s, 1), gbps(flow.limit_bytes_per_s, 1));
    format!("{rate:>8} {peak:>5} {limit:>5}")
}

/// The whole table.
pub fn text(rows: &[Row]) -> String {
    if rows.is_empty() {
        return format!("{NOBODY}\n");
    }
    let lines = rows.iter().flat_map(lines);
    std::iter::once(heading()).chain(lines).map(|line| line + "\n").collect()
}

/// The text in the place of rows.
pub const NOBODY: &str = "no process of yours copies under the drop-in now; start one by `overtake run -- PROGRAM`";

#[cfg(test)]
mod tests {
    use super::*;

    fn row(pid: u32, program: &str, gbps: f64, p99_us: f64, staged_bytes: u64) -> Row {
        let h2d =
            Flow { bytes_per_s: Some(gbps * 1e9), peak_bytes_per_s: Some(60e9), limit_bytes_per_s: Some(63.02e9) };
        Row {
            pid,
            program: program.to_owned(),
            gpu: 0,
            device: String::new(),
            state: "stood down".to_owned(),
            silent_s: None,
            h2d,
            d2h: Flow::default(),
            urgent_per_s: Some(12_345.6),
            p50_us: Some(14.2),
            p99_us: Some(p99_us),
            ways: Some([("urgent", 0.25), ("kernel", 0.75)].into()),
            staged_bytes,
            stand_downs: 2,
        }
    }

    #[test]
    fn a_row_fits_into_eighty_columns_and_stands_below_its_heading() {
        let lines = lines(&row(1_234_567, "a-program-with-a-long-name", 54.321, 9_999.0, 123_456_789_000));
        let heading = heading();
        assert!(lines.iter().chain([&heading]).all(|line| line.chars().count() <= 80), "{lines:#?}");
        for (title, value) in [("GB/s", "54.32"), ("peak", "60.0"), ("limit", "63.0"), ("STATE", "stood down")] {
            let (title_at, value_at) = (heading.find(title).unwrap(), lines[0].find(value).unwrap());
            let ends_alike = title_at + title.len() == value_at + value.len();
            assert!(ends_alike || title_at == value_at, "{title}\n{heading}\n{}", lines[0]);
        }
        assert!(lines[0].ends_with("      -     -     -"), "{}", lines[0]);
        assert!(lines[2].ends_with("urgent 25 %, kernel 75 %, engine 0 %, staged 0 %, native 0 %"), "{}", lines[2]);
    }

    #[test]
    fn each_order_puts_its_own_first_and_all_come_round() {
        let rows = [row(3, "c", 1.0, 9.0, 0), row(2, "a", 9.0, 5.0, 2), row(1, "b", 5.0, 1.0, 9)];
        let mut order = Order::default();
        for (name, first) in [("traffic", 2), ("p99", 3), ("staged", 1), ("program", 2), ("pid", 1)] {
            let mut sorted = rows.clone();
            order.sort(&mut sorted);
            assert_eq!((order.name(), sorted[0].pid), (name, first));
            order = order.next();
        }
        assert_eq!(order, Order::default());
    }
}
