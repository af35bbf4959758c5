//! Noun clauses for things in comments and pages, such as "what waits". A waiting copy, a thread or a file has a noun
//! of its own, which tells a reader more. Questions may begin with such a word.

/// The words that begin such a clause.
const WORDS: [&str; 4] = ["what", "whatever", "whichever", "who"];

/// Every such word in the prose of a file, with its line.
pub fn found(name: &str, text: &str) -> Vec<(usize, String)> {
    let mut prose = Prose::of(name);
    let in_line = |(index, line): (usize, &str)| {
        let told =
            |word: &str| (index + 1, format!("`{word}`: say the noun, such as the copy, the thread or the caller"));
        let plain = prose.of_line(line).filter(|plain| !plain.contains('?'));
        plain.map(|plain| clauses(&plain).map(told).collect::<Vec<_>>()).unwrap_or_default()
    };
    text.lines().enumerate().flat_map(in_line).collect()
}

/// The words of a clause in a line of prose. `what()` and `what_is_new` are names.
fn clauses(plain: &str) -> impl Iterator<Item = &str> {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || "_(-".contains(letter);
    plain.split(move |letter| !is_part(letter)).filter(|word| WORDS.contains(&word.to_ascii_lowercase().as_str()))
}

/// The way in which a kind of file marks prose.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// All of it is.
    Page,
    /// The text after this mark.
    Code(&'static str),
}

/// Finds the prose of a file, line by line.
struct Prose {
    kind: Kind,
    /// Whether the line is in an example between fences, also inside a comment.
    is_fenced: bool,
    /// Whether the line is in a comment of several lines.
    is_block: bool,
}

impl Prose {
    fn of(name: &str) -> Prose {
        let kind = match name.rsplit_once('.').map_or("", |(_, extension)| extension) {
            "md" => Kind::Page,
            "rs" | "c" | "h" | "cu" | "hpp" => Kind::Code("//"),
            _ => Kind::Code("#"),
        };
        Prose { kind, is_fenced: false, is_block: false }
    }

    /// The prose of the next line, without code and quotations.
    fn of_line(&mut self, line: &str) -> Option<String> {
        let text = match self.kind {
            Kind::Page => Some(line),
            Kind::Code(mark) => self.comment(line, mark),
        }?;
        let text = text.trim_start_matches(['/', '!', '*', '#']).trim_start();
        if text.starts_with("```") {
            self.is_fenced = !self.is_fenced;
            return None;
        }
        (!self.is_fenced).then(|| unquoted(text))
    }

    /// The comment of a line, if it has one.
    fn comment<'a>(&mut self, line: &'a str, mark: &str) -> Option<&'a str> {
        if mark == "//" && (self.is_block || line.contains("/*")) {
            let start = if self.is_block { 0 } else { outside_strings(line, "/*")? };
            let end = line[start..].find("*/");
            self.is_block = end.is_none();
            return Some(&line[start..end.map_or(line.len(), |end| start + end)]);
        }
        outside_strings(line, mark).map(|at| &line[at..])
    }
}

/// The place of a mark at the start of a line or behind a blank, unless it is inside a string.
fn outside_strings(line: &str, mark: &str) -> Option<usize> {
    let is_outside = |at: &usize| {
        let before = &line[..*at];
        let quotes = before.matches('"').count() - before.matches("\\\"").count();
        quotes.is_multiple_of(2) && before.chars().next_back().is_none_or(char::is_whitespace)
    };
    line.match_indices(mark).map(|(at, _)| at).find(is_outside)
}

/// A text without the parts between backticks or quotation marks.
fn unquoted(text: &str) -> String {
    text.split(['`', '"']).step_by(2).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(name: &str, text: &str) -> Vec<usize> {
        found(name, text).into_iter().map(|(line, _)| line).collect()
    }

    #[test]
    fn clauses_are_found_in_comments_and_pages() {
        for word in WORDS {
            assert_eq!(lines("a.rs", &format!("/// A list\n/// of {word} waits.\nfn a() {{}}\n")), [2], "{word}");
            assert_eq!(lines("a.rs", &format!("let a = 3; // {word} waits\n")), [1], "{word}");
            assert_eq!(lines("a.c", &format!("/* The copy and\n * {word} waits. */\nint {word};\n")), [2], "{word}");
            assert_eq!(lines("a.sh", &format!("# {word} waits\n")), [1], "{word}");
            assert_eq!(lines("a.md", &format!("The copy and {word} waits.\n")), [1], "{word}");
        }
        assert_eq!(lines("a.rs", "//! What waits.\n"), [1]);
    }

    #[test]
    fn names_questions_quotations_and_code_are_none() {
        for (name, text) in [
            ("a.rs", "let what = ask(\"what \\\"this\\\" // what\");\n"),
            ("a.rs", "/// Prints `what`, says \"what waits\", and calls what() of what_is_new.\n"),
            ("a.rs", "/// ```\n/// let what = 3;\n/// ```\n"),
            ("a.md", "# What does it pay?\n\n```sh\nwhat waits\n```\n"),
            ("a.c", "puts(\"/* what waits */\"); /* the copy */ const char *what;\n"),
            ("a.toml", "what = \"A copy # what\"\n"),
            ("a.rs", "let url = \"https://who.example\";\n"),
        ] {
            assert_eq!(found(name, text), [], "{text}");
        }
    }
}
