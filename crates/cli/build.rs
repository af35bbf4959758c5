//! Tells the binary which commit it was built from. Outside a git checkout, or without git, that is `unknown`; set
//! `OVERTAKE_COMMIT` to say it for a source archive.

use std::path::Path;
use std::process::Command;

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    (output.status.success() && !text.trim().is_empty()).then(|| text.trim().to_owned())
}

fn main() {
    println!("cargo::rerun-if-env-changed=OVERTAKE_COMMIT");
    println!("cargo::rerun-if-changed=build.rs");
    // The log of HEAD changes with every commit and every checkout; naming a file that does not exist would mean a
    // rebuild every time.
    for file in ["HEAD", "logs/HEAD"] {
        if let Some(path) = git(&["rev-parse", "--git-path", file]).filter(|path| Path::new(path).exists()) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    let named = std::env::var("OVERTAKE_COMMIT").ok().filter(|commit| !commit.is_empty());
    let commit = named.or_else(|| git(&["rev-parse", "--short=12", "HEAD"])).unwrap_or_else(|| "unknown".to_owned());
    println!("cargo::rustc-env=OVERTAKE_COMMIT={commit}");
}
