//! The environment of the program, and its inheritance.

use std::process::Stdio;

use super::stand_ins::{command, compile, library, run};
use crate::common::{Folder, succeed, text};

/// Prints the variables of interest.
const PRINT: &str = "echo \"$LD_PRELOAD|$LD_AUDIT|$CUDA_DEVICE_MAX_COPY_CONNECTIONS|$OVERTAKE\"";

fn printed(folder: &Folder, arguments: &[&str], environment: &[(&str, &str)]) -> String {
    let output = run(folder, &[arguments, &["--", "sh", "-c", PRINT]].concat(), environment);
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout).trim_end().to_owned()
}

#[test]
fn the_library_is_preloaded_by_its_absolute_path_after_others() {
    let folder = Folder::new("run-preload");
    let (library, other) = (library(&folder, "dropin.so"), library(&folder, "other.so"));
    let (library, other) = (library.to_str().unwrap(), other.to_str().unwrap());
    assert_eq!(printed(&folder, &[], &[]), format!("{library}|||"));
    assert_eq!(printed(&folder, &[], &[("LD_PRELOAD", other)]), format!("{other}:{library}|||"));
    assert_eq!(printed(&folder, &["--deployment", "audit"], &[]), format!("|{library}||"));
}

#[test]
fn variables_of_the_user_stay() {
    let folder = Folder::new("run-set");
    assert!(printed(&folder, &[], &[("CUDA_DEVICE_MAX_COPY_CONNECTIONS", "4")]).ends_with("|4|"));
    assert!(printed(&folder, &["--off"], &[]).ends_with("||off"), "switched off, nothing else changes either");
    assert!(printed(&folder, &[], &[("OVERTAKE", "off")]).ends_with("||off"));
}

#[test]
fn options_arrive_as_variables_with_absolute_paths() {
    let folder = Folder::new("run-options");
    std::fs::write(folder.path().join("rules.toml"), "").unwrap();
    let print = "cd / && echo $OVERTAKE_BULK_BYTES_MIN $OVERTAKE_WAIT_BUDGET_US && ls $OVERTAKE_RULES";
    let arguments =
        ["--bulk-bytes-min", "4M", "--set", "wait_budget_us=30", "--rules", "rules.toml", "sh", "-c", print];
    let output = run(&folder, &arguments, &[]);
    let rules = folder.path().canonicalize().unwrap().join("rules.toml");
    assert_eq!(text(&output.stdout), format!("4M 30\n{}\n", rules.display()), "{}", text(&output.stderr));
    let output = run(&folder, &["--wait-budget", "2ms", "--", "sh", "-c", "echo $OVERTAKE_WAIT_BUDGET_US"], &[]);
    assert_eq!(text(&output.stdout), "2000\n", "{}", text(&output.stderr));
    let output = run(&folder, &["--wait-budget", "50", "--", "true"], &[]);
    let said = text(&output.stderr);
    assert!(output.status.code() == Some(2) && said.contains("a whole number of us or ms, such as 60us"), "{said}");
}

#[test]
fn variables_that_mean_nothing_are_told_with_the_nearest() {
    let folder = Folder::new("run-unknown");
    let output = run(&folder, &["--", "true"], &[("OVERTAKE_WAIT_BUGET_US", "30")]);
    let said = text(&output.stderr);
    assert!(output.status.success() && said.contains("is it OVERTAKE_WAIT_BUDGET_US?"), "{said}");
}

#[test]
fn a_warning_that_finds_no_room_changes_nothing() {
    let folder = Folder::new("run-unheard");
    let library = library(&folder, "dropin.so");
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let warned_of = [("CUDA_DEVICE_MAX_CONNECTIONS", "1")];
    let mut overtake = command(&folder, &library, &["--", "echo", "done"], &warned_of);
    let output = overtake.stderr(full).stdout(Stdio::piped()).spawn();
    let output = output.unwrap().wait_with_output().unwrap();
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), "done\n"));
}

#[test]
fn options_of_the_program_are_the_programs() {
    let folder = Folder::new("run-arguments");
    for separator in [&["--"][..], &[]] {
        let program = ["printf", "%s,", "--report", "-q", "--", "--set", "x"];
        let output = run(&folder, &[separator, &program].concat(), &[]);
        assert_eq!(text(&output.stdout), "--report,-q,--,--set,x,", "{}", text(&output.stderr));
    }
}

#[test]
fn children_inherit_through_shells_and_exec() {
    let folder = Folder::new("run-inherit");
    let library = library(&folder, "dropin.so");
    let nested = "sh -c 'exec sh -c \"grep -c dropin.so /proc/self/maps\"'";
    let output = run(&folder, &["--report", "--", "sh", "-c", nested], &[]);
    let mapped: u32 = text(&output.stdout).trim().parse().unwrap_or(0);
    assert!(mapped > 0, "{} is not mapped: {}", library.display(), text(&output.stderr));
}

#[test]
fn a_shadow_is_found_before_the_driver_and_knows_where_that_is() {
    let folder = Folder::new("run-shadow");
    let shadow = library(&folder, "dropin.so");
    let driver = library(&folder, "libcuda.so.1");
    let program = "\
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
static const char *ask(const char *name) {
    void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    return handle ? ((const char *(*)(void))dlsym(handle, \"whose\"))() : dlerror();
}
int main(void) {
    printf(\"%s %s %s\\n\", ask(\"libcuda.so.1\"), ask(getenv(\"OVERTAKE_LIBCUDA\")), getenv(\"LD_LIBRARY_PATH\"));
    return 0;
}
";
    let program = compile(&folder, "client", program, &["-ldl"]);
    let arguments = ["--deployment", "shadow", "--", program.to_str().unwrap()];
    let place = folder.path().to_str().unwrap();
    let output = command(&folder, &shadow, &arguments, &[("LD_LIBRARY_PATH", place)]).output().unwrap();
    let out = text(&output.stdout).trim_end();
    let path = out.strip_prefix("dropin.so libcuda.so.1 ").unwrap_or_else(|| panic!("{out} {}", text(&output.stderr)));
    let (first, rest) = path.split_once(':').unwrap();
    assert_eq!(rest, place);
    assert!(driver.exists() && !std::path::Path::new(first).exists(), "{first} is to be gone");
}

#[test]
fn one_connection_is_warned_of_unless_quiet() {
    let folder = Folder::new("run-connections");
    let environment = [("CUDA_DEVICE_MAX_CONNECTIONS", "1")];
    let output = run(&folder, &["true"], &environment);
    assert!(text(&output.stderr).contains("CUDA_DEVICE_MAX_CONNECTIONS=1"), "{}", text(&output.stderr));
    assert_eq!(text(&run(&folder, &["-q", "true"], &environment).stderr), "");
    assert_eq!(text(&run(&folder, &["true"], &[]).stderr), "");
}

/// The runtime of the sanitizer ends such a program when it starts: here a library of its name stands in for it.
#[test]
fn a_program_with_an_address_sanitizer_is_told_of_the_other_deployments() {
    let folder = Folder::new("run-sanitizer");
    let runtime =
        compile(&folder, "libasan.so.8", "int of_runtime;", &["-shared", "-fPIC", "-Wl,-soname,libasan.so.8"]);
    let flags = ["-Wl,--no-as-needed", runtime.to_str().unwrap(), "-Wl,-rpath,$ORIGIN"];
    let program = compile(&folder, "sanitized", "int main(void) { return 0; }", &flags);
    let program = program.to_str().unwrap();
    let said = |arguments: &[&str]| {
        let output = run(&folder, &[arguments, &["--", program]].concat(), &[]);
        assert!(output.status.success());
        text(&output.stderr).to_owned()
    };
    for arguments in [&[][..], &["--off"]] {
        let said = said(arguments);
        assert!(said.contains("(libasan.so.8)") && said.contains("--deployment audit"), "{said}");
    }
    assert_eq!(said(&["-q"]), "");
    assert_eq!(said(&["--deployment", "audit"]), "");
}

#[test]
fn help_describes_the_changes_and_the_endings() {
    let (out, _) = succeed(&Folder::new("run-help"), &["run", "--help"], &[]);
    for part in ["--deployment", "CUDA_DEVICE_MAX_COPY_CONNECTIONS", "Exit status", "torchrun", "set-user-id"] {
        assert!(out.contains(part), "{part} is not in:\n{out}");
    }
}
