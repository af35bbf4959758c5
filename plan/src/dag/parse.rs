//! Reads the text of a program. `docs/plan.md` describes the format.

use std::collections::HashMap;

use graph::Mode;
use priority::{Priorities, Priority};

use super::fault::Fault;
use super::program::{Argument, Array, Computation, Program, Section};
use super::words::{Word, is_name, words};

/// The most computations of a program, with all repetitions.
const COMPUTATIONS_MAX: usize = 1_000_000;
/// The most blocks in each other.
const DEPTH_MAX: usize = 16;

const MODES: [(&str, Mode); 6] = [
    ("const", Mode::Read),
    ("read", Mode::Read),
    ("write", Mode::Write),
    ("discard", Mode::Discard),
    ("reduce", Mode::Reduce),
    ("relaxed", Mode::Relaxed),
];

/// An argument before sizes are known.
struct Raw<'a> {
    array: usize,
    /// The ends of its range, if it has one.
    range: Option<(&'a str, &'a str)>,
    mode: Mode,
    line: usize,
}

struct Parser<'a> {
    words: Vec<Word<'a>>,
    at: usize,
    program: Program,
    arrays: HashMap<String, usize>,
    arguments: Vec<Vec<Raw<'a>>>,
    sizes: HashMap<String, u64>,
    size: u64,
    /// The variables of the blocks around, and their values.
    variables: Vec<(&'a str, u64)>,
    depth: usize,
    /// The innermost section around.
    section: Option<usize>,
}

impl Program {
    /// Reads a text.
    ///
    /// # Errors
    ///
    /// The first fault.
    pub fn parse(text: &str) -> Result<Program, Fault> {
        let mut parser = Parser {
            words: words(text)?,
            at: 0,
            program: Program::default(),
            arrays: HashMap::new(),
            arguments: Vec::new(),
            sizes: HashMap::new(),
            size: 1,
            variables: Vec::new(),
            depth: 0,
            section: None,
        };
        if let [name, colon, ..] = &parser.words[..]
            && is_name(name.text)
            && colon.text == ":"
        {
            parser.program.name = name.text.to_owned();
            parser.at = 2;
        }
        parser.block()?;
        match parser.peek() {
            Some(_) => Err(parser.fault("a block ends here that has not begun: take the } away")),
            None => parser.finish(),
        }
    }
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<&'a str> {
        self.words.get(self.at).map(|word| word.text)
    }

    fn line(&self) -> usize {
        self.words.get(self.at).or(self.words.last()).map_or(1, |word| word.line)
    }

    fn fault(&self, message: impl Into<String>) -> Fault {
        Fault { line: self.line(), message: message.into() }
    }

    fn next_is(&mut self, mark: &str) -> bool {
        let is_next = self.peek() == Some(mark);
        self.at += usize::from(is_next);
        is_next
    }

    fn expect(&mut self, mark: &str, cure: &str) -> Result<(), Fault> {
        if self.next_is(mark) {
            return Ok(());
        }
        let found = self.peek().map_or("the end".to_owned(), |word| format!("\"{word}\""));
        Err(self.fault(format!("{found} stands where {mark} has to: {cure}")))
    }

    fn name(&mut self, cure: &str) -> Result<&'a str, Fault> {
        match self.peek().filter(|word| is_name(word)) {
            Some(word) => {
                self.at += 1;
                Ok(word)
            }
            None => Err(self.fault(format!("a name is missing: {cure}"))),
        }
    }

    fn number(&mut self, cure: &str) -> Result<u64, Fault> {
        let number = self.peek().and_then(number);
        let number = number.ok_or_else(|| self.fault(format!("a number is missing: {cure}")))?;
        self.at += 1;
        Ok(number)
    }

    /// Everything up to the end of the block.
    fn block(&mut self) -> Result<(), Fault> {
        while let Some(word) = self.peek().filter(|word| *word != "}") {
            match word {
                "size" => self.sizes()?,
                "repeat" => self.repeat()?,
                "section" if self.words.get(self.at + 1).is_some_and(|word| word.text != "(") => self.section()?,
                _ => self.computation()?,
            }
        }
        Ok(())
    }

    fn sizes(&mut self) -> Result<(), Fault> {
        const CURE: &str = "write size BYTES, or size NAME=BYTES ...";
        self.at += 1;
        let is_of_name = |parser: &Parser<'a>| parser.words.get(parser.at + 1).is_some_and(|word| word.text == "=");
        if !is_of_name(self) {
            self.size = self.number(CURE)?;
        }
        while is_of_name(self) {
            let name = self.name(CURE)?;
            self.at += 1;
            let bytes = self.number(CURE)?;
            self.sizes.insert(name.to_owned(), bytes);
        }
        Ok(())
    }

    fn repeat(&mut self) -> Result<(), Fault> {
        const CURE: &str = "write repeat COUNT { ... }, or repeat COUNT NAME { ... }";
        self.at += 1;
        let count = self.number(CURE)?;
        let variable = if self.peek() == Some("{") { "" } else { self.name(CURE)? };
        self.expect("{", CURE)?;
        self.enter()?;
        let first = self.at;
        for value in 0..count.max(1) {
            let before = (self.program.computations.len(), self.program.sections.len());
            self.at = first;
            self.variables.push((variable, value));
            self.block()?;
            self.variables.pop();
            if count == 0 {
                self.program.computations.truncate(before.0);
                self.arguments.truncate(before.0);
                self.program.sections.truncate(before.1);
            } else if self.program.computations.len() == before.0 {
                break;
            }
        }
        self.depth -= 1;
        self.expect("}", "end the block that repeat has begun")
    }

    /// A block begins.
    fn enter(&mut self) -> Result<(), Fault> {
        if self.depth == DEPTH_MAX {
            return Err(self.fault("there are more than 16 blocks in each other: write some of them out"));
        }
        self.depth += 1;
        Ok(())
    }

    fn section(&mut self) -> Result<(), Fault> {
        const CURE: &str = "write section NAME { ... }";
        self.at += 1;
        let name = self.name(CURE)?;
        self.expect("{", CURE)?;
        self.enter()?;
        let (name, parent) = (self.replaced(name), self.section);
        self.section = Some(self.program.sections.len());
        self.program.sections.push(Section { name, parent });
        self.block()?;
        (self.section, self.depth) = (parent, self.depth - 1);
        self.expect("}", "end the block that section has begun")
    }

    fn computation(&mut self) -> Result<(), Fault> {
        const CURE: &str = "write (NAME MODE, ...), LABEL(NAME MODE, ...), !NAME or !(NAME, ...)";
        let line = self.line();
        let is_host = self.next_is("!");
        let label = match self.peek() {
            Some(word) if is_name(word) && !is_host => self.name(CURE)?,
            _ => "",
        };
        let mut arguments = Vec::new();
        if is_host && self.peek() != Some("(") {
            arguments.push(self.argument(CURE)?);
        } else {
            self.expect("(", CURE)?;
            while self.peek() != Some(")") {
                arguments.push(self.argument(CURE)?);
                if !self.next_is(",") {
                    break;
                }
            }
            self.expect(")", CURE)?;
        }
        if self.program.computations.len() == COMPUTATIONS_MAX {
            return Err(self.fault("there are more than 1000000 computations: repeat less"));
        }
        let label = self.replaced(label);
        let priority = self.priority()?;
        let (section, none) = (self.section, Vec::new());
        self.program.computations.push(Computation { label, line, is_host, priority, arguments: none, section });
        self.arguments.push(arguments);
        Ok(())
    }

    /// The priority behind a computation, if it has one. A label may be called so too.
    fn priority(&mut self) -> Result<Priority, Fault> {
        let next = self.words.get(self.at + 1).map(|word| word.text);
        if self.peek() != Some("priority") || next == Some("(") {
            return Ok(Priority::LOWEST);
        }
        self.at += 1;
        let number = self.peek().and_then(|word| word.parse().ok()).filter(|number| *number <= Priorities::MAX);
        let fault = || self.fault("a priority is missing: write priority NUMBER, from 1 up to 32, the most urgent");
        let priority = number.and_then(Priority::new).ok_or_else(fault)?;
        self.at += 1;
        Ok(priority)
    }

    fn argument(&mut self, cure: &str) -> Result<Raw<'a>, Fault> {
        let line = self.line();
        let name = self.name(cure)?;
        let name = self.replaced(name);
        let mut range = None;
        if self.next_is("[") {
            let ends = self.name("write NAME[FIRST..END]")?.split_once("..");
            range = Some(ends.ok_or_else(|| self.fault("a range has two ends: write NAME[FIRST..END]"))?);
            self.expect("]", "write NAME[FIRST..END]")?;
        }
        let mode = match self.peek().filter(|word| is_name(word)) {
            // After the only argument of an access of the host a label may stand.
            Some(word) => match MODES.iter().find(|(name, _)| *name == word) {
                Some((_, mode)) => {
                    self.at += 1;
                    *mode
                }
                None if self.is_in_list() => {
                    let modes = MODES.map(|(name, _)| name).join(", ");
                    return Err(self.fault(format!("there is no mode \"{word}\": write one of {modes}")));
                }
                None => Mode::Write,
            },
            None => Mode::Write,
        };
        let next = self.program.arrays.len();
        let array = *self.arrays.entry(name.clone()).or_insert(next);
        if array == next {
            self.program.arrays.push(Array { name, bytes: 0 });
        }
        Ok(Raw { array, range, mode, line })
    }

    /// Whether the word at hand stands in a list of arguments.
    fn is_in_list(&self) -> bool {
        self.words[self.at..]
            .iter()
            .find(|word| ["(", ")", "!", "{", "}"].contains(&word.text))
            .is_some_and(|word| word.text == ")")
    }

    /// The name, with the values of variables in place of its parts.
    fn replaced(&self, name: &str) -> String {
        let value = |part: &str| self.variables.iter().rev().find(|(variable, _)| *variable == part);
        let part = |part: &str| value(part).map_or(part.to_owned(), |(_, value)| value.to_string());
        name.split('.').map(part).collect::<Vec<_>>().join(".")
    }

    /// Puts the sizes in, which may stand anywhere.
    fn finish(mut self) -> Result<Program, Fault> {
        for array in &mut self.program.arrays {
            let family = array.name.split('.').next().unwrap_or_default();
            let bytes = self.sizes.get(&array.name).or_else(|| self.sizes.get(family));
            array.bytes = *bytes.unwrap_or(&self.size);
        }
        for (computation, arguments) in self.program.computations.iter_mut().zip(self.arguments) {
            for raw in arguments {
                let Array { name, bytes } = &self.program.arrays[raw.array];
                let range = match raw.range {
                    None => Some(0..*bytes),
                    Some((first, end)) => number(first).zip(number(end)).map(|(first, end)| first..end),
                };
                let range = range.filter(|range| range.start <= range.end && range.end <= *bytes);
                let fault =
                    || format!("the range is none of {name}, which has {bytes} bytes: write [FIRST..END] in them");
                let range = range.ok_or_else(|| Fault { line: raw.line, message: fault() })?;
                computation.arguments.push(Argument { array: raw.array, range, mode: raw.mode });
            }
        }
        Ok(self.program)
    }
}

/// A number, with K, M or G for powers of 1024.
fn number(word: &str) -> Option<u64> {
    let shift = match word.chars().last()? {
        'K' => 10,
        'M' => 20,
        'G' => 30,
        _ => 0,
    };
    let digits = if shift == 0 { word } else { &word[..word.len() - 1] };
    let number: u64 = digits.parse().ok()?;
    number.checked_mul(1 << shift).filter(|number| *number < 1 << 60)
}
