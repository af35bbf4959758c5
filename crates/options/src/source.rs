//! Where options come from: the program's own settings, a file, environment variables.

use std::fmt;
use std::path::Path;
use std::sync::Once;

use os::fault::{Fault, Source};
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use crate::queues::{self, LAUNCH_BLOCKING};
use crate::settings::Options;
use crate::tunable::{TUNABLES, Tunable};
use crate::{unlisted, variables};

/// An option with a fault.
#[non_exhaustive]
#[derive(Clone, PartialEq, Eq)]
pub struct OptionError {
    /// The option's name.
    pub name: String,
    /// The value with the fault.
    pub value: String,
    /// The values that the option takes; if there is no such option, the nearest one.
    pub expected: String,
}

/// As [`fmt::Display`]: a program whose `main` returns the error prints its cause and its cure.
impl fmt::Debug for OptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for OptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match TUNABLES.iter().any(|tunable| tunable.name == self.name) {
            true => write!(f, "option {} cannot be {:?}: expected {}", self.name, self.value, self.expected),
            false => f.write_str(&self.expected),
        }
    }
}

impl std::error::Error for OptionError {}

impl Options {
    /// Every option, in the order of `overtake options`.
    pub fn tunables() -> impl Iterator<Item = &'static Tunable> {
        TUNABLES.iter()
    }

    /// The values that only tests set, by `OVERTAKE_UNLISTED`.
    #[doc(hidden)]
    pub fn unlisted() -> impl Iterator<Item = &'static Tunable> {
        unlisted::UNLISTED.iter()
    }

    /// Sets one option by name.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), OptionError> {
        let error = |expected: String| OptionError { name: name.to_owned(), value: value.to_owned(), expected };
        let tunable = TUNABLES.iter().find(|tunable| tunable.name == name).ok_or_else(|| error(unknown(name)))?;
        tunable.set(self, value).ok_or_else(|| error(tunable.expected()))
    }

    /// The options with one more set, for use in an expression.
    pub fn with(mut self, name: &str, value: &str) -> Result<Options, OptionError> {
        self.set(name, value)?;
        Ok(self)
    }

    /// Applies a TOML table of options. Returns the faults; a faulty option stays as it was.
    pub fn apply_toml(&mut self, source: &Source<'_>) -> Vec<Fault> {
        let table = match DeTable::parse(source.text) {
            Ok(table) => table,
            Err(error) => return vec![syntax(source, &error)],
        };
        let mut faults = Vec::new();
        for (name, value) in table.get_ref() {
            faults.extend(self.apply(source, name, value).err());
        }
        os::fault::sort(&mut faults);
        faults
    }

    /// Applies one entry of such a table.
    pub fn apply(
        &mut self,
        source: &Source<'_>,
        name: &Spanned<DeString<'_>>,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<(), Fault> {
        let Some(tunable) = TUNABLES.iter().find(|tunable| tunable.name == *name.get_ref()) else {
            return Err(source.fault(name.span(), unknown(name.get_ref())));
        };
        let text = match value.get_ref() {
            DeValue::String(text) => Some(text.to_string()),
            DeValue::Boolean(on) => Some(if *on { "on" } else { "off" }.to_owned()),
            DeValue::Integer(number) => Some(number.to_string()),
            DeValue::Float(number) => Some(number.to_string()),
            DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => None,
        };
        let set = text.and_then(|text| tunable.set(self, &text));
        set.ok_or_else(|| source.fault(value.span(), format!("{}: expected {}", tunable.name, tunable.expected())))
    }

    /// Applies variables: `OVERTAKE=off`, then `OVERTAKE_<NAME>` for each option. Returns the faults; a faulty option
    /// stays as it was. `lookup` reads the environment.
    pub fn apply_variables(&mut self, lookup: impl Fn(&str) -> Option<String>) -> Vec<Fault> {
        let switch = ("OVERTAKE".to_owned(), "enabled");
        let options = TUNABLES.iter().map(|tunable| (variables::of_option(tunable.name), tunable.name));
        let mut faults = Vec::new();
        for (variable, name) in std::iter::once(switch).chain(options) {
            if let Some(value) = lookup(&variable)
                && let Err(error) = self.set(name, &value)
            {
                let message = format!("cannot be {value:?}: expected {}", error.expected);
                faults.push(Source { origin: &variable, text: "" }.fault_of_all(message));
            }
        }
        self.guard.copy_queues = queues::copy_queues_of(&lookup).or(self.guard.copy_queues);
        self.launches_block |= lookup(LAUNCH_BLOCKING).is_some_and(|value| queues::launches_block(&value));
        faults
    }

    /// Applies `OVERTAKE_UNLISTED`. Returns warnings: no program fails for a variable of tests.
    #[doc(hidden)]
    pub fn apply_unlisted(&mut self, lookup: impl Fn(&str) -> Option<String>) -> Vec<Fault> {
        lookup(unlisted::VARIABLE).iter().flat_map(|text| unlisted::apply(self, text)).collect()
    }

    /// Defaults, then the file that `OVERTAKE_CONFIG` names, then the variables. Logs unknown variables that begin like
    /// ours, once.
    pub fn from_environment() -> Result<Options, Fault> {
        static WARNED: Once = Once::new();
        WARNED.call_once(|| {
            let unknown = variables::unknown_here();
            unknown.iter().filter(|warning| !variables::is_told(warning)).for_each(|warning| log::warn!("{warning}"));
        });
        let mut options = Options::default();
        let mut faults = Vec::new();
        if let Some(path) = os::variable::path("OVERTAKE_CONFIG") {
            let origin = path.display().to_string();
            match os::file::read_text(Path::new(&path)) {
                Ok(text) => faults.extend(options.apply_toml(&Source { origin: &origin, text: &text })),
                Err(error) => faults.push(unreadable("OVERTAKE_CONFIG", &origin, &error)),
            }
        }
        let lookup = |name: &str| std::env::var(name).ok();
        faults.extend(options.apply_variables(lookup));
        options.apply_unlisted(lookup).iter().for_each(|warning| log::warn!("{warning}"));
        faults.into_iter().next().map_or(Ok(options), Err)
    }
}

/// The fault of a file that a variable names and that cannot be read.
#[must_use]
pub fn unreadable(variable: &str, path: &str, error: &std::io::Error) -> Fault {
    Source { origin: path, text: "" }.fault_of_all(format!("cannot be read: {error}; {variable} names it"))
}

/// The fault of a text that is no TOML.
#[must_use]
pub fn syntax(source: &Source<'_>, error: &toml::de::Error) -> Fault {
    match error.span() {
        Some(span) => source.fault(span, error.message()),
        None => source.fault_of_all(error.message()),
    }
}

/// The message about an unknown option.
fn unknown(name: &str) -> String {
    match variables::nearest(name, TUNABLES.iter().map(|tunable| tunable.name)) {
        Some(near) => format!("no option is called {name}: is it {near}?"),
        None => format!("no option is called {name}: `overtake options` lists them"),
    }
}

#[cfg(test)]
mod tests {
    use hal::Nanos;

    use super::*;

    #[test]
    fn one_set_of_names_everywhere() {
        let mut by_file = Options::default();
        let text = "priorities = 8\nautomatic = \"size\"\nwait_budget_us = 80\ndemand = \"1M@3\"\npeer_gbps = 50\n";
        assert_eq!(by_file.apply_toml(&Source { origin: "a file", text }), []);
        let mut by_variable = Options::default();
        let variables = [
            ("OVERTAKE_PRIORITIES", "8"),
            ("OVERTAKE_AUTOMATIC", "size"),
            ("OVERTAKE_WAIT_BUDGET_US", "80"),
            ("OVERTAKE_DEMAND", "1M@3"),
            ("OVERTAKE_PEER_GBPS", "50"),
        ];
        let lookup = |name: &str| variables.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned());
        assert_eq!(by_variable.apply_variables(lookup), []);
        assert_eq!(by_file, by_variable);
        assert_eq!((by_file.priorities.count(), by_file.wait_budget), (8, Nanos::from_us(80)));
        assert_eq!((by_file.demand.burst_bytes, by_file.demand.gbps, by_file.peer_gbps), (1 << 20, 3, Some(50)));
    }

    #[test]
    fn tests_have_one_variable_of_their_own() {
        let mut options = Options::default();
        let test = |name: &str| (name == "OVERTAKE_UNLISTED").then(|| "fence_every=1,lull=much".to_owned());
        assert_eq!(options.apply_variables(test), [], "no program fails for it");
        assert_eq!(options, Options::default());
        let said: Vec<String> = options.apply_unlisted(test).iter().map(ToString::to_string).collect();
        assert_eq!((options.profile.fence_every, said.len()), (1, 1), "{said:?}");
        assert!(options.set("ticket_every", "2").is_err() && options.profile.fence_every == 1, "it is no option");
    }

    #[test]
    fn launches_block_where_the_drivers_variable_says_so() {
        let block = |value: Option<&str>| {
            let mut options = Options::default();
            let lookup = |name: &str| value.filter(|_| name == "CUDA_LAUNCH_BLOCKING").map(str::to_owned);
            assert_eq!(options.apply_variables(lookup), []);
            options.launches_block
        };
        assert_eq!([None, Some("0"), Some(""), Some("1"), Some(" 2 ")].map(block), [false, false, false, true, true]);
    }

    #[test]
    fn copy_queues_follow_the_drivers_variables() {
        let queues = |variables: &[(&str, &str)]| {
            let mut options = Options::default();
            let lookup = |name: &str| variables.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned());
            assert_eq!(options.apply_variables(lookup), []);
            options.guard.queues()
        };
        let (all, copies) = ("CUDA_DEVICE_MAX_CONNECTIONS", "CUDA_DEVICE_MAX_COPY_CONNECTIONS");
        assert_eq!(queues(&[]), 4);
        assert_eq!(queues(&[(all, "1")]), 1);
        assert_eq!(queues(&[(all, "1"), (copies, "8")]), 8);
        assert_eq!((queues(&[(copies, "0")]), queues(&[(copies, "1000")]), queues(&[(copies, "x")])), (1, 32, 4));
    }

    #[test]
    fn errors_name_the_option_and_the_choices() {
        let mut options = Options::default();
        let error = options.set("automatic", "teleport").unwrap_err();
        assert_eq!(error.to_string(), "option automatic cannot be \"teleport\": expected size, demand or off");
        assert_eq!(
            options.set("automtic", "size").unwrap_err().to_string(),
            "no option is called automtic: is it automatic?"
        );
        let faults = options.apply_variables(|name| (name == "OVERTAKE_TRACE").then(|| "much".to_owned()));
        assert_eq!(faults[0].to_string(), "OVERTAKE_TRACE: cannot be \"much\": expected on or off");
        assert!(["16M", "@6", "16M@0", "16M@x", "x@6"].iter().all(|demand| options.set("demand", demand).is_err()));
        assert_eq!(options.with("demand", "3K@7").map(|options| options.demand.to_string()), Ok("3K@7".to_owned()));
    }

    #[test]
    fn the_kill_switch() {
        let mut options = Options::default();
        assert_eq!(options.apply_variables(|name| (name == "OVERTAKE").then(|| "off".to_owned())), []);
        assert!(!options.enabled);
    }

    #[test]
    fn every_fault_of_a_file_has_its_place_and_leaves_the_rest_alone() {
        let mut options = Options::default();
        let text = "trace = true\nautomtic = \"size\"\nwait_budget_us = [3]\npriorities = 8\n";
        let faults: Vec<String> =
            options.apply_toml(&Source { origin: "o.toml", text }).iter().map(ToString::to_string).collect();
        let places: Vec<&str> = faults.iter().map(|fault| fault.lines().next().unwrap_or_default()).collect();
        assert_eq!(
            places,
            [
                "o.toml:2:1: no option is called automtic: is it automatic?",
                "o.toml:3:18: wait_budget_us: expected microseconds, at most an hour",
            ]
        );
        assert!(options.trace && options.priorities.count() == 8);
        let faults = options.apply_toml(&Source { origin: "o.toml", text: "no toml" });
        assert!(faults.len() == 1 && faults[0].to_string().starts_with("o.toml:1:4: "), "{faults:?}");
    }
}
