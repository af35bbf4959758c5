//! The list of changes.

use std::collections::BTreeSet;
use std::path::Path;

use serde::Deserialize;

use super::LIST;
use crate::codegen::read;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    change: Vec<Change>,
}

/// A change: a text in a file is replaced.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// The name on the command line.
    pub name: String,
    /// The damage that it does, in words.
    pub what: String,
    pub file: String,
    /// A text that occurs once in the file.
    pub find: String,
    /// The text that replaces it.
    pub replace: String,
    /// The arguments of `cargo test` that run the test which finds the change.
    pub test: String,
}

impl Change {
    /// The file's text with the change. It is an error if the text to replace occurs never or twice.
    pub fn applied_to(&self, text: &str) -> Result<String, String> {
        match text.matches(&self.find).count() {
            1 if self.find != self.replace => Ok(text.replacen(&self.find, &self.replace, 1)),
            1 => Err(format!("{}: it changes nothing\n", self.name)),
            count => Err(format!(
                "{}: `{}` is there {count} times in {}, and has to be there once: mend it in {LIST}\n",
                self.name, self.find, self.file
            )),
        }
    }
}

/// Reads the list of a tree.
pub fn read_from(root: &Path) -> Result<Vec<Change>, String> {
    parse(&read(&root.join(LIST))?)
}

fn parse(text: &str) -> Result<Vec<Change>, String> {
    let list: List = toml::from_str(text).map_err(|error| format!("{LIST}: {error}\n"))?;
    let names: BTreeSet<&str> = list.change.iter().map(|change| change.name.as_str()).collect();
    if names.len() < list.change.len() {
        return Err(format!("{LIST}: two changes have the same name\n"));
    }
    Ok(list.change)
}

/// The list as a page.
pub fn table(changes: &[Change]) -> String {
    let mut text = String::from(
        "# Planted changes\n\n\
         Each breaks the product in one place; the test beside it fails with it. `cargo xtask planted`\n\
         plants them one at a time in a copy of the tree, and runs that test. This page is made from\n\
         [planted.toml](planted.toml) by `cargo xtask planted --table`.\n\n\
         | name | the fault | where | found by `cargo test` |\n|---|---|---|---|\n",
    );
    for Change { name, what, file, test, .. } in changes {
        text += &format!("| `{name}` | {what} | `{file}` | `{test}` |\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(find: &str, replace: &str) -> Change {
        let text = |text: &str| text.to_owned();
        let (name, what, file, test) = (text("a"), text("b"), text("c.rs"), text("-p d"));
        Change { name, what, file, find: text(find), replace: text(replace), test }
    }

    #[test]
    fn a_change_is_found_once_or_is_an_error() {
        assert_eq!(change("b", "x").applied_to("abc").unwrap(), "axc");
        assert!(change("b", "x").applied_to("ac").unwrap_err().contains("0 times"));
        assert!(change("b", "x").applied_to("abcb").unwrap_err().contains("2 times"));
        assert!(change("b", "b").applied_to("abc").unwrap_err().contains("nothing"));
    }

    #[test]
    fn names_are_unique_and_unknown_fields_refused() {
        let one = "[[change]]\nname='a'\nwhat='b'\nfile='c'\nfind='d'\nreplace='e'\ntest='f'\n";
        assert_eq!(parse(one).unwrap().len(), 1);
        assert!(parse(&format!("{one}{one}")).unwrap_err().contains("same name"));
        assert!(parse(&format!("{one}why='g'\n")).is_err());
    }
}
