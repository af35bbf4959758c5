//! `overtake top`: all processes under the drop-in on this machine.

use std::io::{self, IsTerminal as _};
use std::time::Duration;

use clap::Args;
use console::failure::Result;
use console::output;
use measure::args::seconds;
use serde::Serialize;

use super::files::processes;
use super::flow::{Meter, Row};
use super::table::{self, Order};
use super::terminal::{Key, Terminal};

const AFTER_HELP: &str = "\
Keys: s sorts by the next of traffic, p99, staged bytes, program and pid; p or space pauses; q ends.

H2D, D2H   the rate at which the program submits copies, the highest seen by this command, and what the link can carry
urgent     urgent copies that met others, and their waits from submission to completion, in the last interval
by way     what share of the bytes went ahead as urgent, by copy kernel, by copy engine in chunks, through pinned
           slots, and to the driver unchanged

A process appears when it has created a CUDA context under the drop-in (`overtake run`), unless OVERTAKE_LIVE=off or
OVERTAKE_OBSERVE=only is set. You see your own processes; root sees those of all users.";

/// Arguments of `top`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct TopArguments {
    /// Print one table and end. So it is too where standard input or output is no terminal.
    #[arg(long)]
    pub once: bool,
    /// Print one reading as JSON and end.
    #[arg(long)]
    pub json: bool,
    /// The time between two readings.
    #[arg(long, default_value_t = 1.0, value_parser = seconds, value_name = "SECONDS")]
    pub every: f64,
}

/// One reading, as JSON.
#[derive(Serialize)]
struct Document {
    seconds: f64,
    rows: Vec<Row>,
}

/// Runs the command.
pub fn run(top: &TopArguments) -> Result<()> {
    let is_once = top.once || top.json || !io::stdout().is_terminal();
    match (!is_once).then(Terminal::take).flatten() {
        Some(terminal) => {
            watch(&terminal, top);
            Ok(())
        }
        None => once(top),
    }
}

fn once(top: &TopArguments) -> Result<()> {
    let mut meter = Meter::default();
    let mut rows = meter.rows(&processes());
    // Without any there is nothing to compare.
    if !rows.is_empty() {
        super::pause(Duration::from_secs_f64(top.every));
        rows = meter.rows(&processes());
    }
    Order::default().sort(&mut rows);
    match top.json {
        true => output::print_json(&Document { seconds: top.every, rows }),
        false => output::print(&table::text(&rows)),
    }
}

fn watch(terminal: &Terminal, top: &TopArguments) {
    let (mut meter, mut rows) = (Meter::default(), Vec::new());
    let (mut order, mut is_paused) = (Order::default(), false);
    // A key is answered at once, and brings no new reading.
    let mut is_due = true;
    loop {
        if is_due && !is_paused {
            rows = meter.rows(&processes());
        }
        order.sort(&mut rows);
        terminal.show(&screen(&rows, order, is_paused, top.every), 1);
        let key = terminal.key(Duration::from_secs_f64(top.every));
        is_due = key == Key::Nothing;
        match key {
            Key::Nothing => {}
            Key::Byte(b's') => order = order.next(),
            Key::Byte(b'p' | b' ') => is_paused = !is_paused,
            // Also Ctrl-C and Ctrl-D, which are bytes here.
            Key::Byte(b'q' | 3 | 4) | Key::End => return,
            Key::Byte(_) => {}
        }
    }
}

fn screen(rows: &[Row], order: Order, is_paused: bool, every: f64) -> Vec<String> {
    let processes = rows.iter().map(|row| row.pid).collect::<std::collections::BTreeSet<_>>().len();
    let noun = if processes == 1 { "process" } else { "processes" };
    let state = if is_paused { "paused" } else { "" };
    let head = format!(
        "overtake: {processes} {noun}, each {every} s, by {}  (s sort, p pause, q quit)  {state}",
        order.name()
    );
    let body = match rows {
        [] => vec![table::NOBODY.to_owned()],
        rows => rows.iter().flat_map(table::lines).collect(),
    };
    [head, table::heading()].into_iter().chain(body).collect()
}
