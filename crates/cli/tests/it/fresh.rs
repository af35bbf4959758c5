//! The programs in Rust of the pages, in crates of their own outside the workspace, as a new user has them. The
//! documentation tests run the programs too, but with whatever this workspace calls its crates.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{Folder, text};
use testkit::pages::{block, blocks};

/// A checkout, as the pages name it in the lines of their `Cargo.toml`.
const CHECKOUT: &str = "\"../overtake";
/// A crate that only some programs need: the page about arrays names it.
const KERNELS: &str = "workloads::";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_owned()
}

/// Makes a crate with the dependencies that a page names.
fn fresh(folder: &Folder, page: &str, programs: &[(String, String)]) {
    let page = std::fs::read_to_string(root().join(page)).unwrap();
    let lines = block(&page, "toml", "[dependencies]");
    assert!(lines.contains(CHECKOUT), "{lines}");
    let lines = lines.replace(CHECKOUT, &format!("\"{}", root().display()));
    let at = |name: &str| folder.path().join(name);
    let package = "[package]\nname = \"fresh\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n";
    std::fs::write(at("Cargo.toml"), format!("{package}{lines}\n")).unwrap();
    // The versions that are known to be here.
    std::fs::copy(root().join("Cargo.lock"), at("Cargo.lock")).unwrap();
    std::fs::create_dir_all(at("src/bin")).unwrap();
    for (name, program) in programs {
        std::fs::write(at(&format!("src/bin/{name}.rs")), program).unwrap();
    }
}

/// Builds all of its programs; the folder that they are in. It is that of the workspace, and the settings are the
/// workspace's, so that crates of the registry are not built again.
fn build(folder: &Folder) -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(folder.path()).env("CARGO_TARGET_DIR", target).args(["build", "--offline", "--quiet"]);
    for inherited in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_BUILD_RUSTFLAGS"] {
        cargo.env_remove(inherited);
    }
    if std::env::var_os("CARGO_PROFILE_DEV_DEBUG").is_none() {
        cargo.env("CARGO_PROFILE_DEV_DEBUG", "line-tables-only");
    }
    let output = cargo.output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    target.join("debug")
}

/// All programs of a page, with names that its crate can have.
fn programs(page: &str) -> Vec<(String, String)> {
    let its = std::fs::read_to_string(root().join(page)).unwrap();
    let stem = Path::new(page).file_stem().unwrap().to_str().unwrap().to_lowercase();
    let found: Vec<&str> = blocks(&its, "rust").into_iter().filter(|block| block.contains("fn main()")).collect();
    assert!(!found.is_empty(), "{page} has no program in Rust");
    found.iter().enumerate().map(|(number, text)| (format!("{stem}_{number}"), (*text).to_owned())).collect()
}

#[test]
fn programs_of_the_pages_are_built_in_fresh_crates() {
    // Those of a page without dependencies of its own have the README's.
    let others = ["docs/tasks.md", "docs/pipelines.md"].into_iter().flat_map(programs);
    let (with_kernels, mut plain): (Vec<_>, Vec<_>) = others.partition(|(_, text)| text.contains(KERNELS));
    plain.extend(programs("README.md"));

    let folder = Folder::new("fresh");
    fresh(&folder, "README.md", &plain);
    let built = build(&folder);
    let output = Command::new(built.join("readme_0")).env("OVERTAKE_BACKEND", "soft").output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).starts_with("copied 16384 and 16777216 elements\n"), "{}", text(&output.stdout));

    let folder = Folder::new("fresh-kernels");
    fresh(&folder, "docs/data.md", &[programs("docs/data.md"), with_kernels].concat());
    build(&folder);

    let folder = Folder::new("fresh-sharing");
    fresh(&folder, "docs/sharing.md", &programs("docs/sharing.md"));
    build(&folder);
}
