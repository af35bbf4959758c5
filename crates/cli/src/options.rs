//! `overtake options`: every setting, from the one table.

use console::failure::{Failure, Result};
use console::output;
use overtake::Options;
use overtake::options::Tunable;
use overtake::variables::{self, VARIABLES};
use report::{Column, Table};
use serde::Serialize;
use shim::settings::Settings;

use crate::args::OptionsArguments;

#[derive(Serialize)]
struct OptionRow {
    name: &'static str,
    variable: String,
    /// Under `overtake run`, and in the C library.
    default: String,
    /// In the Rust library.
    default_in_rust: String,
    unit: Option<&'static str>,
    takes: String,
    meaning: &'static str,
}

/// One variable that is no option.
#[derive(Serialize)]
struct VariableRow {
    name: &'static str,
    meaning: &'static str,
}

#[derive(Serialize)]
struct Listing {
    options: Vec<OptionRow>,
    variables: Vec<VariableRow>,
}

/// Runs the command.
pub fn run(arguments: &OptionsArguments) -> Result<()> {
    let all = listing();
    if arguments.names.is_empty() {
        return if arguments.json { output::print_json(&all) } else { output::print(&text(&all)) };
    }
    let named = all.named(&arguments.names)?;
    if arguments.json { output::print_json(&named) } else { output::print(&blocks(&named)) }
}

impl Listing {
    /// Those of these names, as options or as variables.
    fn named(self, names: &[String]) -> Result<Listing> {
        let same = |name: &String, own: &str| name.eq_ignore_ascii_case(own);
        let is_option = |name: &String, row: &OptionRow| same(name, row.name) || same(name, &row.variable);
        let is_known = |name: &&String| {
            self.options.iter().any(|row| is_option(name, row)) || self.variables.iter().any(|row| same(name, row.name))
        };
        if let Some(unknown) = names.iter().find(|name| !is_known(name)) {
            return Err(Failure::Other(format!(
                "there is no option or variable {unknown}; `overtake options` lists all of them"
            )));
        }
        let options = self.options.into_iter().filter(|row| names.iter().any(|name| is_option(name, row))).collect();
        let variables =
            self.variables.into_iter().filter(|row| names.iter().any(|name| same(name, row.name))).collect();
        Ok(Listing { options, variables })
    }
}

/// A block of lines for each.
fn blocks(listing: &Listing) -> String {
    let option = |row: &OptionRow| {
        let unit = row.unit.map(|unit| format!("  unit     {unit}\n")).unwrap_or_default();
        let OptionRow { name, variable, default, default_in_rust, takes, meaning, .. } = row;
        let places = format!("--set {name}=VALUE, or {variable}=VALUE");
        let default = format!("{default} ({default_in_rust} in Rust)");
        format!("{name}\n  meaning  {meaning}\n  takes    {takes}\n{unit}  default  {default}\n  set it   {places}\n")
    };
    let variable = |row: &VariableRow| format!("{}\n  meaning  {}\n", row.name, row.meaning);
    let blocks = listing.options.iter().map(option).chain(listing.variables.iter().map(variable));
    blocks.collect::<Vec<_>>().join("\n")
}

fn listing() -> Listing {
    let (drop_in, library) = (Settings::default().options, Options::default());
    let row = |tunable: &Tunable| OptionRow {
        name: tunable.name,
        variable: variables::of_option(tunable.name),
        default: tunable.value(&drop_in),
        default_in_rust: tunable.value(&library),
        unit: tunable.unit(),
        takes: tunable.expected(),
        meaning: tunable.meaning,
    };
    let variables = VARIABLES.iter().map(|variable| VariableRow { name: variable.name, meaning: variable.meaning });
    Listing { options: Options::tunables().map(row).collect(), variables: variables.collect() }
}

fn text(listing: &Listing) -> String {
    let mut options = Table::new(vec![
        Column::words("option"),
        Column::words("default"),
        Column::words("unit"),
        Column::words("takes"),
        Column::words("meaning"),
    ]);
    for row in &listing.options {
        let default = match row.default == row.default_in_rust {
            true => row.default.clone(),
            false => format!("{} ({} in Rust)", row.default, row.default_in_rust),
        };
        let unit = row.unit.unwrap_or_default().to_owned();
        options.push([row.name.to_owned(), default, unit, row.takes.clone(), row.meaning.to_owned()]);
    }
    let mut variables = Table::new(vec![Column::words("variable"), Column::words("meaning")]);
    for row in &listing.variables {
        variables.push([row.name.to_owned(), row.meaning.to_owned()]);
    }
    format!(
        "Options: in the files of --config and --rules as NAME = VALUE, as --set NAME=VALUE, or as the variable\n\
         OVERTAKE_NAME. Sizes are in bytes, or with K, M or G.\n\n{options}\n\
         Variables that are no options:\n\n{variables}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_option_or_variable_is_shown_by_its_name() {
        let of = |names: &[&str]| listing().named(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        let shown = blocks(&of(&["OVERTAKE_WAIT_BUDGET_US", "overtake_libcuda"]).unwrap());
        for part in
            ["wait_budget_us\n  meaning  ", "  unit     us\n", "OVERTAKE_WAIT_BUDGET_US=VALUE", "OVERTAKE_LIBCUDA\n"]
        {
            assert!(shown.contains(part), "{part} is not in\n{shown}");
        }
        assert!(!shown.contains("staging"), "{shown}");
        assert!(of(&["wait_buget_us"]).is_err());
    }

    #[test]
    fn every_option_is_listed_with_both_defaults_and_its_unit() {
        let listing = listing();
        assert_eq!(listing.options.len(), Options::tunables().count());
        let row = |name| listing.options.iter().find(|row| row.name == name).expect(name);
        assert_eq!((row("priorities").default.as_str(), row("priorities").default_in_rust.as_str()), ("7", "6"));
        assert_eq!((row("wait_budget_us").default.as_str(), row("wait_budget_us").unit), ("0", Some("us")));
        assert_eq!(row("load_ahead_kernels_max").variable, "OVERTAKE_LOAD_AHEAD_KERNELS_MAX");
        let text = text(&listing);
        for name in ["guard_after_us", "on (off in Rust)", "OVERTAKE_LIBCUDA", "microseconds, at most an hour"] {
            assert!(text.contains(name), "{name} is not in\n{text}");
        }
    }
}
