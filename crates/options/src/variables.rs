//! The environment variables of this project, and warnings about unknown ones: otherwise a misspelt variable would
//! silently have no effect.

use crate::tunable::TUNABLES;
use crate::unlisted;

/// Every variable but `OVERTAKE` begins with this.
const PREFIX: &str = "OVERTAKE_";

/// Names with more differences are not near.
const DIFFERENCES_MAX: usize = 3;

/// A variable that sets no option.
#[derive(Clone, Copy, Debug)]
pub struct Variable {
    /// The name in the environment.
    pub name: &'static str,
    /// Its meaning, without a capital and a full stop.
    pub meaning: &'static str,
}

const fn variable(name: &'static str, meaning: &'static str) -> Variable {
    Variable { name, meaning }
}

/// All such variables. Each option is a variable as well: `OVERTAKE_` and its name in capitals.
pub const VARIABLES: &[Variable] = &[
    variable("OVERTAKE", "off switches everything off: the drop-in and the C library do nothing at all"),
    variable("OVERTAKE_CONFIG", "a file of options and rules (TOML)"),
    variable("OVERTAKE_RULES", "a file of rules (TOML)"),
    variable("OVERTAKE_LOG", "the level of messages: off, error, warn, info or debug (warn if not set)"),
    variable("OVERTAKE_REPORT_DIR", "the folder for a report of each process"),
    variable("OVERTAKE_TRACE_DIR", "the folder for a trace of each process"),
    variable("OVERTAKE_LIVE", "off: no live figures of this process for `overtake top` and `overtake metrics`"),
    variable(
        "OVERTAKE_OBSERVE",
        "only: the drop-in leaves all copies to the driver, and watches them for the report; also: it watches them \
         beside its work",
    ),
    variable("OVERTAKE_LIBCUDA", "the driver's library, where it is not the installed one"),
    variable(
        "OVERTAKE_BACKEND",
        "auto, cuda or soft: the driver of the command, and of Rust programs that choose by it",
    ),
    variable("OVERTAKE_PRELOAD_LIBRARY", "the drop-in that `overtake run` loads"),
    variable("OVERTAKE_LIBRARY", "the C library that the Python package loads"),
    variable("OVERTAKE_SOFT_CLOCK", "the software GPU's clock: stepped or free"),
    variable("OVERTAKE_SOFT_PRESET", "the model of the software GPU: a preset, or a file of parameters (TOML)"),
    variable("OVERTAKE_SOFT_FAULTS", "the faults of the software GPU"),
    variable("OVERTAKE_SOFT_DEVICES", "the number of devices of the software GPU"),
    variable("OVERTAKE_SOFT_HANDLES", "handles of ended things on the software GPU: new, or reused as addresses are"),
];

/// The unknown variables of which `overtake run` has told, with commas between. The processes of the program are silent
/// about those.
pub const TOLD: &str = "OVERTAKE_TOLD";

/// Variables of the build, the command and the tests of this project.
const OF_THE_PROJECT: &[&str] = &[
    "OVERTAKE_BIN",
    "OVERTAKE_BLESS",
    "OVERTAKE_COMMIT",
    "OVERTAKE_COPIES_CHILD",
    "OVERTAKE_CUDA_INCLUDE",
    "OVERTAKE_REQUIRE_LOADER_ARM",
    TOLD,
];

/// The name of the variable that sets an option.
#[must_use]
pub fn of_option(name: &str) -> String {
    format!("{PREFIX}{}", name.to_uppercase())
}

/// Messages about variables that begin like ours and are unknown, or for tests.
pub fn unknown(names: impl IntoIterator<Item = String>) -> Vec<String> {
    let ours: Vec<String> = names.into_iter().filter(|name| name.starts_with(PREFIX)).collect();
    // Most processes have none, and start sooner without the list of those that are known.
    if ours.is_empty() {
        return Vec::new();
    }
    let options: Vec<String> = TUNABLES.iter().map(|tunable| of_option(tunable.name)).collect();
    let known: Vec<&str> =
        VARIABLES.iter().map(|variable| variable.name).chain(options.iter().map(String::as_str)).collect();
    let is_unknown = |name: &String| !known.contains(&name.as_str()) && !OF_THE_PROJECT.contains(&name.as_str());
    let say = |name: String| {
        if name == unlisted::VARIABLE {
            return format!("{name} is set: it changes values that only tests of overtake change");
        }
        match nearest(&name, known.iter().copied()) {
            Some(near) => format!("{name} means nothing to overtake, and has no effect: is it {near}?"),
            None => {
                format!("{name} means nothing to overtake, and has no effect: `overtake options` lists those that do")
            }
        }
    };
    let mut unknown: Vec<String> = ours.into_iter().filter(is_unknown).map(say).collect();
    unknown.sort();
    unknown
}

/// The messages for the variables of this process.
#[must_use]
pub fn unknown_here() -> Vec<String> {
    unknown(std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()))
}

/// Whether `overtake run` has told a message about a variable, with which it begins.
#[must_use]
pub fn is_told(message: &str) -> bool {
    std::env::var(TOLD).is_ok_and(|told| told.split(',').any(|name| Some(name) == message.split(' ').next()))
}

/// The known name with the fewest differences, unless it has too many. A unit that is left out counts as one.
#[must_use]
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let differences = |known: &str| {
        let whole = strsim::damerau_levenshtein(name, known);
        let short = known.strip_suffix("_US").or_else(|| known.strip_suffix("_us"));
        short.map_or(whole, |short| whole.min(strsim::damerau_levenshtein(name, short) + 1))
    };
    let near = known.map(|known| (differences(known), known)).min_by_key(|(distance, _)| *distance);
    near.filter(|(distance, _)| *distance <= DIFFERENCES_MAX).map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(name: &str) -> Vec<String> {
        unknown([name.to_owned()])
    }

    #[test]
    fn misspelt_variables_are_named_with_the_nearest() {
        assert!(said("OVERTAKE_WAIT_BUGET_US")[0].ends_with("is it OVERTAKE_WAIT_BUDGET_US?"));
        assert!(said("OVERTAKE_WAIT_BUGET")[0].ends_with("is it OVERTAKE_WAIT_BUDGET_US?"));
        assert!(said("OVERTAKE_REPROT_DIR")[0].ends_with("is it OVERTAKE_REPORT_DIR?"));
        assert!(said("OVERTAKE_FLY_TO_THE_MOON")[0].contains("`overtake options`"));
    }

    #[test]
    fn the_variable_of_tests_is_told() {
        assert!(said("OVERTAKE_UNLISTED")[0].contains("only tests"));
    }

    #[test]
    fn known_variables_and_those_of_others_are_left_alone() {
        for name in ["OVERTAKE", "OVERTAKE_LOG", "OVERTAKE_WAIT_BUDGET_US", "OVERTAKEN", "PATH", "OVERTAKE_BIN"] {
            assert_eq!(said(name), [""; 0], "{name}");
        }
    }
}
