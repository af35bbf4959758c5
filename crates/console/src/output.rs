//! Files and standard output.

use std::fmt::Display;
use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;

use crate::failure::{Failure, Result};

/// Writes a file, in the place of one that is there.
pub fn write_file(path: &Path, contents: &str) -> Result<()> {
    let written = os::file::create(path).and_then(|mut file| file.write_all(contents.as_bytes()));
    written.map_err(|error| Failure::File(path.to_owned(), error))
}

/// Prints JSON to standard output.
pub fn print_json(value: &impl Serialize) -> Result<()> {
    let json = serde_json::to_string_pretty(value)
        .map_err(|error| Failure::Other(format!("it does not serialise: {error}; please report this bug")))?;
    print(&(json + "\n"))
}

/// Writes to standard error. If that is closed or full the command goes on: its result does not depend on a reader.
pub fn say(text: impl Display) {
    let _unheard = writeln!(io::stderr().lock(), "{}", harmless(&text.to_string()));
}

/// A text without the characters that command a terminal: it may quote a file of another's.
fn harmless(text: &str) -> String {
    let commands = |letter: char| letter.is_control() && letter != '\n' && letter != '\t';
    text.chars().map(|letter| if commands(letter) { char::REPLACEMENT_CHARACTER } else { letter }).collect()
}

/// Draws over the line of standard error where the cursor is. Standard error must be a terminal.
pub fn redraw(line: &str) {
    let mut terminal = io::stderr().lock();
    let _unheard = write!(terminal, "\r\x1b[K{line}").and_then(|()| terminal.flush());
}

/// As [`say`], with the command's name before the text.
pub fn complain(text: impl Display) {
    say(format_args!("overtake: {text}"));
}

/// Prints to standard output. A reader that has ended (`| head`) is no error.
pub fn print(text: &str) -> Result<()> {
    let mut output = io::stdout().lock();
    match output.write_all(text.as_bytes()).and_then(|()| output.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::Output(error)),
        _ => Ok(()),
    }
}
