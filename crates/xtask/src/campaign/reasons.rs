//! The changes that no test need find, each with its reason.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use super::Change;
use crate::codegen::read;

pub const LIST: &str = "reports/mutants/campaign.toml";

#[derive(Deserialize)]
struct List {
    reason: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    file: String,
    what: String,
    text: String,
    why: String,
}

/// By file, kind and text of the change: lines move.
#[derive(Debug)]
pub struct Reasons(BTreeMap<[String; 3], String>);

impl Reasons {
    pub fn of(root: &Path) -> Result<Reasons, String> {
        Reasons::parse(&read(&root.join(LIST))?)
    }

    fn parse(text: &str) -> Result<Reasons, String> {
        let list: List = toml::from_str(text).map_err(|error| format!("{LIST}: {error}\n"))?;
        let mut reasons = BTreeMap::new();
        for Entry { file, what, text, why } in list.reason {
            if why.trim().is_empty() || reasons.contains_key(&[file.clone(), what.clone(), text.clone()]) {
                return Err(format!("{LIST}: {file}: {what} `{text}` has no reason, or two\n"));
            }
            reasons.insert([file, what, text], why);
        }
        Ok(Reasons(reasons))
    }

    pub fn for_change(&self, change: &Change) -> Option<&str> {
        let Change { file, what, text, .. } = change;
        self.0.get(&[file.clone(), what.clone(), text.clone()]).map(String::as_str)
    }

    /// An error for each reason whose change is none of these.
    pub fn check(&self, changes: &[Change]) -> Result<(), String> {
        let is_gone = |[file, what, text]: &&[String; 3]| {
            !changes.iter().any(|it| [&it.file, &it.what, &it.text] == [file, what, text])
        };
        let gone = self.0.keys().filter(is_gone);
        let said: String = gone.map(|[file, what, text]| format!("{file}: {what} `{text}`\n")).collect();
        match said.is_empty() {
            true => Ok(()),
            false => Err(format!("take these out of {LIST}, the code is gone:\n{said}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root;

    fn change(line: usize, what: &str, text: &str) -> Change {
        Change { file: "a.rs".to_owned(), line, what: what.to_owned(), text: text.to_owned() }
    }

    const ONE: &str = "[[reason]]\nfile = 'a.rs'\nwhat = 'statement'\ntext = 'b () ;'\nwhy = 'It only saves time.'\n";

    #[test]
    fn a_reason_is_that_of_its_change_wherever_it_is() {
        let reasons = Reasons::parse(ONE).unwrap();
        assert_eq!(reasons.for_change(&change(7, "statement", "b () ;")), Some("It only saves time."));
        assert_eq!(reasons.for_change(&change(7, "true", "b () ;")), None);
        let other = change(7, "statement", "c () ;");
        assert!(reasons.check(&[other.clone(), change(9, "statement", "b () ;")]).is_ok());
        let gone = reasons.check(&[other]).unwrap_err();
        assert!(gone.contains("a.rs: statement `b () ;`"), "{gone}");
        assert!(Reasons::parse(&ONE.repeat(2)).unwrap_err().contains("two"));
        assert!(Reasons::parse(&ONE.replace("It only saves time.", "")).unwrap_err().contains("no reason"));
    }

    /// Without a parser: the campaign itself looks closer.
    #[test]
    fn every_reason_is_about_code_that_is_there() {
        let tight = |text: &str| text.split_whitespace().collect::<String>();
        for [file, what, text] in Reasons::of(&root()).unwrap().0.keys() {
            assert!(super::super::FOLDERS.iter().any(|folder| file.starts_with(folder)), "{file}");
            assert!(["statement", "true", "false", "operand", "operator"].contains(&&**what), "{file}: {what}");
            assert!(tight(&read(&root().join(file)).unwrap()).contains(&tight(text)), "{file}: `{text}`");
        }
    }
}
