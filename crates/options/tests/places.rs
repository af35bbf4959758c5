//! Each option sets a place of its own among the settings, the one that its name says, and nothing else.

use std::collections::{BTreeMap, BTreeSet};

use overtake_options::{Options, Tunable};

/// Texts that some kind of option takes. Each option takes two of them at least.
const TEXTS: &[&str] = &[
    "on", "off", "1", "2", "3", "0.25", "0.5", "64K", "auto", "engine", "kernel", "native", "hold", "bracket", "size",
    "demand", "1M@3", "2M@4", "1M@4",
];

/// Options whose places lack a word of their name.
const OTHERWISE: [(&str, &str); 2] = [("guard_after_us", "guard.patience"), ("bulk_share", "profile.share.share")];

/// The options that have several places, and how many.
const SEVERAL: [(&str, usize); 1] = [("demand", 2)];

/// All options, and the values that tests set.
fn all() -> impl Iterator<Item = &'static Tunable> {
    Options::tunables().chain(Options::unlisted())
}

/// The default with one more set; `None` if it does not take the text.
fn with(tunable: &Tunable, text: &str) -> Option<Options> {
    if Options::tunables().any(|option| option.name == tunable.name) {
        return Options::default().with(tunable.name, text).ok();
    }
    let (mut options, test) = (Options::default(), format!("{}={text}", tunable.name));
    options.apply_unlisted(|name| (name == "OVERTAKE_UNLISTED").then(|| test.clone())).is_empty().then_some(options)
}

/// The fields with their values, by their paths, as the settings show them for debugging.
fn fields(options: &Options) -> BTreeMap<String, String> {
    let (mut fields, mut path) = (BTreeMap::new(), Vec::new());
    for line in format!("{options:#?}").lines().map(str::trim) {
        let (name, value) = line.split_once(": ").unwrap_or(("", line));
        if line.ends_with(['{', '(']) {
            path.push(name.to_owned());
        } else if line.starts_with(['}', ')']) {
            path.pop();
        } else {
            let names = path.iter().map(String::as_str).chain([name]).filter(|name| !name.is_empty());
            fields.insert(names.collect::<Vec<_>>().join("."), value.trim_end_matches(',').to_owned());
        }
    }
    fields
}

/// The places that differ.
fn changed(one: &Options, other: &Options) -> BTreeSet<String> {
    let (one, other) = (fields(one), fields(other));
    let names = one.keys().chain(other.keys());
    names.filter(|name| one.get(*name) != other.get(*name)).cloned().collect()
}

/// The settings after each text that the option takes, with the text.
fn settings(tunable: &Tunable) -> Vec<(&'static str, Options)> {
    TEXTS.iter().filter_map(|text| Some((*text, with(tunable, text)?))).collect()
}

/// Whether the place has all words of the name but the unit.
fn is_named(place: &str, name: &str) -> bool {
    let words: BTreeSet<&str> = place.split(['_', '.']).collect();
    name.split('_').all(|word| word == "us" || words.contains(word)) || OTHERWISE.contains(&(name, place))
}

#[test]
fn each_option_sets_the_place_of_its_name() {
    let mut taken = BTreeSet::new();
    for tunable in all() {
        let settings = settings(tunable);
        let places: BTreeSet<String> = settings.iter().flat_map(|(_, one)| changed(one, &settings[0].1)).collect();
        let place = places.first().unwrap_or_else(|| panic!("{} sets nothing", tunable.name));
        let count = SEVERAL.iter().find(|(name, _)| *name == tunable.name).map_or(1, |(_, count)| *count);
        assert_eq!(places.len(), count, "{} sets {places:?}", tunable.name);
        assert!(is_named(place, tunable.name), "{} sets {place}", tunable.name);
        assert!(places.iter().all(|place| taken.insert(place.clone())), "{} sets what another sets", tunable.name);
    }
}

/// What is set is read back, and all others read as before.
#[test]
fn what_is_set_is_shown_by_that_option_alone() {
    let default = Options::default();
    for tunable in all() {
        for (text, options) in settings(tunable) {
            let shown = tunable.value(&options);
            let again = with(tunable, &shown).unwrap();
            assert_eq!(again, options, "{} = {text}, shown as {shown}", tunable.name);
            for other in all().filter(|other| other.name != tunable.name) {
                assert_eq!(other.value(&options), other.value(&default), "{} sets {}", tunable.name, other.name);
            }
        }
    }
}
