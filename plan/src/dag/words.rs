//! The words of a program's text.

use super::fault::Fault;

/// A word, and its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word<'a> {
    pub text: &'a str,
    pub line: usize,
}

const MARKS: &str = "(){}[],:!=";

/// All words: names, and marks of one character. A `#` begins a comment.
pub(crate) fn words(text: &str) -> Result<Vec<Word<'_>>, Fault> {
    let mut words = Vec::new();
    for (line, code) in (1..).zip(text.lines()) {
        let mut rest = code.split('#').next().unwrap_or_default().trim_start();
        while let Some(first) = rest.chars().next() {
            let length = match first {
                mark if MARKS.contains(mark) => mark.len_utf8(),
                _ => rest.find(|other: char| !is_of_name(other)).unwrap_or(rest.len()),
            };
            if length == 0 {
                let cure = format!("write names of letters, digits, _ and ., and the marks {MARKS}");
                return Err(Fault { line, message: format!("\"{first}\" has no meaning: {cure}") });
            }
            words.push(Word { text: &rest[..length], line });
            rest = rest[length..].trim_start();
        }
    }
    Ok(words)
}

fn is_of_name(other: char) -> bool {
    other.is_alphanumeric() || other == '_' || other == '.'
}

/// Whether the word is a name.
pub(crate) fn is_name(word: &str) -> bool {
    word.chars().next().is_some_and(is_of_name)
}
