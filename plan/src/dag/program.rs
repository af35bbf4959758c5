//! Programs: computations in order, with the arrays that they use.

use std::ops::Range;

use graph::{Mode, Stretch};
use priority::Priority;

/// An array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Array {
    /// Its name.
    pub name: String,
    /// Its size.
    pub bytes: u64,
}

/// One argument of a computation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument {
    /// The number of the array.
    pub array: usize,
    /// The bytes that are used.
    pub range: Range<u64>,
    /// How they are used.
    pub mode: Mode,
}

/// A computation of a device, or an access of the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Computation {
    /// The name, or nothing.
    pub label: String,
    /// The line of the text, from 1 up.
    pub line: usize,
    /// The host does it, and waits for it.
    pub is_host: bool,
    /// Its own priority. Those that it comes after inherit it.
    pub priority: Priority,
    /// Its arguments, in their order.
    pub arguments: Vec<Argument>,
    /// The innermost section that it is in, by number.
    pub section: Option<usize>,
}

impl Computation {
    /// Its arguments as bytes of arrays.
    pub(super) fn stretches(&self) -> Vec<Stretch> {
        self.arguments.iter().map(|one| (one.array, one.range.clone(), one.mode)).collect()
    }
}

/// A section: computations that a picture may have as one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Its name.
    pub name: String,
    /// The section around it, by number.
    pub parent: Option<usize>,
}

/// A program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// Its name, or nothing.
    pub name: String,
    /// Its arrays.
    pub arrays: Vec<Array>,
    /// Its computations, in their order.
    pub computations: Vec<Computation>,
    /// Its sections, in the order of their beginnings.
    pub sections: Vec<Section>,
}

impl Program {
    /// The sections around a computation, the outermost first.
    #[must_use]
    pub fn sections_around(&self, computation: usize) -> Vec<usize> {
        let first = self.computations[computation].section;
        let mut around: Vec<usize> = std::iter::successors(first, |section| self.sections[*section].parent).collect();
        around.reverse();
        around
    }

    /// The arguments of a computation as the text has them.
    #[must_use]
    pub fn arguments(&self, computation: usize) -> String {
        let computation = &self.computations[computation];
        let argument = |argument: &Argument| {
            let Array { name, bytes } = &self.arrays[argument.array];
            let mode = match argument.mode {
                Mode::Read => " const",
                Mode::Write | Mode::ReadWrite => "",
                Mode::Discard => " discard",
                Mode::Reduce => " reduce",
                Mode::Relaxed => " relaxed",
            };
            if argument.range == (0..*bytes) {
                format!("{name}{mode}")
            } else {
                format!("{name}[{}..{}]{mode}", argument.range.start, argument.range.end)
            }
        };
        let all: Vec<String> = computation.arguments.iter().map(argument).collect();
        match (computation.is_host, &all[..]) {
            (true, [one]) => format!("!{one}"),
            (is_host, all) => format!("{}({})", if is_host { "!" } else { "" }, all.join(", ")),
        }
    }
}
