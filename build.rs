//! Tells the library which commit it is built from. `OVERTAKE_COMMIT` says it for a source archive; a published package
//! says it in a file of cargo's; a checkout is asked through git. Anything else is `unknown`.

use std::path::Path;
use std::process::Command;

/// Digits of a commit that tell it from every other one here.
const DIGITS: usize = 12;

/// The file in which `cargo package` writes the commit.
const PACKAGED: &str = ".cargo_vcs_info.json";

fn main() {
    println!("cargo::rerun-if-env-changed=OVERTAKE_COMMIT");
    println!("cargo::rerun-if-changed=build.rs");
    let named = std::env::var("OVERTAKE_COMMIT").ok().filter(|commit| !commit.is_empty());
    let commit = named.or_else(packaged).or_else(checked_out).unwrap_or_else(|| "unknown".to_owned());
    println!("cargo::rustc-env=OVERTAKE_COMMIT={commit}");
}

/// The commit of a published package: the value of `sha1`, which is the only long word of hexadecimal digits there.
fn packaged() -> Option<String> {
    let text = std::fs::read_to_string(PACKAGED).ok()?;
    let mut words = text.split('"').filter(|word| word.len() == 40);
    let commit = words.find(|word| word.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
    Some(commit[..DIGITS].to_owned())
}

/// The commit of this checkout. A copy of this package inside another project's repository is not a checkout.
fn checked_out() -> Option<String> {
    let root = git(&["rev-parse", "--show-toplevel"])?;
    let here = std::env::var("CARGO_MANIFEST_DIR").ok()?;
    if Path::new(&root).canonicalize().ok()? != Path::new(&here).canonicalize().ok()? {
        return None;
    }
    // The log of HEAD changes with every commit and every checkout; naming a file that does not exist would mean a
    // rebuild every time.
    for file in ["HEAD", "logs/HEAD"] {
        if let Some(path) = git(&["rev-parse", "--git-path", file]).filter(|path| Path::new(path).exists()) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    git(&["rev-parse", &format!("--short={DIGITS}"), "HEAD"])
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    (output.status.success() && !text.trim().is_empty()).then(|| text.trim().to_owned())
}
