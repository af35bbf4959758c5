//! The version of PTX: a driver refuses a text of a later version than its own, whatever the text uses.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Outcome;
use crate::wheels::{self, Scratch};

/// The latest version that a text may declare: that of CUDA 12.1, so drivers from R530 load it.
const LATEST: (u32, u32) = (8, 1);
/// The wheel with the `ptxas` of that CUDA.
const WHEEL: &str = "nvidia-cuda-nvcc-cu12==12.1.105";
/// The devices that it translates every text for: those that this CUDA knows and the layer is meant for.
const DEVICES: [&str; 5] = ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90"];
/// The directive, in halves, so that this file does not find itself.
const DIRECTIVE: &str = concat!(".ver", "sion ");

/// Every place of a text that declares a later version. Sources in other languages hold PTX in strings.
pub fn too_new(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for (at, _) in line.match_indices(DIRECTIVE) {
            if version(&line[at + DIRECTIVE.len()..]).is_some_and(|declared| declared > LATEST) {
                let (major, minor) = LATEST;
                let what = format!("PTX of a later version than {major}.{minor}: drivers before it refuse the text");
                found.push((index + 1, what));
            }
        }
    }
    found
}

/// The version at the start of a text, such as `8.1`.
fn version(text: &str) -> Option<(u32, u32)> {
    let (major, rest) = text.trim_start().split_once('.')?;
    let minor = rest.split(|letter: char| !letter.is_ascii_digit()).next()?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// Has the `ptxas` of the oldest CUDA translate every `.ptx` file that git tracks, for each device.
pub fn run(root: &Path) -> Outcome {
    let texts = texts(root)?;
    let scratch = Scratch::new()?;
    let ptxas = match wheels::fetch_file(scratch.path(), &[WHEEL], "ptxas") {
        Ok(folder) => folder.join("ptxas"),
        Err(why) => return Ok(format!("skipped: {why}\n")),
    };
    make_executable(&ptxas)?;
    for text in &texts {
        for device in DEVICES {
            let mut command = Command::new(&ptxas);
            command.current_dir(root).arg(format!("-arch={device}")).arg(text).args(["-o", "/dev/null"]);
            let output = command.output().map_err(|error| format!("{}: {error}\n", ptxas.display()))?;
            if !output.status.success() {
                return Err(format!("{device}: {}", String::from_utf8_lossy(&output.stderr)));
            }
        }
    }
    Ok(format!("ptx: {WHEEL} translates {} texts for {}\n", texts.len(), DEVICES.join(", ")))
}

fn texts(root: &Path) -> Result<Vec<PathBuf>, String> {
    let output = wheels::run(Command::new("git").current_dir(root).args(["ls-files", "-z", "*.ptx"]))?;
    let names = String::from_utf8_lossy(&output.stdout);
    let texts: Vec<PathBuf> = names.split('\0').filter(|name| !name.is_empty()).map(PathBuf::from).collect();
    if texts.is_empty() { Err("git tracks no `.ptx` file here\n".to_owned()) } else { Ok(texts) }
}

/// `zipfile` unpacks without permissions.
fn make_executable(path: &Path) -> Result<(), String> {
    use std::os::unix::fs::PermissionsExt;
    let permissions = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(path, permissions).map_err(|error| format!("{}: {error}\n", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_versions_are_found_in_texts_and_in_strings() {
        let lines = |text: &str| too_new(text).into_iter().map(|(line, _)| line).collect::<Vec<_>>();
        let declared = |version: &str| format!("//\n{DIRECTIVE}{version}\n.target sm_75\n");
        for fine in ["6.0", "7.0", "7.8", "8.0", "8.1"] {
            assert_eq!(lines(&declared(fine)), Vec::<usize>::new(), "{fine}");
        }
        for late in ["8.2", "8.10", "9.0", "10.1"] {
            assert_eq!(lines(&declared(late)), [2], "{late}");
        }
        assert_eq!(lines(&format!("const A: &str = \"{DIRECTIVE}8.4\\n.target sm_90\";")), [1]);
        assert_eq!(lines(&format!("the line `{DIRECTIVE}N` of a text")), Vec::<usize>::new());
    }

    #[test]
    fn no_text_of_the_tree_is_later() {
        let root = crate::root();
        let texts = texts(&root).unwrap();
        assert!(texts.iter().any(|text| text.ends_with("kernel/copy.ptx")), "{texts:?}");
        for name in texts {
            let text = std::fs::read_to_string(root.join(&name)).unwrap();
            assert!(text.contains(DIRECTIVE), "{}", name.display());
            assert_eq!(too_new(&text), [], "{}", name.display());
        }
    }
}
