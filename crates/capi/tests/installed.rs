//! `cargo xtask install` into a folder of the test's, and what a stranger does with it: pkg-config, CMake, Python.

mod common;
#[path = "../../../tests/support/needs.rs"]
mod needs;

use std::path::{Path, PathBuf};
use std::process::Command;

use libtest_mimic::{Arguments, Failed};

const PROGRAM: &str = "#include <overtake.h>\n#include <stdio.h>\n\
                       int main(void) { puts(overtake_version_text()); return overtake_priorities() != 7; }\n";

/// Installs what cargo built for this test, and leaves out what it did not.
fn install(test: &str) -> PathBuf {
    let prefix = common::folder(test).join("prefix");
    let deps = common::built("libovertake_c.so").parent().expect("a file has a folder").to_owned();
    // Where this test was built, so that cargo does not build the chores anew elsewhere.
    let target = deps.ancestors().nth(2).expect("target/profile/deps");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(common::here()).env("CARGO_TARGET_DIR", target);
    cargo.args(["run", "--quiet", "--package", "overtake-xtask", "--", "install"]);
    let report = common::succeed(cargo.arg("--prefix").arg(&prefix).arg("--from").arg(deps));
    assert!(report.as_ref().is_ok_and(|report| report.contains("libovertake.so.0")), "{report:?}");
    prefix
}

fn succeed(command: &mut Command) -> String {
    common::succeed(command).unwrap_or_else(|why| panic!("{why}"))
}

fn flags(prefix: &Path, arguments: &[&str]) -> Vec<String> {
    let mut command = Command::new("pkg-config");
    command.env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig")).args(arguments).arg("overtake");
    succeed(&mut command).split_whitespace().map(str::to_owned).collect()
}

fn assert_runs(binary: &Path, library: &Path) {
    let said = common::run(common::program(binary).env("LD_LIBRARY_PATH", library));
    assert_eq!(said.as_deref(), Ok(concat!(env!("CARGO_PKG_VERSION"), "\n")));
}

fn programs_are_built_with_pkg_config() -> Result<(), Failed> {
    let prefix = install("installed");
    let source = prefix.join("program.c");
    std::fs::write(&source, PROGRAM)?;
    let binary = prefix.join("program");
    succeed(Command::new("gcc").arg(&source).args(flags(&prefix, &["--cflags", "--libs"])).arg("-o").arg(&binary));
    assert_runs(&binary, &prefix.join("lib"));
    assert_eq!(flags(&prefix, &["--modversion"]), [env!("CARGO_PKG_VERSION")]);
    Ok(())
}

fn python_finds_the_library() -> Result<(), Failed> {
    let prefix = install("installed_python");
    let mut python = common::program("python3".as_ref());
    python.env("PYTHONPATH", prefix.join("lib/overtake/python"));
    python.args(["-B", "-c", "import overtake; print(overtake.version(), overtake.deployment())"]);
    assert_eq!(common::run(&mut python).as_deref(), Ok(concat!(env!("CARGO_PKG_VERSION"), " c\n")));
    Ok(())
}

fn programs_are_built_with_cmake() -> Result<(), Failed> {
    let prefix = install("installed_cmake");
    let project = prefix.join("project");
    std::fs::create_dir_all(&project).expect("a project");
    std::fs::write(project.join("program.c"), PROGRAM).expect("a program");
    let lists = "cmake_minimum_required(VERSION 3.10)\nproject(program C)\nfind_package(Overtake 0.1 REQUIRED)\n\
                 add_executable(shared program.c)\ntarget_link_libraries(shared Overtake::overtake)\n\
                 add_executable(static program.c)\ntarget_link_libraries(static Overtake::static)\n";
    std::fs::write(project.join("CMakeLists.txt"), lists).expect("a CMakeLists.txt");
    let build = project.join("build");
    let mut configure = Command::new("cmake");
    configure.arg("-S").arg(&project).arg("-B").arg(&build);
    succeed(configure.arg(format!("-DCMAKE_PREFIX_PATH={}", prefix.display())));
    succeed(Command::new("cmake").arg("--build").arg(&build));
    for name in ["shared", "static"] {
        assert_runs(&build.join(name), &prefix.join("lib"));
    }
    Ok(())
}

fn main() {
    let trials = vec![
        needs::trial("programs_are_built_with_pkg_config", &["pkg-config"], programs_are_built_with_pkg_config),
        needs::trial("python_finds_the_library", &["python3"], python_finds_the_library),
        needs::trial("programs_are_built_with_cmake", &["cmake"], programs_are_built_with_cmake),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}
