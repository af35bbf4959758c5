//! A program that runs with other rights than its caller's opens no file that the caller names.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use libtest_mimic::Trial;

use crate::common;

/// A user without rights.
const OTHER_USER: u32 = 65_534;
const FILES: [&str; 3] = ["OVERTAKE_RULES", "OVERTAKE_CONFIG", "OVERTAKE_REPORT_DIR"];

/// Builds the program, and the library that its caller wants it to load, where another user can reach them.
fn build(folder: &Path) -> (PathBuf, PathBuf) {
    let here = common::here().join("tests/programs");
    let (program, chosen) = (folder.join("program"), folder.join("chosen.so"));
    let library = folder.join("libovertake.so.0");
    std::fs::copy(common::built("libovertake_c.so"), &library).expect("a copy that another user can read");
    let mut gcc = Command::new("gcc");
    gcc.arg(here.join("privileged.c")).arg("-I").arg(common::here().join("include")).arg("-o").arg(&program);
    gcc.arg(&library).arg(format!("-Wl,-rpath,{}", folder.display()));
    common::succeed(&mut gcc).unwrap_or_else(|why| panic!("{why}"));
    let mut gcc = Command::new("gcc");
    gcc.args(["-shared", "-fPIC"]).arg(here.join("chosen.c")).arg("-o").arg(&chosen);
    common::succeed(&mut gcc).unwrap_or_else(|why| panic!("{why}"));
    for file in [&program, &chosen, &library] {
        std::fs::set_permissions(file, PermissionsExt::from_mode(0o755)).expect("our file");
    }
    (program, chosen)
}

/// Both outputs of the program, run as `OTHER_USER` or as the caller; `None` if it cannot be run so.
fn said(program: &Path, chosen: &Path, reports: &Path, as_other: bool) -> Option<String> {
    let mut command = common::program(program);
    command.env("OVERTAKE_LIBCUDA", chosen);
    FILES.iter().for_each(|name| {
        command.env(name, reports);
    });
    if as_other {
        command.uid(OTHER_USER).gid(OTHER_USER).current_dir("/");
    }
    let output = command.output().ok()?;
    Some(format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr)))
}

fn a_set_user_id_program_loads_reads_and_writes_nothing_of_its_callers_choice() {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).expect("our folder");
    let (program, chosen) = build(folder.path());
    let ordinary = said(&program, &chosen, folder.path(), false).expect("the program starts");
    assert!(ordinary.starts_with("ordinary\n") && ordinary.contains("chosen library loaded"), "{ordinary}");
    let reports = || std::fs::read_dir(folder.path()).expect("our folder").flatten().count();
    let before = reports();
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o4755)).expect("our file");
    let Some(privileged) = said(&program, &chosen, folder.path(), true).filter(|said| said.starts_with("privileged"))
    else {
        println!("left out: no set-user-id program can be run as another user here; it needs root, and no nosuid");
        return;
    };
    assert!(!privileged.contains("chosen library loaded"), "{privileged}");
    assert!(privileged.contains("is ignored"), "{privileged}");
    assert_eq!(reports(), before, "nothing was written");
}

pub fn trials() -> Vec<Trial> {
    vec![common::trial(
        "privileged",
        "a_set_user_id_program_loads_reads_and_writes_nothing_of_its_callers_choice",
        &[],
        || {
            a_set_user_id_program_loads_reads_and_writes_nothing_of_its_callers_choice();
            Ok(())
        },
    )]
}
