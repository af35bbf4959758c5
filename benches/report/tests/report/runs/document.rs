//! A page, read back: its tables and its lists, whether this crate or a browser wrote it.

use std::collections::BTreeMap;

/// A value as a reader sees it, and as a program does.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    pub text: String,
    pub exact: Option<String>,
}

/// A table of the page.
#[derive(Debug)]
pub struct Table {
    pub keys: Vec<String>,
    pub rows: Vec<Vec<Shown>>,
}

impl Table {
    /// A cell that has a value.
    pub fn cell(&self, row: usize, key: &str) -> Option<&Shown> {
        let column = self.keys.iter().position(|its| its == key)?;
        self.rows.get(row)?.get(column).filter(|cell| cell.text != "-" || cell.exact.is_some())
    }
}

/// The tables and lists of a page by their names.
#[derive(Debug)]
pub struct Document {
    tables: BTreeMap<String, Table>,
    lists: BTreeMap<String, BTreeMap<String, Shown>>,
}

impl Document {
    pub fn parse(html: &str) -> Document {
        let tables = elements(html, "table").into_iter().filter_map(|part| Some((attribute(part, "data-name")?, part)));
        let lists = elements(html, "dl").into_iter().filter_map(|part| Some((attribute(part, "data-name")?, part)));
        Document {
            tables: tables.map(|(name, part)| (name, table(part))).collect(),
            lists: lists.map(|(name, part)| (name, list(part))).collect(),
        }
    }

    pub fn table(&self, name: &str) -> &Table {
        self.tables.get(name).unwrap_or_else(|| panic!("no table {name}: {:?}", self.tables.keys()))
    }

    pub fn has_table(&self, name: &str) -> bool {
        self.tables.contains_key(name)
    }

    pub fn list(&self, name: &str) -> BTreeMap<String, Shown> {
        self.lists.get(name).cloned().unwrap_or_default()
    }
}

/// The elements of a kind that do not hold each other, with their tags.
fn elements<'a>(html: &'a str, tag: &str) -> Vec<&'a str> {
    let (open, close) = (format!("<{tag}"), format!("</{tag}>"));
    let mut found = Vec::new();
    let mut rest = html;
    while let Some(begin) = rest.find(&open) {
        let part = &rest[begin..];
        let is_it = part[open.len()..].starts_with([' ', '>']);
        let end = part.find(&close).unwrap_or(part.len());
        if is_it {
            found.push(&part[..end]);
        }
        rest = &part[if is_it { end } else { open.len() }..];
    }
    found
}

/// An attribute of the first tag.
fn attribute(element: &str, name: &str) -> Option<String> {
    let tag = &element[..element.find('>')?];
    let value = tag.split(&format!(" {name}=\"")).nth(1)?;
    Some(unescape(value.split('"').next()?))
}

fn unescape(text: &str) -> String {
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&nbsp;", " ").replace("&amp;", "&")
}

/// The content of an element without tags.
fn text(element: &str) -> String {
    let inside = &element[element.find('>').map_or(0, |end| end + 1)..];
    let mut text = String::new();
    for (index, part) in inside.split('<').enumerate() {
        let words = if index == 0 { part } else { part.split_once('>').map_or("", |(_, words)| words) };
        text.push_str(words);
    }
    unescape(&text)
}

fn shown(element: &str) -> Shown {
    let data = elements(element, "data");
    Shown { text: text(element), exact: data.first().and_then(|data| attribute(data, "value")) }
}

fn table(part: &str) -> Table {
    let keys = elements(part, "th").into_iter().filter_map(|heading| attribute(heading, "data-key")).collect();
    let cells = |row: &str| elements(row, "td").into_iter().map(shown).collect::<Vec<_>>();
    Table { keys, rows: elements(part, "tr").into_iter().map(cells).filter(|row| !row.is_empty()).collect() }
}

fn list(part: &str) -> BTreeMap<String, Shown> {
    let keys = elements(part, "dt").into_iter().filter_map(|name| attribute(name, "data-key"));
    keys.zip(elements(part, "dd").into_iter().map(shown)).collect()
}
