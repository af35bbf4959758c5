//! `cargo xtask install` into a folder of the test's. Then the first programs of the READMEs, pkg-config, CMake and
//! Python use it as a new user would.

use std::path::{Path, PathBuf};
use std::process::Command;

use libtest_mimic::{Failed, Trial};
use testkit::pages::block;

use crate::common;

const PROGRAM: &str = "#include <overtake.h>\n#include <stdio.h>\n\
                       int main(void) { puts(overtake_version_text()); return overtake_priorities() != 7; }\n";

/// Installs the files that cargo built for this test, and leaves out the others.
fn install(test: &str) -> PathBuf {
    install_with(test, &[])
}

fn install_with(test: &str, options: &[&str]) -> PathBuf {
    let prefix = common::folder(test).join("prefix");
    let deps = common::built("libovertake_c.so").parent().expect("a file has a folder").to_owned();
    // Cargo uses the folder of this build, so that it does not build the chores again.
    let target = deps.ancestors().nth(2).expect("target/profile/deps");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(common::here().join("../..")).env("CARGO_TARGET_DIR", target);
    cargo.args(["run", "--quiet", "--bin", "overtake-xtask", "--", "install"]);
    cargo.arg("--prefix").arg(&prefix).arg("--from").arg(deps).args(options);
    let report = common::succeed(&mut cargo);
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

/// The first C program of a page, built by the commands of the page, with the prefix of the test in place of theirs.
fn first_program(page: &str, name: &str) -> Result<(), Failed> {
    let prefix = install(name);
    let soft = prefix.join("lib/overtake/soft");
    let page = std::fs::read_to_string(common::here().join(page))?;
    std::fs::write(prefix.join("program.c"), block(&page, "c", "main"))?;
    let (mut compiled, mut install) = (0, false);
    for line in block(&page, "sh", "gcc program.c ").lines() {
        install |= line.starts_with("cargo xtask install --prefix /usr/local ");
        if !line.starts_with("gcc program.c ") {
            continue;
        }
        let mut shell = Command::new("sh");
        shell.current_dir(&prefix).env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig")).args(["-ec", line]);
        let mut program = common::program(&prefix.join("program"));
        // With CUDA installed the compiler finds CUDA's header and library; here it gets those of the software GPU.
        if line.contains("-lcuda") {
            shell.env("C_INCLUDE_PATH", soft.join("include")).env("LIBRARY_PATH", &soft);
            program.env("LD_LIBRARY_PATH", std::env::join_paths([&prefix.join("lib"), &soft])?);
        }
        succeed(&mut shell);
        runs_with_priorities(&mut program, &prefix.join(format!("reports_{compiled}")))?;
        compiled += 1;
    }
    match (install, compiled, block(&page, "sh", "gcc program.c ").ends_with("./program")) {
        (true, 2, true) => Ok(()),
        found => Err(format!("the page installs, compiles with CUDA and without, and runs: {found:?}").into()),
    }
}

/// Runs a program that copies four layers and four tokens. Its report shows that the copies had their priorities.
fn runs_with_priorities(program: &mut Command, reports: &Path) -> Result<(), Failed> {
    std::fs::create_dir_all(reports)?;
    // Otherwise a token for which no bulk is under way goes natively, and is not counted.
    common::run(program.env("OVERTAKE_REPORT_DIR", reports).env("OVERTAKE_UNLISTED", "lull=off"))?;
    let report = std::fs::read_dir(reports)?.next().ok_or("the program wrote no report")??.path();
    let report = std::fs::read_to_string(report)?;
    // The first bulk copy meets no other copy; the next three do.
    match ["\"urgent\":{\"copies\":4,", "\"kernel\":{\"copies\":3,"].iter().all(|part| report.contains(part)) {
        true => Ok(()),
        false => Err(format!("not four urgent copies beside bulk that yields: {report}").into()),
    }
}

/// Everything below a folder that is no folder itself.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// The libraries contain no name or line of a source, and only programs that ask for the soft driver find it.
fn libraries_are_stripped_and_the_soft_driver_stands_aside() -> Result<(), Failed> {
    let prefix = install_with("installed_stripped", &["--libdir", "lib64"]);
    let files = files(&prefix);
    let libraries: Vec<&PathBuf> = files.iter().filter(|file| file.to_string_lossy().contains(".so")).collect();
    for library in &libraries {
        let sections = succeed(Command::new("readelf").args(["--sections", "--wide"]).arg(library));
        if !sections.contains(" .dynsym") || sections.contains(" .symtab") || sections.contains(" .debug_") {
            return Err(format!("{}: {sections}", library.display()).into());
        }
    }
    let archive =
        succeed(Command::new("readelf").args(["--sections", "--wide"]).arg(prefix.join("lib64/libovertake.a")));
    if !archive.contains(" .symtab") || archive.contains(" .debug_info") {
        return Err("libovertake.a: a linker needs its symbols, and no debug information".into());
    }
    let named = |name: &&&PathBuf| name.file_name().is_some_and(|name| name.to_string_lossy().contains("libcuda"));
    let mut soft: Vec<&Path> = libraries.iter().filter(named).map(|file| file.as_path()).collect();
    soft.sort();
    let expected = ["libcuda.so", "libcuda.so.1"].map(|name| prefix.join("lib64/overtake/soft").join(name));
    match soft == expected && libraries.len() == 6 {
        true => Ok(()),
        false => Err(format!("{libraries:?}").into()),
    }
}

/// The same from a folder of libraries with another name.
fn another_folder_of_libraries() -> Result<(), Failed> {
    let prefix = install_with("installed_lib64", &["--libdir", "lib64"]);
    let source = prefix.join("program.c");
    std::fs::write(&source, PROGRAM)?;
    let mut pkg_config = Command::new("pkg-config");
    pkg_config.env("PKG_CONFIG_PATH", prefix.join("lib64/pkgconfig")).args(["--cflags", "--libs", "overtake-soft"]);
    let flags = succeed(&mut pkg_config);
    let binary = prefix.join("program");
    // Debian's gcc asks for this by itself.
    let mut gcc = Command::new("gcc");
    succeed(gcc.arg("-Wl,--as-needed").arg(&source).args(flags.split_whitespace()).arg("-o").arg(&binary));
    assert_runs(&binary, Path::new(""));
    assert_has_the_software_gpu(&binary, &prefix.join("lib64"))
}

/// The program calls no function of the driver itself, and the library finds the driver in the program.
fn assert_has_the_software_gpu(binary: &Path, libraries: &Path) -> Result<(), Failed> {
    let loaded = succeed(common::program(binary).env("LD_TRACE_LOADED_OBJECTS", "1"));
    let driver = libraries.join("overtake/soft/libcuda.so.1");
    match loaded.contains(&driver.display().to_string()) {
        true => Ok(()),
        false => Err(format!("{} is not loaded: {loaded}", driver.display()).into()),
    }
}

fn python_finds_the_library() -> Result<(), Failed> {
    let prefix = install("installed_python");
    let mut python = common::program("python3".as_ref());
    python.env("PYTHONPATH", prefix.join("lib/overtake/python"));
    python.args(["-B", "-c", "import overtake_gpu; print(overtake_gpu.version(), overtake_gpu.deployment())"]);
    assert_eq!(common::run(&mut python).as_deref(), Ok(concat!(env!("CARGO_PKG_VERSION"), " c\n")));
    Ok(())
}

fn programs_are_built_with_cmake(libdir: &str) -> Result<(), Failed> {
    let prefix = install_with(&format!("installed_cmake_{libdir}"), &["--libdir", libdir]);
    let project = prefix.join("project");
    std::fs::create_dir_all(&project).expect("a project");
    std::fs::write(project.join("program.c"), PROGRAM).expect("a program");
    let lists = "cmake_minimum_required(VERSION 3.10)\nproject(program C)\nfind_package(Overtake 0.1 REQUIRED)\n\
                 add_executable(shared program.c)\ntarget_link_libraries(shared Overtake::overtake)\n\
                 add_executable(static program.c)\ntarget_link_libraries(static Overtake::static)\n\
                 add_executable(soft soft.c)\ntarget_link_libraries(soft Overtake::soft)\n\
                 target_link_options(soft PRIVATE -Wl,--as-needed)\n";
    std::fs::write(project.join("soft.c"), format!("#include <cuda.h>\n{PROGRAM}")).expect("a program");
    std::fs::write(project.join("CMakeLists.txt"), lists).expect("a CMakeLists.txt");
    let build = project.join("build");
    let mut configure = Command::new("cmake");
    configure.arg("-S").arg(&project).arg("-B").arg(&build);
    // Not every CMake looks in `lib64` by itself.
    let hint = if libdir == "lib" { "CMAKE_PREFIX_PATH" } else { "Overtake_DIR" };
    let folder = if libdir == "lib" { prefix.clone() } else { prefix.join(libdir).join("cmake/Overtake") };
    succeed(configure.arg(format!("-D{hint}={}", folder.display())));
    succeed(Command::new("cmake").arg("--build").arg(&build));
    for name in ["shared", "static", "soft"] {
        assert_runs(&build.join(name), &prefix.join(libdir));
    }
    assert_has_the_software_gpu(&build.join("soft"), &prefix.join(libdir))
}

pub fn trials() -> Vec<Trial> {
    let readme = || first_program("../../README.md", "installed_readme");
    let page = || first_program("README.md", "installed_page");
    let stripped = libraries_are_stripped_and_the_soft_driver_stands_aside;
    vec![
        common::trial("installed", "first_program_of_the_readme", &["pkg-config"], readme),
        common::trial("installed", "first_program_of_the_page", &["pkg-config"], page),
        common::trial("installed", "libraries_are_stripped_and_the_soft_driver_stands_aside", &["readelf"], stripped),
        common::trial("installed", "another_folder_of_libraries", &["pkg-config"], another_folder_of_libraries),
        common::trial(
            "installed",
            "programs_are_built_with_pkg_config",
            &["pkg-config"],
            programs_are_built_with_pkg_config,
        ),
        common::trial("installed", "python_finds_the_library", &["python3"], python_finds_the_library),
        common::trial("installed", "programs_are_built_with_cmake", &["cmake"], || {
            programs_are_built_with_cmake("lib")
        }),
        common::trial("installed", "programs_are_built_with_cmake_lib64", &["cmake"], || {
            programs_are_built_with_cmake("lib64")
        }),
    ]
}
