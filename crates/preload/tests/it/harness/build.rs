//! The folders of the suite, and the building of its binaries.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::time::{Duration, SystemTime};

use crate::harness::binaries::Binaries;
use crate::harness::deployment::Deployment;
use crate::harness::list::{self, Client};
use crate::harness::patience::HANGS_AFTER;
use crate::harness::report::Expect;
use crate::harness::run::{self, Errors, Outcome};

const STRICT: &[&str] = &["-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", "-g", "-pthread", "-DSOFTWARE_GPU"];

/// Programs of one source and the same flags are one binary.
type Key = (String, Vec<String>);

/// Those of all trials.
pub static PLACES: LazyLock<Places> = LazyLock::new(Places::prepare);

/// The folders of the suite.
pub struct Places {
    /// `crates/preload/tests`.
    pub tests: PathBuf,
    /// The binaries.
    pub bin: PathBuf,
    /// Holds the software GPU's library under the driver's names.
    pub soft: PathBuf,
    /// Holds the drop-in under the driver's name.
    pub shadow: PathBuf,
    /// The drop-in.
    pub library: PathBuf,
    reports: PathBuf,
    binaries: Binaries<Key>,
    /// The last change of what the binaries are built from.
    sources_changed: Option<SystemTime>,
}

/// The last change of the files in these folders, and of these files.
fn last_change(paths: Vec<PathBuf>) -> Option<SystemTime> {
    let of = |path: PathBuf| match std::fs::read_dir(&path) {
        Ok(inside) => last_change(inside.filter_map(|entry| Some(entry.ok()?.path())).collect()),
        Err(_) => std::fs::metadata(&path).and_then(|about| about.modified()).ok(),
    };
    paths.into_iter().map(of).max().flatten()
}

fn folder(path: PathBuf) -> PathBuf {
    std::fs::create_dir_all(&path).unwrap_or_else(|error| panic!("create {}: {error}", path.display()));
    path
}

fn link(library: &Path, name: PathBuf) {
    let _absent = std::fs::remove_file(&name);
    std::os::unix::fs::symlink(library, &name).unwrap_or_else(|error| panic!("link {}: {error}", name.display()));
}

/// A library that cargo has built for this test lies beside the test itself.
fn built(name: &str, package: &str) -> PathBuf {
    let test = std::env::current_exe().expect("the path of the running test");
    let library = test.parent().expect("a file has a folder").join(name);
    assert!(library.exists(), "{} is missing: cargo build -p {package}", library.display());
    library
}

impl Places {
    /// Makes the folders and the links, and builds the libraries of the list.
    fn prepare() -> Places {
        let top = folder(Path::new(env!("CARGO_TARGET_TMPDIR")).join("clients"));
        let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
        let soft = built("libcuda.so", "overtake-softgpu-libcuda");
        let shared = ["../../../tests/c", "../../softgpu/src/builtin.ptx"].map(|path| tests.join(path));
        let built_from = [tests.clone(), soft.clone(), std::env::current_exe().expect("the path of the running test")];
        let places = Places {
            sources_changed: last_change(shared.into_iter().chain(built_from).collect()),
            tests,
            bin: folder(top.join("bin")),
            soft: folder(top.join("soft")),
            shadow: folder(top.join("shadow")),
            library: built("libovertake_preload.so", "overtake-preload"),
            reports: folder(top.join("reports")),
            binaries: Binaries::none(),
        };
        link(&soft, places.soft.join("libcuda.so"));
        link(&soft, places.soft.join("libcuda.so.1"));
        link(&places.library, places.shadow.join("libcuda.so.1"));
        let clients = list::read(&places.tests.join("clients.list"));
        for library in clients.iter().filter(|client| client.is_library) {
            places.compile(library).unwrap_or_else(|why| panic!("{why}"));
        }
        places
    }

    /// The folder of the drop-in's reports about a client.
    pub fn reports(&self, client: &Client, deployment: Deployment) -> PathBuf {
        self.reports.join(deployment.name()).join(&client.name)
    }

    fn source(&self, client: &Client) -> PathBuf {
        match client.source.strip_prefix("shared/") {
            Some(shared) => self.tests.join("../../../tests/c").join(shared),
            None => self.tests.join("c").join(&client.source),
        }
    }

    fn compile(&self, client: &Client) -> Result<PathBuf, String> {
        let binary = self.bin.join(&client.name);
        if self.is_up_to_date(&binary) {
            return Ok(binary);
        }
        let made = binary.with_extension("made");
        let kernels = self.tests.join("../../softgpu/src/builtin.ptx");
        let mut gcc = Command::new("gcc");
        gcc.args(STRICT).arg(format!("-DKERNELS_PTX=\"{}\"", kernels.display()));
        gcc.arg("-I").arg(self.tests.join("../../../tests/c")).arg(self.source(client)).arg("-o").arg(&made);
        let bin = self.bin.display().to_string();
        gcc.arg("-L").arg(&self.bin).arg("-L").arg(&self.soft);
        gcc.args(client.flags.iter().map(|flag| flag.replace("@bin", &bin))).arg("-ldl");
        let output = gcc.output().map_err(|error| format!("cannot run gcc ({error}): install gcc"))?;
        if !output.status.success() {
            return Err(format!("{gcc:?}\n{}", String::from_utf8_lossy(&output.stderr)));
        }
        std::fs::rename(&made, &binary).map_err(|error| format!("{}: {error}", binary.display()))?;
        Ok(binary)
    }

    /// Whether a binary is newer than all sources, the driver, and this test, which knows the flags.
    fn is_up_to_date(&self, binary: &Path) -> bool {
        let changed = |path: &Path| std::fs::metadata(path).and_then(|about| about.modified()).ok();
        changed(binary).is_some_and(|made| Some(made) > self.sources_changed)
    }

    /// The path of the client's binary, which is built first if need be.
    pub fn binary(&self, client: &Client) -> Result<PathBuf, String> {
        if client.source.is_empty() {
            return Ok(self.bin.join(&client.name));
        }
        let key = (client.source.clone(), client.flags.clone());
        self.binaries.get(key, || self.compile(client))
    }

    /// An argument with its folders filled in. Another program of the list that it names is built first.
    fn argument(&self, argument: &str) -> Result<String, String> {
        let Some(name) = argument.strip_prefix("@bin/") else {
            return Ok(argument.replace("@tests", &self.tests.display().to_string()));
        };
        let clients = list::read(&self.tests.join("clients.list"));
        let other = clients.iter().find(|client| client.name == name).ok_or(format!("no client is called {name}"))?;
        let path = if other.is_library { self.bin.join(name) } else { self.binary(other)? };
        Ok(path.display().to_string())
    }

    /// Builds the client if need be, and runs it.
    pub fn run(&self, client: &Client, deployment: Deployment) -> Result<Outcome, String> {
        self.run_with(client, deployment, Errors::Read, HANGS_AFTER)
    }

    /// The same, with another error output.
    pub fn run_heard(&self, client: &Client, deployment: Deployment, heard: Errors) -> Result<Outcome, String> {
        self.run_with(client, deployment, heard, HANGS_AFTER)
    }

    /// The same with another limit.
    pub fn run_within(&self, client: &Client, deployment: Deployment, limit: Duration) -> Result<Outcome, String> {
        self.run_with(client, deployment, Errors::Read, limit)
    }

    fn run_with(
        &self,
        client: &Client,
        deployment: Deployment,
        heard: Errors,
        limit: Duration,
    ) -> Result<Outcome, String> {
        let reports = self.reports(client, deployment);
        let _absent = std::fs::remove_dir_all(&reports);
        folder(reports.clone());
        let mut command = Command::new(self.binary(client)?);
        for argument in &client.arguments {
            command.arg(self.argument(argument)?);
        }
        run::forget_environment(&mut command);
        // Most clients have bulk of a few MiB, which the size tells. Others choose their rule, or have that of users.
        if !client.source.starts_with("fuzz/") && client.source != "stalls.c" {
            command.env("OVERTAKE_AUTOMATIC", "size");
        }
        deployment.apply(self, &mut command);
        if client.report != Expect::Unasked {
            command.env("OVERTAKE_REPORT_DIR", &reports);
        }
        let outcome = run::run(&mut command, &reports, heard, limit)?;
        if client.report == Expect::LaunchesBlock && deployment != Deployment::Native {
            outcome.says("CUDA_LAUNCH_BLOCKING")?;
        }
        let may_speak = matches!(client.report, Expect::Warnings | Expect::LaunchesBlock);
        Ok(if may_speak { outcome.without_warnings() } else { outcome })
    }
}
