//! The one door for variables that name a file or a folder. A program with more rights than its caller ignores them:
//! its caller would otherwise choose which files it loads, reads and writes with those rights. And the one place that
//! sets a variable.
#![allow(unsafe_code)] // a question to the kernel, and a variable that is set

use std::ffi::OsString;
use std::sync::Once;

/// Whether the kernel says that this program runs with other rights than its caller: set-user-id, set-group-id, file
/// capabilities, or a security module.
#[must_use]
pub fn is_privileged() -> bool {
    // SAFETY: the call takes a number and touches no memory.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// The value of a variable that names a file or a folder, unless it is empty or must be ignored.
#[must_use]
pub fn path(name: &str) -> Option<OsString> {
    let value = path_from(name, is_privileged(), |name| std::env::var_os(name));
    if value.is_none() && std::env::var_os(name).is_some_and(|value| !value.is_empty()) {
        warn_of(name);
    }
    value
}

/// As [`path`], with the rights and the variables as arguments.
#[must_use]
pub fn path_from(name: &str, is_privileged: bool, lookup: impl FnOnce(&str) -> Option<OsString>) -> Option<OsString> {
    if is_privileged { None } else { lookup(name).filter(|value| !value.is_empty()) }
}

/// Sets a variable of this process, for itself and for its children. `false`, and nothing is set, if it has more than
/// one thread, or if the system does not tell their number: another one could be reading the variables meanwhile.
pub fn set_alone(name: &str, value: &str) -> bool {
    let threads = std::fs::read_dir("/proc/self/task").map_or(usize::MAX, Iterator::count);
    if threads != 1 {
        return false;
    }
    // SAFETY: this is the only thread of the process, so no other one reads or writes variables, and none is started
    // before the call returns.
    unsafe { std::env::set_var(name, value) };
    true
}

fn warn_of(name: &str) {
    static WARNED: Once = Once::new();
    WARNED.call_once(|| {
        log::warn!(
            "{name} is ignored, and so is every other variable that names a file or a folder: this program runs with \
             other rights than its caller's"
        );
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_heard_of_only_without_privileges() {
        let lookup = |name: &str| (name == "SET").then(|| OsString::from("value"));
        assert_eq!(path_from("SET", false, lookup), Some("value".into()));
        assert_eq!(path_from("SET", true, lookup), None);
        assert_eq!(path_from("UNSET", false, lookup), None);
        assert_eq!(path_from("EMPTY", false, |_| Some(OsString::new())), None);
        assert!(!is_privileged(), "a test has its caller's rights");
    }
}
