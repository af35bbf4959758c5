//! The environment of the program.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use console::environment::{MAX_CONNECTIONS, MAX_COPY_CONNECTIONS};
use console::failure::{Failure, Result};
use overtake::options::WHOLE_BULK_FROM;
use shim::settings::Settings;

use super::args::{Deployment, RunArguments};
use super::needed;

/// The folder for a process's report.
pub const REPORT_FOLDER: &str = "OVERTAKE_REPORT_DIR";
/// The folder for a process's trace.
pub const TRACE_FOLDER: &str = "OVERTAKE_TRACE_DIR";
/// Whether the drop-in watches copies.
pub const OBSERVE: &str = "OVERTAKE_OBSERVE";
/// The kill switch.
const SWITCH: &str = "OVERTAKE";
/// Looks up a variable of the present environment.
pub type Lookup<'a> = &'a dyn Fn(&str) -> Option<OsString>;
/// The changes to it.
pub type Changes = BTreeMap<String, OsString>;

/// The dynamic loader's variables for each deployment.
pub enum Loading<'a> {
    /// The library, into `LD_PRELOAD`.
    Preload(&'a Path),
    /// The folder where the library is called libcuda.so.1, and the driver's own library.
    Shadow(&'a Path, &'a Path),
    /// The library, into `LD_AUDIT`.
    Audit(&'a Path),
}

impl Loading<'_> {
    /// The variables of this deployment. Libraries in them keep their places; ours comes last, and only once.
    pub fn changes(&self, lookup: Lookup<'_>) -> Changes {
        match self {
            Loading::Preload(library) => {
                let list = appended(lookup("LD_PRELOAD").as_deref(), library, b": ");
                Changes::from([("LD_PRELOAD".to_owned(), list)])
            }
            Loading::Audit(library) => {
                let list = appended(lookup("LD_AUDIT").as_deref(), library, b":");
                Changes::from([("LD_AUDIT".to_owned(), list)])
            }
            Loading::Shadow(folder, driver) => Changes::from([
                ("LD_LIBRARY_PATH".to_owned(), prepended(lookup("LD_LIBRARY_PATH").as_deref(), folder)),
                (driver::LIBRARY_VARIABLE.to_owned(), driver.as_os_str().to_owned()),
            ]),
        }
    }
}

fn appended(present: Option<&OsStr>, ours: &Path, separators: &[u8]) -> OsString {
    let ours = ours.as_os_str();
    let Some(present) = present.filter(|present| !present.is_empty()) else { return ours.to_owned() };
    let mut names = present.as_encoded_bytes().split(|byte| separators.contains(byte));
    if names.any(|name| name == ours.as_encoded_bytes()) {
        return present.to_owned();
    }
    joined(present, ours)
}

fn prepended(present: Option<&OsStr>, ours: &Path) -> OsString {
    match present.filter(|present| !present.is_empty()) {
        // An empty element would mean the current folder.
        None => ours.as_os_str().to_owned(),
        Some(present) => joined(ours.as_os_str(), present),
    }
}

fn joined(first: &OsStr, second: &OsStr) -> OsString {
    let mut list = first.to_owned();
    list.push(":");
    list.push(second);
    list
}

/// The options on the command line, as variables of the same meaning.
pub fn settings(run: &RunArguments) -> Result<Changes> {
    let mut changes = Changes::new();
    for (name, path) in [("OVERTAKE_CONFIG", &run.config), ("OVERTAKE_RULES", &run.rules)] {
        if let Some(path) = path {
            changes.insert(name.to_owned(), readable(path)?.into_os_string());
        }
    }
    if let Some(rule) = &run.automatic {
        changes.insert("OVERTAKE_AUTOMATIC".to_owned(), rule.into());
    }
    if let Some(size) = &run.bulk_bytes_min {
        changes.insert("OVERTAKE_BULK_BYTES_MIN".to_owned(), size.into());
    }
    if let Some(us) = &run.wait_budget {
        changes.insert("OVERTAKE_WAIT_BUDGET_US".to_owned(), us.into());
    }
    for setting in &run.settings {
        changes.insert(format!("OVERTAKE_{}", setting.name.to_uppercase()), setting.value.clone().into());
    }
    if run.observe {
        changes.insert(OBSERVE.to_owned(), "only".into());
    }
    if run.off {
        changes.insert(SWITCH.to_owned(), "off".into());
    }
    Ok(changes)
}

/// Checks that the drop-in will understand all variables, because it can only warn, once in every process. Returns what
/// it will warn of: settings without effect, and those of tests.
pub fn check(changes: &Changes, lookup: Lookup<'_>) -> Result<Vec<String>> {
    let value = |name: &str| changes.get(name).cloned().or_else(|| lookup(name));
    let settings = Settings::from_environment(|name| value(name).map(|value| value.display().to_string()));
    let faults: Vec<String> = settings.faults.iter().map(ToString::to_string).collect();
    if faults.is_empty() { Ok(settings.warnings) } else { Err(Failure::Other(faults.join("\n"))) }
}

/// Whether the drop-in will do nothing. Then the command must change nothing else either.
pub fn is_off(run: &RunArguments, lookup: Lookup<'_>) -> bool {
    run.off || lookup(SWITCH).is_some_and(|value| is_off_word(value.as_encoded_bytes()))
}

/// Whether this value of the switch means off.
pub fn is_off_word(value: &[u8]) -> bool {
    [&b"off"[..], b"0", b"false", b"no"].contains(&value)
}

/// The absolute path of a file that can be read. Children may run in other folders.
fn readable(path: &Path) -> Result<PathBuf> {
    let opened = os::file::open(path).and_then(|_| path.canonicalize());
    opened.map_err(|error| Failure::Other(format!("cannot read {}: {error}; name another file", path.display())))
}

/// Warnings about settings that make copies or kernels wait for one another, with the cure.
pub fn warnings(run: &RunArguments, lookup: Lookup<'_>) -> Vec<String> {
    // Switched off, the library is loaded all the same.
    let mut warnings = Vec::from_iter(sanitized(run));
    if is_off(run, lookup) {
        return warnings;
    }
    let budget_us = run.wait_budget.as_deref().and_then(|us| us.parse::<u64>().ok());
    if let Some(us) = budget_us.filter(|us| (1..WHOLE_BULK_FROM.0 / 1_000).contains(us)) {
        warnings.push(format!("--wait-budget {us}us is the same as 0: bulk gives way; from 60us on it stays whole"));
    }
    if lookup(MAX_CONNECTIONS).is_some_and(|value| value == "1") {
        warnings.push(format!(
            "{MAX_CONNECTIONS}=1: all kernels share one hardware queue, where a copy kernel could wait for a kernel \
             that waits for its data; bulk copies are therefore left to the driver, and urgent copies wait for them \
             as they do without overtake; unset it, or set it to 8, if the program permits that"
        ));
    }
    let queues = lookup(MAX_COPY_CONNECTIONS).and_then(|value| value.to_str()?.parse::<u32>().ok());
    if let Some(queues) = queues.filter(|queues| *queues < 4) {
        warnings.push(format!(
            "{MAX_COPY_CONNECTIONS}={queues}: an urgent copy may find no free hardware queue and wait for a bulk copy; \
             unset it, which leaves the driver's four, or set it to 8"
        ));
    }
    warnings
}

/// The runtime of gcc's address sanitizer ends a program where another library comes before it.
fn sanitized(run: &RunArguments) -> Option<String> {
    if run.deployment != Deployment::Preload {
        return None;
    }
    let program = &run.program[0];
    let runtime = needed::libraries(program).into_iter().find(|name| name.starts_with("libasan.so"))?;
    Some(format!(
        "{} is linked with the address sanitizer ({runtime}), which ends a program that has a preloaded library; run \
         it with --deployment audit or --deployment shadow",
        program.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::args::{Deployment, Setting};

    fn nothing(_: &str) -> Option<OsString> {
        None
    }

    fn with<'a>(pairs: &'a [(&'a str, &'a str)]) -> impl Fn(&str) -> Option<OsString> + 'a {
        |name| pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
    }

    fn arguments() -> RunArguments {
        RunArguments {
            library: None,
            deployment: Deployment::Preload,
            automatic: None,
            bulk_bytes_min: None,
            wait_budget: None,
            rules: None,
            config: None,
            settings: Vec::new(),
            off: false,
            observe: false,
            compare: None,
            hide_output: false,
            report: false,
            json: None,
            trace: None,
            program: vec!["true".into()],
        }
    }

    #[test]
    fn our_library_comes_after_those_that_are_there_and_once() {
        let ours = Path::new("/o/x.so");
        assert_eq!(appended(None, ours, b": "), "/o/x.so");
        assert_eq!(appended(Some(OsStr::new("")), ours, b": "), "/o/x.so");
        assert_eq!(appended(Some(OsStr::new("/a.so /b.so")), ours, b": "), "/a.so /b.so:/o/x.so");
        assert_eq!(appended(Some(OsStr::new("/a.so /o/x.so")), ours, b": "), "/a.so /o/x.so");
    }

    #[test]
    fn a_shadow_comes_first() {
        let shadow = Loading::Shadow(Path::new("/s"), Path::new("/usr/lib/libcuda.so.1"));
        let changes = shadow.changes(&with(&[("LD_LIBRARY_PATH", "/a:/b")]));
        assert_eq!(changes["LD_LIBRARY_PATH"], "/s:/a:/b");
        assert_eq!(changes["OVERTAKE_LIBCUDA"], "/usr/lib/libcuda.so.1");
        assert_eq!(shadow.changes(&with(&[("LD_LIBRARY_PATH", "")]))["LD_LIBRARY_PATH"], "/s");
    }

    #[test]
    fn options_become_variables() {
        let settings_of = |name: &str, value: &str| Setting { name: name.to_owned(), value: value.to_owned() };
        let mut run = arguments();
        run.automatic = Some("demand".to_owned());
        run.bulk_bytes_min = Some("4M".to_owned());
        run.wait_budget = Some("50".to_owned());
        assert_eq!(settings(&run).unwrap()["OVERTAKE_WAIT_BUDGET_US"], "50");
        run.settings = vec![settings_of("wait_budget_us", "10"), settings_of("wait_budget_us", "30")];
        let changes = settings(&run).unwrap();
        assert_eq!(changes["OVERTAKE_AUTOMATIC"], "demand");
        assert_eq!(changes["OVERTAKE_BULK_BYTES_MIN"], "4M");
        assert_eq!(changes["OVERTAKE_WAIT_BUDGET_US"], "30", "the last one takes precedence");
        assert!(!changes.contains_key(MAX_COPY_CONNECTIONS), "the program chooses its number of queues");
        check(&changes, &nothing).unwrap();
        run.rules = Some("/nonexistent/rules.toml".into());
        assert!(settings(&run).unwrap_err().to_string().contains("/nonexistent/rules.toml"));
    }

    #[test]
    fn values_that_the_drop_in_refuses_are_refused_beforehand() {
        let folder = tempfile::tempdir().unwrap();
        let rules = folder.path().join("rules.toml");
        std::fs::write(&rules, "[[rule]]\npriority = 99\n").unwrap();
        let changes = Changes::from([("OVERTAKE_RULES".to_owned(), rules.into_os_string())]);
        assert!(check(&changes, &nothing).unwrap_err().to_string().contains("rules.toml:2:12: rule 1: priority 99"));
        assert!(check(&Changes::new(), &with(&[("OVERTAKE_AUTOMATIC", "teleport")])).is_err());
        assert_eq!(check(&Changes::new(), &nothing).unwrap(), [""; 0]);
    }

    #[test]
    fn switched_off_nothing_else_changes() {
        let run = RunArguments { off: true, ..arguments() };
        let changes = settings(&run).unwrap();
        assert_eq!((changes.len(), changes["OVERTAKE"].to_str()), (1, Some("off")));
    }

    #[test]
    fn a_budget_that_changes_nothing_is_warned_of() {
        let count =
            |us: &str| warnings(&RunArguments { wait_budget: Some(us.to_owned()), ..arguments() }, &nothing).len();
        assert_eq!(["0", "1", "59", "60"].map(count), [0, 1, 1, 0]);
    }

    #[test]
    fn few_connections_are_warned_of() {
        let one = warnings(&arguments(), &with(&[(MAX_CONNECTIONS, "1"), (MAX_COPY_CONNECTIONS, "1")]));
        assert!(one.len() == 2 && one[0].contains("unset it") && one[1].contains("set it to 8"), "{one:?}");
        assert_eq!(warnings(&arguments(), &with(&[(MAX_CONNECTIONS, "8"), (MAX_COPY_CONNECTIONS, "8")])).len(), 0);
        assert_eq!(warnings(&arguments(), &with(&[(MAX_CONNECTIONS, "1"), ("OVERTAKE", "off")])).len(), 0);
    }
}
