//! Every command line of the README, of `docs/using.md` and of `docs/reports.md`, run as it stands on the software GPU.
//!
//! Lines of the C library are for `crates/capi/tests/it/installed.rs`, and programs for `tests/guides.sh`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::common::{Folder, text};
use libtest_mimic::{Failed, Trial};
use testkit::needs;
use testkit::pages;

/// The commands that belong to the C library's own test.
const OF_THE_C_LIBRARY: [&str; 3] = ["cargo xtask install ", "gcc program.c ", "./program"];
/// The binary as the README's build leaves it.
const BUILT: &str = "target/release/overtake";
/// The program that the pages run: its bulk copies are followed by urgent ones.
const SERVE: &str = "\
import ctypes
cuda = ctypes.CDLL('libcuda.so.1')
def must(name, *arguments):
    code = getattr(cuda, name)(*arguments)
    assert code == 0, (name, code)
def made(name, *arguments):
    value = ctypes.c_void_p()
    must(name, ctypes.byref(value), *arguments)
    return value
must('cuInit', 0)
must('cuCtxSetCurrent', made('cuDevicePrimaryCtxRetain', 0))
bulk, urgent = made('cuStreamCreate', 1), made('cuStreamCreate', 1)
size = ctypes.c_size_t(8 << 20)
device, pinned = made('cuMemAlloc_v2', size), made('cuMemHostAlloc', size, 0)
for _ in range(4):
    must('cuMemcpyHtoDAsync_v2', device, pinned, size, bulk)
    must('cuMemcpyHtoDAsync_v2', device, pinned, ctypes.c_size_t(65536), urgent)
must('cuCtxSynchronize')
print('served')
";

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// A library that cargo built for this test, which lies beside the test itself.
fn built(name: &str) -> PathBuf {
    let file = std::env::current_exe().unwrap().parent().unwrap().join(name);
    assert!(file.exists(), "{} is missing: cargo test -p overtake-cli builds it", file.display());
    file
}

/// A folder with all that the commands name: the binary, the examples, a program, and the rules of the page.
fn prepare(folder: &Folder, page: &str) -> std::io::Result<()> {
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir_all(at("target/release"))?;
    std::fs::create_dir_all(at("soft"))?;
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_overtake"), at(BUILT))?;
    std::os::unix::fs::symlink(root().join("examples"), at("examples"))?;
    std::os::unix::fs::symlink(at("examples/scenarios/worked-example.toml"), at("worked-example.toml"))?;
    std::os::unix::fs::symlink(built("libcuda.so"), at("soft/libcuda.so.1"))?;
    std::fs::write(at("serve.py"), SERVE)?;
    for rules in pages::blocks(page, "toml") {
        std::fs::write(at("rules.toml"), rules)?;
    }
    Ok(())
}

/// Runs a line of a page; its output.
fn run(folder: &Folder, line: &str) -> Result<String, Failed> {
    let path = std::env::var("PATH")?;
    let mut shell = Command::new("timeout");
    shell.args(["--kill-after=1", "120", "sh", "-ec", line]).current_dir(folder.path()).stdin(Stdio::null());
    shell.env("PATH", format!("{}:{path}", folder.path().join("target/release").display()));
    shell.env("HOME", folder.path()).env("OVERTAKE_PRELOAD_LIBRARY", built("libovertake_preload.so"));
    shell.env("LD_LIBRARY_PATH", folder.path().join("soft")).env("OVERTAKE_BACKEND", "soft");
    for name in ["OVERTAKE", "LD_PRELOAD", "CUDA_DEVICE_MAX_CONNECTIONS", "CUDA_DEVICE_MAX_COPY_CONNECTIONS"] {
        shell.env_remove(name);
    }
    let output = shell.output()?;
    let said = format!("{}{}", text(&output.stdout), text(&output.stderr));
    if output.status.success() { Ok(said) } else { Err(format!("`{line}`: {}\n{said}", output.status).into()) }
}

/// Checks a line that only cargo can run: the names of packages and of the alias have to exist.
fn check_cargo(line: &str) -> Result<(), Failed> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let exists = match &words[..] {
        ["cargo", "test"] => true,
        ["cargo", alias @ ("demo" | "drop-in")] => {
            std::fs::read_to_string(root().join(".cargo/config.toml"))?.contains(&format!("\n{alias} = "))
        }
        ["cargo", "build", "--release", packages @ ..] => packages.chunks(2).all(|pair| {
            let mut cargo = Command::new(env!("CARGO"));
            cargo.current_dir(root()).args(["pkgid", "--offline"]).args(pair);
            pair[0] == "-p" && cargo.output().is_ok_and(|output| output.status.success())
        }),
        _ => false,
    };
    if exists { Ok(()) } else { Err(format!("`{line}` is nothing that cargo knows here").into()) }
}

/// The command of a line, without its comment.
fn command(line: &str) -> &str {
    line.split("  #").next().unwrap_or_default().trim()
}

fn commands_of(page: &str, name: &str, expected: &[(&str, &str)]) -> Result<(), Failed> {
    let page = std::fs::read_to_string(root().join(page))?;
    let folder = Folder::new(name);
    prepare(&folder, &page)?;
    let mut expected = expected.to_vec();
    for line in pages::blocks(&page, "sh").into_iter().flat_map(str::lines).map(command) {
        if line.is_empty() || OF_THE_C_LIBRARY.iter().any(|begin| line.starts_with(begin)) {
            continue;
        }
        if line.starts_with("cargo ") {
            check_cargo(line)?;
            continue;
        }
        let said = run(&folder, line)?;
        if let Some(place) = expected.iter().position(|(begin, _)| line.contains(begin)) {
            let (_, answer) = expected.remove(place);
            if !said.contains(answer) {
                return Err(format!("`{line}` does not say `{answer}`: {said}").into());
            }
        }
    }
    if expected.is_empty() { Ok(()) } else { Err(format!("the page has no command for {expected:?}").into()) }
}

/// The commands of each page.
pub fn trials() -> Vec<Trial> {
    let readme = || {
        let expected = [
            ("overtake run -- python3 serve.py", "served"),
            ("overtake run --report --trace trace.json", "urgent"),
            ("overtake simulate examples/scenarios/worked-example.toml", "low1 high1 high2 low2 low3"),
            ("overtake bench latency", "kernel/hold"),
        ];
        commands_of("README.md", "pages-readme", &expected)
    };
    let using = || {
        let expected = [
            ("overtake check rules.toml", "rules.toml"),
            ("overtake run --wait-budget", "served"),
            ("overtake run --rules rules.toml", "served"),
            ("overtake options", "guard_after_us"),
            ("OVERTAKE=off", "served"),
            ("overtake info", "copy engines"),
            ("overtake demo", "p50"),
            ("overtake simulate worked-example.toml", "low1 high1 high2 low2 low3"),
        ];
        commands_of("docs/using.md", "pages-using", &expected)
    };
    let of_reports = || {
        let expected = [
            ("overtake bench latency", "kernel/hold"),
            ("overtake report latency.json", "1 run, "),
            ("overtake report latency.json old.json", "2 runs, "),
            ("old.json --json", "\"ratio\""),
            ("overtake report run.json copies.json", ""),
        ];
        commands_of("docs/reports.md", "pages-reports", &expected)
    };
    vec![
        needs::trial("commands_of_the_readme", &["python3", "timeout"], readme),
        needs::trial("commands_of_using", &["python3", "timeout"], using),
        needs::trial("commands_of_reports", &["python3", "timeout"], of_reports),
    ]
}
