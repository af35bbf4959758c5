//! A mistake in a text that a person has written, with its position.

use std::fmt;
use std::ops::Range;

/// Longer lines are shown in part.
const EXCERPT_CHARACTERS: usize = 100;

/// A text and its name.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The name of the text, mostly a path.
    pub origin: &'a str,
    /// The whole text.
    pub text: &'a str,
}

/// A mistake in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The name of the text, mostly a path.
    pub origin: String,
    /// The place; `None` where the mistake concerns the whole text.
    pub place: Option<Place>,
    /// The mistake and its correction.
    pub message: String,
}

/// A place in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1, in characters.
    pub column: usize,
    excerpt: String,
    /// The marked part of the excerpt: how many characters stand before it, and how many it has.
    marked: (usize, usize),
}

/// Sorts mistakes by their place in the text.
pub fn sort(faults: &mut [Fault]) {
    faults.sort_by_key(|fault| fault.place.as_ref().map(|place| (place.line, place.column)));
}

impl Source<'_> {
    /// A mistake at these bytes of the text.
    #[must_use]
    pub fn fault(&self, bytes: Range<usize>, message: impl Into<String>) -> Fault {
        Fault { place: Some(self.place(bytes)), ..self.fault_of_all(message) }
    }

    /// A mistake that has no particular place in the text.
    #[must_use]
    pub fn fault_of_all(&self, message: impl Into<String>) -> Fault {
        Fault { origin: self.origin.to_owned(), place: None, message: message.into() }
    }

    fn place(&self, bytes: Range<usize>) -> Place {
        let start = (0..=bytes.start.min(self.text.len())).rev().find(|at| self.text.is_char_boundary(*at));
        let (before, after) = self.text.split_at(start.unwrap_or(0));
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let line = self.text[line_start..].lines().next().unwrap_or_default();
        let column = before[line_start..].chars().count();
        let meant = after.get(..bytes.len()).unwrap_or(after).lines().next().unwrap_or_default().chars().count();
        // A long line is shown from a little before the marked part.
        let hidden = column.saturating_sub(EXCERPT_CHARACTERS / 2);
        let shown = line.chars().skip(hidden).take(EXCERPT_CHARACTERS);
        let excerpt: String = shown.map(|c| if c.is_control() { ' ' } else { c }).collect();
        let room = excerpt.chars().count().saturating_sub(column - hidden);
        let marked = (column - hidden, meant.min(room).max(1));
        Place { line: before.matches('\n').count() + 1, column: column + 1, excerpt, marked }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(place) = &self.place else { return write!(f, "{}: {}", self.origin, self.message) };
        let (Place { line, column, excerpt, .. }, (before, meant)) = (place, place.marked);
        writeln!(f, "{}:{line}:{column}: {}", self.origin, self.message)?;
        writeln!(f, "  {line} | {excerpt}")?;
        let margin = line.to_string().len();
        write!(f, "  {:margin$} | {:before$}{}", "", "", "^".repeat(meant))
    }
}

impl std::error::Error for Fault {}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, bytes: Range<usize>) -> String {
        Source { origin: "rules.toml", text }.fault(bytes, "no").to_string()
    }

    #[test]
    fn a_fault_is_shown_where_it_is() {
        let text = "a = 1\nbc = \"ä\" # d\n";
        assert_eq!(shown(text, 6..8), "rules.toml:2:1: no\n  2 | bc = \"ä\" # d\n    | ^^");
        assert_eq!(shown(text, 11..15), "rules.toml:2:6: no\n  2 | bc = \"ä\" # d\n    |      ^^^");
        assert_eq!(shown(text, 0..12), "rules.toml:1:1: no\n  1 | a = 1\n    | ^^^^^");
        assert_eq!(Source { origin: "x", text }.fault_of_all("bad").to_string(), "x: bad");
    }

    #[test]
    fn no_place_is_out_of_reach() {
        for (text, bytes) in [("", 0..0), ("a", 1..1), ("a\n", 2..9), ("a", 7..9), ("ä", 1..2), ("\u{7}\t", 0..2)] {
            assert!(shown(text, bytes.clone()).ends_with('^'), "{text:?} {bytes:?}");
        }
        let long = format!("{}x = 1", " ".repeat(5000));
        let text = shown(&long, 5000..5001);
        assert!(text.starts_with("rules.toml:1:5001: no") && text.len() < 300, "{text}");
    }
}
