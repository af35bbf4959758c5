//! Progress on standard error: a bar in a terminal, lines elsewhere.

use std::io::{IsTerminal, stderr};
use std::time::{Duration, Instant};

use crate::output;

/// A command that takes no longer than this says nothing of its progress in lines.
const MOMENT: Duration = Duration::from_secs(2);
/// Cells of the bar.
const CELLS: usize = 10;
/// A longer line would wrap in a terminal of the usual width, where it could not be drawn over.
const COLUMNS: usize = 79;

/// The display of progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    Nothing,
    Bar,
    /// `true`: from the first step on, and not only when the command has taken a moment.
    Lines(bool),
}

/// Shows which of the command's steps runs. It reads real time even if the device's time is virtual: a person waits.
pub struct Progress {
    start: Instant,
    steps: usize,
    begun: usize,
    style: Style,
}

impl Progress {
    /// Nothing is shown before the first [`Progress::step`]. `is_long`: the steps are known to take a while, so the
    /// first ones get lines too.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "the time of the person at the terminal")]
    pub fn new(is_quiet: bool, is_long: bool, steps: usize) -> Progress {
        let is_dumb = std::env::var_os("TERM").is_none_or(|terminal| terminal == "dumb");
        let style = match is_quiet {
            true => Style::Nothing,
            false if stderr().is_terminal() && !is_dumb => Style::Bar,
            false => Style::Lines(is_long),
        };
        Progress { start: Instant::now(), steps, begun: 0, style }
    }

    /// The next step begins.
    pub fn step(&mut self, text: &str) {
        let elapsed = self.start.elapsed();
        match self.style {
            Style::Bar => output::redraw(&bar(self.begun, self.steps, text, elapsed)),
            Style::Lines(is_long) if deserves_lines(is_long, elapsed) => {
                output::say(line(self.begun, self.steps, text));
            }
            Style::Nothing | Style::Lines(_) => {}
        }
        self.begun += 1;
    }
}

/// The bar goes when the work has ended, however it has.
impl Drop for Progress {
    fn drop(&mut self) {
        if self.style == Style::Bar && self.begun > 0 {
            output::redraw("");
        }
    }
}

fn deserves_lines(is_long: bool, elapsed: Duration) -> bool {
    is_long || elapsed > MOMENT
}

/// The line for a reader without a terminal when step `begun` of `steps` begins, counted from 0.
fn line(begun: usize, steps: usize, text: &str) -> String {
    format!("  {} of {steps}: {text}", begun + 1)
}

/// The line of a terminal while step `begun` of `steps` runs, counted from 0.
fn bar(begun: usize, steps: usize, text: &str, elapsed: Duration) -> String {
    let full = CELLS * begun / steps.max(1);
    let (full, empty) = ("#".repeat(full), "-".repeat(CELLS - full));
    let mut line = format!("  [{full}{empty}] {}/{steps} {text}", begun + 1);
    if begun > 0 {
        let left_s = elapsed.as_secs_f64() / begun as f64 * steps.saturating_sub(begun) as f64;
        line += &format!(" ({left_s:.0} s left)");
    }
    line.chars().take(COLUMNS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_names_the_step_and_the_time_of_the_rest() {
        let at = |begun, elapsed_s| bar(begun, 4, "host to device: idle device", Duration::from_secs(elapsed_s));
        assert_eq!(at(0, 0), "  [----------] 1/4 host to device: idle device");
        assert_eq!(at(1, 3), "  [##--------] 2/4 host to device: idle device (9 s left)");
        assert_eq!(at(3, 9), "  [#######---] 4/4 host to device: idle device (3 s left)");
    }

    #[test]
    fn lines_are_for_work_that_takes_a_while() {
        let after = |elapsed| [false, true].map(|is_long| deserves_lines(is_long, elapsed));
        assert_eq!(after(Duration::ZERO), [false, true]);
        assert_eq!(after(MOMENT), [false, true]);
        assert_eq!(after(MOMENT + Duration::from_millis(1)), [true, true]);
        assert_eq!(line(0, 4, "host to device: idle device"), "  1 of 4: host to device: idle device");
    }

    #[test]
    fn a_bar_never_wraps() {
        assert_eq!(bar(2, 3, &"long ".repeat(50), Duration::ZERO).len(), COLUMNS);
    }
}
