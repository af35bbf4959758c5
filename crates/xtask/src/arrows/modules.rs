//! The modules of one crate, and the arrows between files: an arrow runs from a file to each file whose items it
//! uses.

use std::collections::BTreeMap;
use std::fmt;

use super::source::{self, Import, Path, Source};

/// A line of a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place(pub String, pub usize);

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.0, self.1)
    }
}

/// For each file the files whose items it uses, with the place of the first use.
pub type Arrows = BTreeMap<String, BTreeMap<String, Place>>;

/// A module, in a file of its own or within one.
struct Module {
    file: String,
    parent: Option<usize>,
    children: BTreeMap<String, usize>,
    source: Source,
}

/// The target of a path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    Module(usize),
    /// An item of the module.
    Item(usize),
}

/// The modules of a crate. The first is its root.
pub struct Modules(Vec<Module>);

impl Modules {
    /// Reads a crate from its root file on; `files` are the texts by path.
    pub fn read(root: &str, files: &BTreeMap<String, String>) -> Modules {
        let mut modules = Modules(Vec::new());
        modules.add_file(root, None, files);
        modules
    }

    fn add_file(&mut self, file: &str, parent: Option<usize>, files: &BTreeMap<String, String>) -> Option<usize> {
        let source = source::read(files.get(file)?);
        if source.is_test {
            return None;
        }
        Some(self.add(file, folder(file), parent, source, files))
    }

    /// Adds a module and its child modules, whose files lie in `folder`.
    fn add(
        &mut self,
        file: &str,
        folder: String,
        parent: Option<usize>,
        mut source: Source,
        files: &BTreeMap<String, String>,
    ) -> usize {
        let this = self.0.len();
        let (inline, children) = (std::mem::take(&mut source.inline), std::mem::take(&mut source.children));
        self.0.push(Module { file: file.to_owned(), parent, children: BTreeMap::new(), source });
        for (name, source) in inline {
            let child = self.add(file, format!("{folder}/{name}"), Some(this), source, files);
            self.0[this].children.insert(name, child);
        }
        for (name, path) in children {
            let beside = file.rsplit_once('/').map_or("", |(beside, _)| beside);
            let places = match path {
                Some(path) => vec![format!("{beside}/{path}")],
                None => vec![format!("{folder}/{name}.rs"), format!("{folder}/{name}/mod.rs")],
            };
            if let Some(child) = places.iter().find_map(|place| self.add_file(place, Some(this), files)) {
                self.0[this].children.insert(name, child);
            }
        }
        this
    }

    /// Whether this file belongs to the crate and not to its tests.
    #[cfg(test)]
    pub fn have(&self, file: &str) -> bool {
        self.0.iter().any(|module| module.file == file)
    }

    /// Every arrow between two files. Declaring a module, or exporting its items, makes no arrow.
    pub fn arrows(&self) -> Arrows {
        let mut arrows = Arrows::new();
        for (at, module) in self.0.iter().enumerate() {
            let mut add = |found: Option<Found>, line: usize| {
                let Some(Found::Item(to) | Found::Module(to)) = found else { return };
                let to = &self.0[to].file;
                if *to != module.file {
                    let place = Place(module.file.clone(), line);
                    let first = arrows.entry(module.file.clone()).or_default().entry(to.clone());
                    first.and_modify(|first| *first = place.clone().min(first.clone())).or_insert(place);
                }
            };
            for import in &module.source.imports {
                if let Some(line) = used_at(import, &module.source) {
                    // A module's name alone is no use of it, but an item of it is.
                    let found = self.resolve(at, &import.path, DEPTH);
                    let is_name = matches!(found, Some(Found::Module(_))) && import.name.is_some();
                    add(found.filter(|_| !is_name), line);
                }
            }
            for (path, line) in &module.source.paths {
                add(self.resolve(at, path, DEPTH), *line);
            }
        }
        arrows
    }

    fn resolve(&self, from: usize, path: &Path, depth: usize) -> Option<Found> {
        let (first, rest) = path.split_first()?;
        let begin = match first.as_str() {
            "crate" => Found::Module(0),
            "self" => Found::Module(from),
            "super" => Found::Module(self.0[from].parent?),
            // A name of this module. One that it does not have is another crate's, or Rust's own.
            name => self.named(from, name, depth)?,
        };
        let mut found = begin;
        for name in rest {
            let Found::Module(module) = found else { return Some(found) };
            found = match name.as_str() {
                "super" => Found::Module(self.0[module].parent?),
                "self" => found,
                // A macro may define an item that is not visible here.
                name => self.named(module, name, depth).unwrap_or(Found::Item(module)),
            };
        }
        Some(found)
    }

    /// The meaning of a name in a module.
    fn named(&self, at: usize, name: &str, depth: usize) -> Option<Found> {
        let module = &self.0[at];
        if let Some(child) = module.children.get(name) {
            return Some(Found::Module(*child));
        }
        if module.source.items.iter().any(|item| item == name) {
            return Some(Found::Item(at));
        }
        let depth = depth.checked_sub(1)?;
        let imports = &module.source.imports;
        let exact = imports.iter().find(|import| import.name.as_deref() == Some(name));
        if let Some(import) = exact.filter(|import| import.path[..] != [name]) {
            return self.resolve(at, &import.path, depth);
        }
        imports.iter().filter(|import| import.name.is_none()).find_map(|import| {
            match self.resolve(at, &import.path, depth) {
                Some(Found::Module(module)) if module != at => self.named(module, name, depth),
                _ => None,
            }
        })
    }
}

/// The most imports of imports; no tree has as many.
const DEPTH: usize = 8;

/// The place where a module uses an import. An export alone only passes the name on, unless the module's own code
/// uses it.
fn used_at(import: &Import, source: &Source) -> Option<usize> {
    match (&import.name, import.is_exported) {
        (_, false) => Some(import.line),
        (Some(name), true) => source.words.get(name).copied(),
        (None, true) => None,
    }
}

/// The folder of the modules that a file declares.
fn folder(file: &str) -> String {
    let (beside, name) = file.rsplit_once('/').unwrap_or(("", file));
    match name {
        "lib.rs" | "main.rs" | "mod.rs" => beside.to_owned(),
        _ => format!("{beside}/{}", name.trim_end_matches(".rs")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrows(files: &[(&str, &str)]) -> Vec<String> {
        let files = files.iter().map(|(name, text)| (format!("src/{name}"), (*text).to_owned())).collect();
        let arrows = Modules::read("src/lib.rs", &files).arrows();
        let all = arrows.values().flat_map(|to| to.iter().map(|(to, place)| format!("{place} {to}")));
        all.map(|arrow| arrow.replace("src/", "")).collect()
    }

    #[test]
    fn imports_and_paths_are_arrows_to_where_the_thing_is() {
        let a = "use crate::b::{B, c};\nfn a() { c::d(); super::b::e(); crate::b::c::F::new(); }\n";
        let files =
            [("lib.rs", "mod a; mod b;"), ("a.rs", a), ("b/mod.rs", "pub mod c; pub struct B;"), ("b/c.rs", "")];
        assert_eq!(arrows(&files), ["a.rs:2 b/c.rs", "a.rs:1 b/mod.rs"]);
    }

    #[test]
    fn an_exported_item_is_an_arrow_to_its_definition() {
        let lib = "mod a; mod b;\npub use b::B;\npub use b::*;\n";
        let a = "use super::B;\nfn a() -> crate::C { }\n";
        assert_eq!(arrows(&[("lib.rs", lib), ("a.rs", a), ("b.rs", "pub struct B; pub struct C;")]), ["a.rs:1 b.rs"]);
    }

    #[test]
    fn declaring_and_exporting_is_no_arrow_and_using_is() {
        let b = ("b.rs", "pub struct B;");
        assert_eq!(arrows(&[("lib.rs", "pub mod b;\npub use b::B;"), b]), [""; 0]);
        assert_eq!(arrows(&[("lib.rs", "mod b;\npub use b::B;\nfn a() -> B {}"), b]), ["lib.rs:3 b.rs"]);
        assert_eq!(arrows(&[("lib.rs", "mod b;\nuse b::B;\nfn a() -> B {}"), b]), ["lib.rs:2 b.rs"]);
    }

    #[test]
    fn tests_other_crates_and_modules_within_a_file_are_no_arrows() {
        let a = "use std::fmt;\nmod inner { use super::*; fn f() { super::g(); } }\n\
                 #[cfg(test)] mod tests { use crate::b::B; }\nfn g() { libc::free(); Self::h(); }\n";
        assert_eq!(arrows(&[("lib.rs", "mod a; mod b;"), ("a.rs", a), ("b.rs", "pub struct B;")]), [""; 0]);
        let t = [("lib.rs", "#[cfg(test)]\nmod t;\nmod b;"), ("t.rs", "use crate::b::B;"), ("b.rs", "pub struct B;")];
        assert_eq!(arrows(&t), [""; 0]);
    }

    #[test]
    fn modules_are_found_in_their_folders_and_by_their_paths() {
        let lib = "mod a;\n#[path = \"other/c.rs\"]\nmod b;\n";
        let a = ("a.rs", "mod d;\n");
        let d = ("a/d.rs", "use crate::b::B;\nuse super::E;\n");
        assert_eq!(arrows(&[("lib.rs", lib), a, d, ("other/c.rs", "")]), ["a/d.rs:2 a.rs", "a/d.rs:1 other/c.rs"]);
    }
}
