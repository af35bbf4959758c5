//! The declarations of one file: its modules, its imports, and the paths that it uses.

use std::collections::BTreeMap;

use super::tokens::{Token, TokenKind, tokens};

/// A path in its written form: `crate`, `self`, `super` or a name, and more names.
pub type Path = Vec<String>;

/// `use` of one name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Import {
    pub path: Path,
    /// The name that it has here; `None` for all items of a module.
    pub name: Option<String>,
    /// Whether other modules may use it under this name.
    pub is_exported: bool,
    pub line: usize,
}

/// The declarations of a file, or of a module within it.
#[derive(Debug, Default)]
pub struct Source {
    /// Modules in their own files: name, and the path in an attribute.
    pub children: Vec<(String, Option<String>)>,
    /// Modules with their bodies.
    pub inline: Vec<(String, Source)>,
    /// Names that are defined here.
    pub items: Vec<String>,
    pub imports: Vec<Import>,
    /// Paths of two names or more outside `use`, and their lines.
    pub paths: Vec<(Path, usize)>,
    /// The first line on which a word stands outside `use`.
    pub words: BTreeMap<String, usize>,
    /// The whole file is part of the tests.
    pub is_test: bool,
}

/// Words before the name of a definition.
const DEFINING: [&str; 10] =
    ["fn", "struct", "enum", "union", "trait", "type", "const", "static", "macro_rules", "mod"];
/// Words that may come before those.
const BEFORE: [&str; 6] = ["pub", "unsafe", "async", "extern", "const", "default"];

/// Reads a file without its tests.
pub fn read(text: &str) -> Source {
    let tokens = tokens(text);
    let mut reader = Reader { tokens: &tokens, at: 0 };
    reader.module()
}

struct Reader<'a> {
    tokens: &'a [Token],
    at: usize,
}

/// The meaning of the attributes before an item.
#[derive(Default)]
struct Attributes {
    is_test: bool,
    path: Option<String>,
}

impl Reader<'_> {
    /// Reads to the end of the file or of the braces that hold the module.
    fn module(&mut self) -> Source {
        let mut source = Source::default();
        let mut depth = 0;
        while let Some(token) = self.tokens.get(self.at) {
            if token.is('#') {
                self.attributes(&mut source);
                continue;
            }
            match &token.kind {
                TokenKind::Mark('{') => depth += 1,
                TokenKind::Mark('}') if depth == 0 => return source,
                TokenKind::Mark('}') => depth -= 1,
                TokenKind::Word(word) if word == "use" => {
                    let is_exported = self.is_public();
                    self.at += 1;
                    self.imports(&mut Path::new(), is_exported, &mut source);
                    continue;
                }
                TokenKind::Word(word) if word == "mod" && self.word(1).is_some() => {
                    self.declared(&mut source, None);
                    continue;
                }
                TokenKind::Word(word) => {
                    self.path(word.clone(), token.line, depth == 0, &mut source);
                    continue;
                }
                _ => {}
            }
            self.at += 1;
        }
        source
    }

    fn word(&self, ahead: usize) -> Option<&str> {
        self.tokens.get(self.at + ahead).and_then(Token::word)
    }

    fn is(&self, ahead: usize, mark: char) -> bool {
        self.tokens.get(self.at + ahead).is_some_and(|token| token.is(mark))
    }

    /// Whether `pub`, or `pub` with brackets, comes before this token.
    fn is_public(&self) -> bool {
        let before = |back: usize| self.at.checked_sub(back).map(|at| &self.tokens[at]);
        match before(1) {
            Some(token) if token.is(')') => true,
            Some(token) => token.word() == Some("pub"),
            None => false,
        }
    }

    /// Reads attributes, and leaves out the items of tests.
    fn attributes(&mut self, source: &mut Source) {
        let mut found = Attributes::default();
        while self.is(0, '#') {
            let is_inner = self.is(1, '!');
            self.at += if is_inner { 2 } else { 1 };
            let begin = self.at;
            self.group();
            let attribute = &self.tokens[begin..self.at];
            let is_test = is_of_tests(attribute);
            if is_inner {
                source.is_test |= is_test;
            } else {
                found.is_test |= is_test;
                found.path = path_of(attribute).or(found.path);
            }
        }
        if found.is_test {
            self.item();
        } else if let (Some(path), true) = (found.path, self.word(0).is_some()) {
            while self.word(0).is_some_and(|word| word != "mod") || self.is(0, '(') || self.is(0, ')') {
                self.at += 1;
            }
            self.declared(source, Some(path));
        }
    }

    /// `mod name;` or `mod name { … }`.
    fn declared(&mut self, source: &mut Source, path: Option<String>) {
        let Some(name) = self.word(1).map(str::to_owned) else { return self.at += 1 };
        self.at += 2;
        if self.is(0, '{') {
            self.at += 1;
            let inner = self.module();
            self.at += 1;
            source.inline.push((name, inner));
        } else {
            source.children.push((name, path));
        }
    }

    /// Skips from one bracket to the closing one.
    fn group(&mut self) {
        let mut depth = 0;
        while let Some(token) = self.tokens.get(self.at) {
            self.at += 1;
            match token.kind {
                TokenKind::Mark('(' | '[' | '{') => depth += 1,
                TokenKind::Mark(')' | ']' | '}') => depth -= 1,
                _ => {}
            }
            if depth <= 0 {
                return;
            }
        }
    }

    /// Skips the target of an attribute: an item, a field, a variant, a statement.
    fn item(&mut self) {
        let mut ahead = 0;
        while self.word(ahead).is_some_and(|word| BEFORE.contains(&word)) {
            ahead += 1;
            if self.is(ahead, '(') {
                ahead += 3;
            }
        }
        let first = self.word(ahead).unwrap_or_default().to_owned();
        let is_item = DEFINING.contains(&first.as_str()) || ["use", "impl"].contains(&first.as_str());
        while let Some(token) = self.tokens.get(self.at) {
            match token.kind {
                TokenKind::Mark(')' | ']' | '}') => return,
                TokenKind::Mark('{') => {
                    self.group();
                    if first != "use" {
                        return;
                    }
                }
                TokenKind::Mark('(' | '[') => self.group(),
                TokenKind::Mark(';') => return self.at += 1,
                TokenKind::Mark(',') if !is_item => return self.at += 1,
                _ => self.at += 1,
            }
        }
    }

    /// The tree behind `use`, to its end.
    fn imports(&mut self, prefix: &mut Path, is_exported: bool, source: &mut Source) {
        let length = prefix.len();
        while let Some(token) = self.tokens.get(self.at) {
            let line = token.line;
            match &token.kind {
                TokenKind::Mark('{') => {
                    self.at += 1;
                    self.imports(prefix, is_exported, source);
                }
                TokenKind::Mark('*') => {
                    source.imports.push(Import { path: prefix.clone(), name: None, is_exported, line });
                    prefix.truncate(length);
                    self.at += 1;
                }
                TokenKind::Mark(end @ (',' | '}' | ';')) => {
                    self.at += 1;
                    prefix.truncate(length);
                    if *end != ',' {
                        return;
                    }
                }
                TokenKind::Word(word) => {
                    self.at += 1;
                    prefix.push(word.clone());
                    if !self.is(0, ':') {
                        source.imports.push(self.import(prefix, is_exported, line));
                    }
                }
                _ => self.at += 1,
            }
        }
    }

    /// One name at the end of a path, with the name that `as` gives it.
    fn import(&mut self, path: &Path, is_exported: bool, line: usize) -> Import {
        let mut path = path.clone();
        // `a::{self}` is `a`.
        if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
            path.pop();
        }
        let mut name = path.last().cloned();
        if self.word(0) == Some("as") {
            name = self.word(1).map(str::to_owned);
            self.at += 2;
        }
        Import { path, name, is_exported, line }
    }

    /// A word outside `use`: a definition, or the beginning of a path.
    fn path(&mut self, word: String, line: usize, is_outer: bool, source: &mut Source) {
        let defines = DEFINING.contains(&word.as_str());
        let is_field = self.at.checked_sub(1).is_some_and(|at| self.tokens[at].is('.'));
        self.at += 1;
        if defines && is_outer {
            let name = self.word(usize::from(self.is(0, '!')));
            source.items.extend(name.map(str::to_owned));
        }
        let mut path = vec![word];
        while self.is(0, ':') {
            let Some(next) = self.word(1).map(str::to_owned) else { break };
            path.push(next);
            self.at += 2;
        }
        if !is_field {
            source.words.entry(path[0].clone()).or_insert(line);
        }
        if path.len() > 1 {
            source.paths.push((path, line));
        }
    }
}

/// `#[cfg(test)]`, `#[cfg(all(test, …))]` or `#[test]`.
fn is_of_tests(attribute: &[Token]) -> bool {
    let words: Vec<&str> = attribute.iter().filter_map(Token::word).collect();
    matches!(words[..], ["test"] | ["cfg", "test"] | ["cfg", "all", "test", ..])
}

fn path_of(attribute: &[Token]) -> Option<String> {
    let is_path = attribute.iter().find_map(Token::word) == Some("path");
    attribute.iter().filter(|_| is_path).find_map(|token| match &token.kind {
        TokenKind::Text(text) => Some(text.clone()),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn imports(text: &str) -> Vec<(String, Option<String>, bool)> {
        let source = read(text);
        source.imports.into_iter().map(|import| (import.path.join("::"), import.name, import.is_exported)).collect()
    }

    fn import(path: &str, name: &str, is_exported: bool) -> (String, Option<String>, bool) {
        (path.to_owned(), Some(name.to_owned()), is_exported)
    }

    #[test]
    fn a_tree_of_imports_is_one_import_for_each_name() {
        assert_eq!(
            imports("use a::{b::{self, c as d}, e}; pub(crate) use f; pub use super::g; use h::*;"),
            [
                import("a::b", "b", false),
                import("a::b::c", "d", false),
                import("a::e", "e", false),
                import("f", "f", true),
                import("super::g", "g", true),
                ("h".to_owned(), None, false),
            ]
        );
    }

    #[test]
    fn items_of_the_tests_are_left_out() {
        let source = read(
            "#[cfg(test)]\nuse a::{b, c};\nstruct A {\n #[cfg(test)]\n d: e::F,\n g: h::I,\n}\n\
             #[cfg(test)]\nimpl A { fn j() { k::l(); } }\n#[cfg(test)]\nmod tests;\n\
             #[cfg(all(test, not(loom)))]\npub(crate) mod m { use n::o; }\n\
             #[cfg(test)]\nfn p<A, B>() { q::r() }\nmod s;\n",
        );
        assert_eq!(source.imports, []);
        assert_eq!(source.paths, [(vec!["h".to_owned(), "I".to_owned()], 6)]);
        assert_eq!(source.children, [("s".to_owned(), None)]);
        assert!(read("#![cfg(test)]\nuse a::b;").is_test && !read("#![allow(dead_code)]").is_test);
    }

    #[test]
    fn modules_items_and_paths_are_found() {
        let source = read(
            "#[path = \"other.rs\"]\npub(crate) mod a;\nmod b { pub fn c() { d::e(); } }\nmacro_rules! f { () => {} }\n\
             pub const G: usize = 1;\nfn h() { i.j::<K>(); L::m(); }\n",
        );
        assert_eq!(source.children, [("a".to_owned(), Some("other.rs".to_owned()))]);
        assert_eq!(source.inline[0].0, "b");
        assert_eq!(source.inline[0].1.paths, [(vec!["d".to_owned(), "e".to_owned()], 3)]);
        assert_eq!(source.items, ["f", "G", "h"]);
        assert_eq!(source.paths, [(vec!["L".to_owned(), "m".to_owned()], 6)]);
    }
}
