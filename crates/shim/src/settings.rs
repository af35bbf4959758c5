//! The settings of a process, from files and environment variables.

use std::ffi::OsString;
use std::path::Path;

use copies::options::{Profile, syntax, unreadable};
use copies::{Options, Priorities};
use os::fault::{Fault, Source};
use os::{file, variable};
use toml::de::DeTable;

use crate::observe::{self, Mode};
use crate::rules::Rules;

/// CUDA's greatest stream priority lies five steps above its least; below those levels lie small copies and bulk.
const PRIORITIES: u8 = 7;

/// The variable that keeps the figures of this process from others.
const LIVE: &str = "OVERTAKE_LIVE";

/// The name of a program's text of options in messages about faults.
pub(crate) const OPTIONS: &str = "the options";

/// The variables that name files.
const FILES: [&str; 2] = ["OVERTAKE_CONFIG", "OVERTAKE_RULES"];

/// The settings of a process.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The copy layer's tunables.
    pub options: Options,
    /// The priorities of copies.
    pub rules: Rules,
    /// Whether the drop-in watches copies.
    pub observe: Mode,
    /// Whether other processes may read the figures of this one.
    pub live: bool,
    /// Faults of files and variables.
    pub faults: Vec<Fault>,
    /// Settings without effect and those of tests, in words for the user.
    pub warnings: Vec<String>,
    /// A warning for each unknown variable that begins like ours.
    pub unknown: Vec<String>,
}

impl Default for Settings {
    fn default() -> Settings {
        let options = Options {
            priorities: Priorities::new(PRIORITIES).expect("7 is a valid count"),
            // Most programs pin no memory, and large copies of theirs are several times as fast.
            staging: true,
            profile: Profile::DROP_IN,
            ..Options::default()
        };
        let (observe, rules) = (Mode::Off, Rules::default());
        Settings { options, rules, observe, live: true, faults: Vec::new(), warnings: Vec::new(), unknown: Vec::new() }
    }
}

impl Settings {
    /// The settings of this process.
    #[must_use]
    pub fn of_this_process() -> Settings {
        let mut settings = Settings::from_environment(|name| std::env::var(name).ok());
        settings.unknown = copies::variables::unknown_here();
        settings
    }

    /// Defaults, then the file of `OVERTAKE_CONFIG`, then that of `OVERTAKE_RULES`, then the variables. A faulty
    /// setting keeps its default: a program must not fail for it.
    #[must_use]
    pub fn from_environment(lookup: impl Fn(&str) -> Option<String>) -> Settings {
        Settings::from_surroundings(variable::is_privileged(), lookup)
    }

    /// The same. In a program with other rights than its caller's it reads no file.
    fn from_surroundings(is_privileged: bool, lookup: impl Fn(&str) -> Option<String>) -> Settings {
        let mut settings = Settings::default();
        for name in FILES {
            match variable::path_from(name, is_privileged, |name| lookup(name).map(OsString::from)) {
                Some(path) => settings.apply_file(name, &path.to_string_lossy()),
                None if lookup(name).is_some_and(|path| !path.is_empty()) => settings.warnings.push(unheard(name)),
                None => {}
            }
        }
        settings.faults.extend(settings.options.apply_variables(&lookup));
        settings.set_mode(lookup(observe::VARIABLE));
        settings.set_live(lookup(LIVE));
        settings.warnings.extend(settings.options.apply_unlisted(&lookup).iter().map(ToString::to_string));
        settings
    }

    fn set_live(&mut self, text: Option<String>) {
        match text.unwrap_or_default().as_str() {
            "" | "on" => self.live = true,
            "off" => self.live = false,
            other => self.warnings.push(format!("{LIVE} cannot be {other:?}: it is on or off")),
        }
    }

    fn set_mode(&mut self, text: Option<String>) {
        let text = text.unwrap_or_default();
        match Mode::from_text(&text) {
            Some(mode) => self.observe = mode,
            None => self.warnings.push(format!("{} cannot be {text:?}: it is off, only or also", observe::VARIABLE)),
        }
    }

    /// The faults of a text of options on top of this process's own settings.
    pub(crate) fn faults_of_text(text: &str) -> Vec<Fault> {
        let mut settings = Settings::of_this_process();
        settings.faults.clear();
        settings.apply_toml(&Source { origin: OPTIONS, text });
        settings.faults
    }

    fn apply_file(&mut self, variable: &str, path: &str) {
        match file::read_text(Path::new(path)) {
            Ok(text) => self.apply_toml(&Source { origin: path, text: &text }),
            Err(error) => self.faults.push(unreadable(variable, path, &error)),
        }
    }

    /// Applies a TOML text of options and `[[rule]]` tables.
    pub fn apply_toml(&mut self, source: &Source<'_>) {
        let table = match DeTable::parse(source.text) {
            Ok(table) => table,
            Err(error) => return self.faults.push(syntax(source, &error)),
        };
        let mut faults = Vec::new();
        let (rules, options) = table.get_ref().iter().partition::<Vec<_>, _>(|(name, _)| *name.get_ref() == "rule");
        for (name, value) in options {
            faults.extend(self.options.apply(source, name, value).err());
        }
        // After the options, which name the number of priorities.
        for (_, value) in rules {
            match Rules::read(source, value, self.options.priorities) {
                Ok(rules) => self.rules = rules,
                Err(more) => faults.extend(more),
            }
        }
        os::fault::sort(&mut faults);
        self.faults.append(&mut faults);
    }
}

fn unheard(name: &str) -> String {
    format!("{name} is ignored: this program runs with other rights than its caller's")
}

#[cfg(test)]
mod tests {
    use copies::options::Automatic;

    use super::*;

    fn apply(settings: &mut Settings, text: &str) {
        settings.apply_toml(&Source { origin: "a file", text });
    }

    fn shown(settings: &Settings) -> Vec<String> {
        settings.faults.iter().map(|fault| fault.to_string().lines().next().unwrap_or_default().to_owned()).collect()
    }

    #[test]
    fn file_and_variables_have_their_say_in_this_order() {
        let mut settings = Settings::default();
        apply(&mut settings, "bulk_bytes_min = \"2M\"\npeer_gbps = 50\n[[rule]]\npriority = 5\n");
        assert_eq!(shown(&settings), [""; 0]);
        assert_eq!((settings.options.bulk_bytes_min, settings.rules.len()), (2 << 20, 1));
        let lookup = |name: &str| match name {
            "OVERTAKE_AUTOMATIC" => Some("size".to_owned()),
            "OVERTAKE" => Some("off".to_owned()),
            _ => None,
        };
        let settings = Settings::from_environment(lookup);
        assert_eq!((settings.options.automatic, settings.options.enabled), (Automatic::Size, false));
    }

    #[test]
    fn the_mode_of_watching_is_a_variable_of_its_own() {
        let of =
            |value: &str| Settings::from_environment(|name| (name == "OVERTAKE_OBSERVE").then(|| value.to_owned()));
        assert_eq!(
            ["only", "also", "off", ""].map(|value| of(value).observe),
            [Mode::Only, Mode::Also, Mode::Off, Mode::Off]
        );
        let wrong = of("always");
        assert!(wrong.observe == Mode::Off && wrong.warnings[0].contains("it is off, only or also"), "{wrong:?}");
    }

    #[test]
    fn live_figures_are_on_unless_the_variable_says_off() {
        let of = |value: &str| Settings::from_environment(|name| (name == LIVE).then(|| value.to_owned()));
        assert_eq!(["", "on", "off"].map(|value| of(value).live), [true, true, false]);
        let wrong = of("no");
        assert!(wrong.live && wrong.warnings[0].contains("OVERTAKE_LIVE cannot be \"no\""), "{wrong:?}");
    }

    #[test]
    fn nonsense_is_told_with_its_place_and_harmless() {
        let mut settings = Settings::default();
        apply(&mut settings, "automatic = \"on\"\nwait_buget_us = 3\n[[rule]]\npriority = 99\n");
        let expected = [
            "a file:1:13: automatic: expected size, demand or off",
            "a file:2:1: no option is called wait_buget_us: is it wait_budget_us?",
            "a file:4:12: rule 1: priority 99 is not one of 1..=7",
        ];
        assert_eq!(shown(&settings), expected);
        assert_eq!(settings.options, Settings::default().options);
        apply(&mut settings, "no toml");
        assert!(settings.faults.len() == 4 && shown(&settings)[3].starts_with("a file:1:4: "), "{settings:?}");
    }

    /// Programs that pin nothing gain most, and none of them sets an option.
    #[test]
    fn pageable_copies_are_staged_under_the_drop_in_alone() {
        assert!(Settings::default().options.staging && !Options::default().staging);
        let off = Settings::from_environment(|name| (name == "OVERTAKE_STAGING").then(|| "off".to_owned()));
        assert!(off.faults.is_empty() && !off.options.staging, "{off:?}");
    }

    #[test]
    fn rules_may_use_the_priorities_that_the_same_file_makes() {
        let mut settings = Settings::default();
        apply(&mut settings, "priorities = 12\n[[rule]]\npriority = 11\n");
        assert_eq!((shown(&settings), settings.rules.len()), (Vec::new(), 1));
    }

    #[test]
    fn a_file_is_not_heard_of_by_a_privileged_program() {
        let lookup = |name: &str| (name == "OVERTAKE_RULES").then(|| "/nonexistent/rules.toml".to_owned());
        let heard = Settings::from_surroundings(false, lookup);
        assert!(shown(&heard)[0].starts_with("/nonexistent/rules.toml: cannot be read: "), "{heard:?}");
        let unheard = Settings::from_surroundings(true, lookup);
        assert!(unheard.faults.is_empty() && unheard.warnings[0].contains("OVERTAKE_RULES"), "{unheard:?}");
    }
}
