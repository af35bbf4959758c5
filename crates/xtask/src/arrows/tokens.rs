//! Rust source as words and marks, without comments.

/// The kind of a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenKind {
    /// An identifier, a keyword or a number.
    Word(String),
    /// The contents of a string literal.
    Text(String),
    Mark(char),
}

/// A token and its line, from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    pub kind: TokenKind,
    pub line: usize,
}

impl Token {
    pub fn word(&self) -> Option<&str> {
        match &self.kind {
            TokenKind::Word(word) => Some(word),
            _ => None,
        }
    }

    pub fn is(&self, mark: char) -> bool {
        self.kind == TokenKind::Mark(mark)
    }
}

/// The tokens of a source. Lifetimes are left out, and `::` is one mark: `:` has no other use here.
pub fn tokens(source: &str) -> Vec<Token> {
    let mut reader = Reader { rest: source, line: 1, found: Vec::new() };
    while reader.step() {}
    reader.found
}

struct Reader<'a> {
    rest: &'a str,
    line: usize,
    found: Vec<Token>,
}

impl Reader<'_> {
    /// Reads one token, or the space between two.
    fn step(&mut self) -> bool {
        let Some(letter) = self.rest.chars().next() else { return false };
        let rest = self.rest;
        if rest.starts_with("//") {
            self.skip(rest.find('\n').unwrap_or(rest.len()));
        } else if rest.starts_with("/*") {
            self.skip(comment(rest));
        } else if let Some(literal) = Literal::at(rest) {
            let text = rest[literal.begin..literal.end].to_owned();
            self.push(TokenKind::Text(text), literal.length);
        } else if letter == '\'' {
            self.skip(quoted(rest));
        } else if is_of_word(letter) {
            let length = rest.find(|letter| !is_of_word(letter)).unwrap_or(rest.len());
            self.push(TokenKind::Word(rest[..length].to_owned()), length);
        } else if rest.starts_with("::") {
            self.push(TokenKind::Mark(':'), 2);
        } else if letter.is_whitespace() || letter == ':' {
            self.skip(letter.len_utf8());
        } else {
            self.push(TokenKind::Mark(letter), letter.len_utf8());
        }
        true
    }

    fn push(&mut self, kind: TokenKind, length: usize) {
        self.found.push(Token { kind, line: self.line });
        self.skip(length);
    }

    fn skip(&mut self, length: usize) {
        let (skipped, rest) = self.rest.split_at(length);
        self.line += skipped.matches('\n').count();
        self.rest = rest;
    }
}

/// The length of a comment with bars, which may hold others.
fn comment(rest: &str) -> usize {
    let (mut at, mut depth) = (0, 0);
    loop {
        match rest.as_bytes().get(at..at + 2) {
            Some(b"/*") => (at, depth) = (at + 2, depth + 1),
            Some(b"*/") if depth == 1 => return at + 2,
            Some(b"*/") => (at, depth) = (at + 2, depth - 1),
            Some(_) => at += 1,
            None => return rest.len(),
        }
    }
}

/// The length of a character, or of a lifetime.
fn quoted(rest: &str) -> usize {
    let mut letters = rest.char_indices().skip(1);
    let Some((_, first)) = letters.next() else { return rest.len() };
    if first == '\\' {
        // The escaped character may be the quote itself.
        let begin = letters.nth(1).map_or(rest.len(), |(at, _)| at);
        return rest[begin..].find('\'').map_or(rest.len(), |at| begin + at + 1);
    }
    match letters.next() {
        Some((at, '\'')) => at + 1,
        _ => 1 + rest[1..].find(|letter| !is_of_word(letter)).unwrap_or(rest.len() - 1),
    }
}

fn is_of_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// A string: the beginning and end of its text, and its length with the quotes.
struct Literal {
    begin: usize,
    end: usize,
    length: usize,
}

impl Literal {
    fn at(rest: &str) -> Option<Literal> {
        ["br", "cr", "r", "b", "c", ""].iter().find_map(|prefix| {
            let after = rest.strip_prefix(prefix)?;
            let is_raw = prefix.ends_with('r');
            let marks = if is_raw { after.len() - after.trim_start_matches('#').len() } else { 0 };
            let text = after[marks..].strip_prefix('"')?;
            let close = format!("\"{}", "#".repeat(marks));
            let size = if is_raw { text.find(&close)? } else { closing_quote(text)? };
            let begin = prefix.len() + marks + 1;
            Some(Literal { begin, end: begin + size, length: begin + size + close.len() })
        })
    }
}

/// The end of a string in which a backslash changes the meaning of the next letter.
fn closing_quote(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    text.bytes().position(|byte| {
        let closes = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        closes
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(source: &str) -> Vec<String> {
        tokens(source).iter().filter_map(Token::word).map(str::to_owned).collect()
    }

    #[test]
    fn comments_strings_characters_and_lifetimes_hide_nothing_and_show_nothing() {
        let source = "a /* x /* y */ z */ b // c\n\"d \\\" e\" f br#\"g \" h\"# i '\"' j '\\'' k &'l m 'n' o";
        assert_eq!(words(source), ["a", "b", "f", "i", "j", "k", "m", "o"]);
    }

    #[test]
    fn a_path_is_words_between_double_colons() {
        let found = tokens("let a: b::c = r\"d\";");
        let kinds: Vec<TokenKind> = found.into_iter().map(|token| token.kind).collect();
        let word = |text: &str| TokenKind::Word(text.to_owned());
        let path = [word("b"), TokenKind::Mark(':'), word("c")];
        assert_eq!(kinds[..2], [word("let"), word("a")]);
        assert_eq!(kinds[2..5], path);
        assert_eq!(kinds[6], TokenKind::Text("d".to_owned()));
    }

    #[test]
    fn lines_are_counted_through_everything() {
        let found = tokens("/* \n */ \"\n\" // x\n a");
        assert_eq!(found.last().map(|token| token.line), Some(4));
    }
}
