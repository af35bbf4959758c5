//! The behaviour of `overtake run` here: the library that it would load, and the meaning of the environment.

use std::collections::BTreeMap;

use console::environment::{MAX_CONNECTIONS, MAX_COPY_CONNECTIONS};
use overtake::options::Automatic;
use report::format;
use serde::Serialize;
use shim::settings::Settings;

use super::warnings::Warning;
use crate::run;

/// The behaviour of `overtake run` here.
#[derive(Debug, Serialize)]
pub struct DropIn {
    /// The library that it would load; `null` if it would find none.
    pub library: Option<String>,
    /// Its behaviour, by subject.
    pub notes: BTreeMap<&'static str, String>,
}

/// Looks, and warns of settings that are not understood.
pub fn drop_in(environment: &BTreeMap<String, String>) -> (DropIn, Vec<Warning>) {
    let settings = Settings::from_environment(|name| environment.get(name).cloned());
    let faults = settings.faults.iter().map(ToString::to_string);
    let warnings = faults.map(|fault| Warning::new(fault, "change or unset it; its default is in use"));
    let unknown = overtake::variables::unknown(environment.keys().cloned()).into_iter();
    let warnings = warnings.chain(unknown.map(|unknown| Warning::new(unknown, "correct or unset it")));
    let ignored = settings.warnings.iter();
    let warnings = warnings.chain(ignored.map(|ignored| Warning::new(ignored.clone(), "correct or remove it")));
    let library = run::library().map(|path| path.display().to_string()).ok();
    let drop_in = DropIn { library, notes: notes(&settings, environment) };
    (drop_in, warnings.collect())
}

fn notes(settings: &Settings, environment: &BTreeMap<String, String>) -> BTreeMap<&'static str, String> {
    let copies = match environment.get(MAX_COPY_CONNECTIONS) {
        None => "not set: fine; 8 leaves urgent copies a free queue more often where many streams wait".to_owned(),
        Some(value) => format!("{value}: left as it is"),
    };
    let kernels = match environment.get(MAX_CONNECTIONS).map(String::as_str) {
        None => "not set: fine".to_owned(),
        Some("1") => {
            "1: copy kernels could wait for kernels that wait for them, so bulk copies are left to the driver, \
                      and urgent copies wait for them as they do without overtake"
                .to_owned()
        }
        Some(value) => format!("{value}: left as it is"),
    };
    let mut notes = BTreeMap::from([(MAX_COPY_CONNECTIONS, copies), (MAX_CONNECTIONS, kernels)]);
    notes.insert("bulk", bulk(settings));
    notes.insert("kernels that fill the GPU", full(settings));
    notes
}

fn bulk(settings: &Settings) -> String {
    if !settings.options.enabled {
        return "everything is switched off: OVERTAKE=off, or its option".to_owned();
    }
    let (options, unless) = (&settings.options, "unless rules or the program give them a priority");
    match options.automatic {
        Automatic::Size => format!("copies of {} and more, {unless}", format::size(options.bulk_bytes_min)),
        Automatic::Demand => format!(
            "copies of streams that ask for more than {} at once, or for more than {} GB/s for long, {unless}",
            format::size(options.demand.burst_bytes),
            options.demand.gbps
        ),
        Automatic::Off => "only copies that rules, streams or the C interface make bulk".to_owned(),
    }
}

/// A kernel that occupies every multiprocessor until data arrives leaves none to the copy kernel that brings the
/// data.
fn full(settings: &Settings) -> String {
    format!(
        "a bulk copy that finds no multiprocessor for {} is taken over by the copy engine; where that happens often, \
         all bulk is left to the driver",
        format::span_us(settings.options.guard.patience.0 as f64 / 1e3)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noted(pairs: &[(&str, &str)]) -> BTreeMap<&'static str, String> {
        let environment = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        drop_in(&environment).0.notes
    }

    #[test]
    fn the_connection_variables_are_explained() {
        assert!(noted(&[])[MAX_COPY_CONNECTIONS].starts_with("not set: fine"));
        let set = noted(&[(MAX_COPY_CONNECTIONS, "32"), (MAX_CONNECTIONS, "1")]);
        assert!(set[MAX_COPY_CONNECTIONS].starts_with("32:") && set[MAX_CONNECTIONS].contains("left to the driver"));
    }

    #[test]
    fn behaviour_on_a_full_gpu_follows_the_options() {
        let text = &noted(&[("OVERTAKE_GUARD_AFTER_US", "5000")])["kernels that fill the GPU"];
        assert!(text.contains("5 ms"), "{text}");
    }

    #[test]
    fn bulk_is_explained() {
        let by_size = &noted(&[("OVERTAKE_AUTOMATIC", "size"), ("OVERTAKE_BULK_BYTES_MIN", "4M")])["bulk"];
        assert!(by_size.contains("4 MiB"), "{by_size}");
        let by_demand = &noted(&[("OVERTAKE_DEMAND", "16M@9")])["bulk"];
        assert!(by_demand.contains("16 MiB") && by_demand.contains("9 GB/s"), "{by_demand}");
        assert!(noted(&[("OVERTAKE_AUTOMATIC", "off")])["bulk"].starts_with("only copies"));
        assert!(noted(&[("OVERTAKE", "off")])["bulk"].contains("switched off"));
    }

    #[test]
    fn variables_without_effect_are_warned_of() {
        let environment = BTreeMap::from([("OVERTAKE_WAIT_BUGET_US".to_owned(), "30".to_owned())]);
        let warnings = drop_in(&environment).1;
        assert!(warnings.len() == 1 && warnings[0].what.contains("OVERTAKE_WAIT_BUDGET_US"), "{warnings:?}");
    }

    #[test]
    fn faulty_values_are_warned_of() {
        let environment = BTreeMap::from([("OVERTAKE_AUTOMATIC".to_owned(), "teleport".to_owned())]);
        let warnings = drop_in(&environment).1;
        assert!(warnings.len() == 1 && warnings[0].what.contains("teleport"), "{warnings:?}");
    }
}
