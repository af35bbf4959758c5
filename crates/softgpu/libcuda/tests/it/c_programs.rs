//! Builds the programs of `tests/c` with gcc against the library and runs them: linked with `-lcuda` or by `dlopen`,
//! with the legacy and with the per-thread default stream, plain and under AddressSanitizer.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use libtest_mimic::{Failed, Trial};
use testkit::{patience, spawn};

use crate::common;

const STRICT: &[&str] = &["-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", "-g", "-DSOFTWARE_GPU"];
const SANITIZERS: &[&str] = &["-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
const PER_THREAD: &[&str] = &["-DCUDA_API_PER_THREAD_DEFAULT_STREAM"];

/// Programs whose calls also go through `_ptsz` and `_ptds` symbols in a second build.
const ALSO_PER_THREAD: &[&str] = &["copies", "default_streams", "events", "memory_operations", "shapes", "threads"];
/// Programs that find the library themselves.
const NOT_LINKED: &[&str] = &["dlopened", "get_proc_address"];

/// One way to build and run one program.
#[derive(Clone)]
struct Build {
    source: PathBuf,
    name: String,
    flags: Vec<&'static str>,
}

impl Build {
    fn new(source: &Path) -> Build {
        let name = source.file_stem().expect("a C file has a name").to_string_lossy().into_owned();
        Build { source: source.to_owned(), name, flags: STRICT.to_vec() }
    }

    fn with(&self, suffix: &str, flags: &[&'static str]) -> Build {
        let mut build = self.clone();
        build.name.push_str(suffix);
        build.flags.extend(flags);
        build
    }

    /// The program's name, without the suffixes of its variants.
    fn program(&self) -> String {
        self.source.file_stem().expect("a C file has a name").to_string_lossy().into_owned()
    }

    fn compile(&self, folder: &Path) -> Result<PathBuf, Failed> {
        let binary = folder.join(&self.name);
        let mut gcc = Command::new("gcc");
        gcc.args(&self.flags).arg(kernels()).arg(&self.source).arg("-o").arg(&binary);
        gcc.arg("-pthread").arg("-L").arg(folder);
        if NOT_LINKED.contains(&self.program().as_str()) {
            gcc.args(["-rdynamic", "-ldl"]);
        } else {
            gcc.arg("-lcuda");
        }
        let output = gcc.output().map_err(|error| format!("cannot run gcc ({error}): install gcc"))?;
        match output.status.success() {
            true => Ok(binary),
            false => Err(format!("{gcc:?}\n{}", String::from_utf8_lossy(&output.stderr)).into()),
        }
    }

    fn run(&self, folder: &Path) -> Result<(), Failed> {
        let binary = self.compile(folder)?;
        let log = binary.with_extension("log");
        let file = std::fs::File::create(&log)?;
        let mut command = Command::new(&binary);
        command.env("LD_LIBRARY_PATH", folder).stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
        for name in SOFT_GPU_VARIABLES {
            command.env_remove(name);
        }
        if self.program() == "peers" {
            command.env("OVERTAKE_SOFT_DEVICES", "2");
        }
        let status = wait(spawn::spawn(&mut command)?)?;
        match status.is_some_and(|status| status.success()) {
            true => Ok(()),
            false => Err(format!("{}\n{}", verdict(status), std::fs::read_to_string(&log)?).into()),
        }
    }
}

/// Variables that would change the model for a program that expects the defaults.
const SOFT_GPU_VARIABLES: &[&str] = &[
    "CUDA_DEVICE_MAX_CONNECTIONS",
    "CUDA_DEVICE_MAX_COPY_CONNECTIONS",
    "OVERTAKE_SOFT_DEVICES",
    "OVERTAKE_SOFT_FAULTS",
    "OVERTAKE_SOFT_PRESET",
];

/// The folder with the text of the built-in kernels, for the programs.
fn kernels() -> String {
    format!("-DKERNELS_PTX=\"{}\"", Path::new(env!("CARGO_MANIFEST_DIR")).join("../src/builtin.ptx").display())
}

/// Waits for the program; `None` if it hung and was killed.
fn wait(mut child: Child) -> std::io::Result<Option<ExitStatus>> {
    let status = patience::end_of(&mut child)?;
    if status.is_none() {
        child.kill()?;
        child.wait()?;
    }
    Ok(status)
}

fn verdict(status: Option<ExitStatus>) -> String {
    status.map_or_else(|| "it hangs".to_owned(), |status| status.to_string())
}

fn sources() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/c");
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("read {}: {error}", folder.display()));
    let paths = entries.map(|entry| entry.expect("an entry of tests/c").path());
    let mut sources: Vec<PathBuf> = paths.filter(|path| path.extension().is_some_and(|e| e == "c")).collect();
    sources.sort();
    sources
}

fn builds() -> Vec<Build> {
    let mut builds = Vec::new();
    for source in sources() {
        let plain = Build::new(&source);
        if ALSO_PER_THREAD.contains(&plain.name.as_str()) {
            let per_thread = plain.with("_per_thread", PER_THREAD);
            builds.extend([per_thread.with("_sanitized", SANITIZERS), per_thread]);
        }
        builds.extend([plain.with("_sanitized", SANITIZERS), plain]);
    }
    builds
}

pub fn trials() -> Vec<Trial> {
    let folder = common::folder("c_programs");
    common::install_library(&folder);
    let trial = |build: Build| {
        let folder = folder.clone();
        Trial::test(format!("c_programs::{}", build.name), move || build.run(&folder))
    };
    builds().into_iter().map(trial).collect()
}
