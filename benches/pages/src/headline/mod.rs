//! `headline`: takes every figure in the READMEs from the stored runs.
//!
//! Figures stand between `<!-- headline:NAME DEVICE -->` and `<!-- /headline -->`. The command writes them, and a
//! picture for each question and device. `--check` lists the places that differ from the stored runs.

mod cells;
mod compared;
mod copies;
#[cfg(test)]
pub(crate) mod example;
mod first;
mod front;
pub(crate) mod groups;
mod markers;
mod others;
mod pictures;
mod programs;
mod sources;
mod summary;
mod unmodified;
mod video;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use crate::stored::{self, FOLDER, Stored};
use crate::{Mode, Outcome, read_text};

/// A maker of the text between markers, from the runs and the words that follow its name.
type Maker = fn(&[Stored], &[&str]) -> Result<String, String>;

/// All makers by name.
const MAKERS: [(&str, Maker); 23] = [
    ("agreement", others::agreement),
    ("batches", front::batches),
    ("bench", copies::bench_table),
    ("burst-cost", front::burst_cost),
    ("call-cost", front::call_cost),
    ("close-to-idle", front::close_to_idle),
    ("compared", compared::shown),
    ("distributions", pictures::shown),
    ("express", front::express),
    ("first-screen", first::table),
    ("guarded-bulk", front::guarded_bulk),
    ("hunts", others::hunts),
    ("library", front::library),
    ("nccl", others::nccl),
    ("programs", programs::table),
    ("questions", sources::questions),
    ("runs", sources::runs),
    ("scripts", programs::script_table),
    ("unmodified", unmodified::table),
    ("short-way", front::short_way),
    ("startup", others::startup),
    ("summary", summary::table),
    ("video", video::table),
];

/// Pages that may quote figures of stored runs, and no others.
const QUOTING: [&str; 2] = ["README.md", "docs/limits.md"];

/// Writes the differing places, or lists them.
pub fn run(root: &Path, mode: Mode) -> Outcome {
    let runs = stored::read_all(root).map_err(|wrong| wrong.join("\n") + "\n")?;
    let mut wanted: BTreeMap<String, Option<String>> = pictures::all(&runs);
    let mut typed = Vec::new();
    for page in pages(root)? {
        let Ok(text) = read_text(&root.join(&page)) else { continue };
        let filled = markers::fill(&text, |name, words| make(&runs, name, words))
            .map_err(|error| format!("{page}: {error}\n"))?;
        if QUOTING.contains(&page.as_str()) {
            typed.extend(
                markers::typed_figures(&filled).into_iter().map(|(line, what)| format!("{page}:{line}: {what}")),
            );
        }
        wanted.insert(page, Some(filled));
    }
    for picture in old_pictures(root) {
        wanted.entry(picture).or_insert(None);
    }
    let texts = wanted.iter().filter(|(page, _)| page.ends_with(".md")).filter_map(|(_, text)| text.as_deref());
    let mut text = warnings(&runs, &texts.collect::<Vec<_>>());
    let mut differing = Vec::new();
    for (file, content) in &wanted {
        let path = root.join(file);
        if read_text(&path).ok() == *content {
            continue;
        }
        match (mode, content) {
            (Mode::Check, _) => differing.push(format!("{file} differs from the stored runs")),
            (Mode::Write, Some(content)) => {
                os::file::write_whole(&path, content.as_bytes()).map_err(|error| format!("{file}: {error}\n"))?
            }
            (Mode::Write, None) => std::fs::remove_file(&path).map_err(|error| format!("{file}: {error}\n"))?,
        }
        text += &format!("written: {file}\n");
    }
    if !differing.is_empty() {
        differing.push("run `cargo xtask headline`, and look at its changes".to_owned());
    }
    differing.extend(typed);
    match differing.is_empty() {
        true => Ok(text + &format!("headline: {} runs, {} pages and pictures\n", runs.len(), wanted.len())),
        false => Err(differing.join("\n") + "\n"),
    }
}

fn make(runs: &[Stored], name: &str, words: &[&str]) -> Result<String, String> {
    let known = MAKERS.iter().find(|(known, _)| *known == name);
    let (_, maker) = known.ok_or_else(|| {
        let names: Vec<&str> = MAKERS.iter().map(|(name, _)| *name).collect();
        format!("`headline:{name}` is not one of {}", names.join(", "))
    })?;
    maker(runs, words)
}

/// Every Markdown file that git tracks or would add.
fn pages(root: &Path) -> Result<Vec<String>, String> {
    let output = Command::new("git")
        .current_dir(root)
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.md"])
        .output()
        .map_err(|error| format!("git does not start: {error}\n"))?;
    let names = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(names.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect())
}

/// The existing pictures, including those of questions that have lost their runs.
fn old_pictures(root: &Path) -> Vec<String> {
    let folders = std::fs::read_dir(root.join(FOLDER)).into_iter().flatten().filter_map(Result::ok);
    let files =
        folders.flat_map(|folder| std::fs::read_dir(folder.path()).into_iter().flatten()).filter_map(Result::ok);
    let paths = files.map(|file| file.path()).filter(|path| path.extension().is_some_and(|is| is == "svg"));
    paths.filter_map(|path| Some(path.strip_prefix(root).ok()?.to_string_lossy().into_owned())).collect()
}

/// The runs that must be measured again, beside the texts of all pages.
fn warnings(runs: &[Stored], texts: &[&str]) -> String {
    let mut stale: Vec<&str> = runs.iter().filter(|run| run.is_stale()).map(|run| run.file.as_str()).collect();
    stale.dedup();
    stale.into_iter().map(|file| warning(file, texts)).collect()
}

/// Tables leave such a run out. Sentences may name it, by its folder and its name; the list of all runs has it too.
fn warning(file: &str, texts: &[&str]) -> String {
    let name = file.splitn(3, '/').last().unwrap_or(file);
    let is_named = |text: &&str| text.lines().any(|line| line.contains(name) && !line.starts_with("| `"));
    match texts.iter().filter(|text| is_named(text)).count() {
        0 => format!("warning: {file} is of an older product: nothing quotes it; measure again, or remove it\n"),
        count => format!("warning: {file} is of an older product, and {count} page(s) name it: measure again\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_a_sentence_names_is_not_to_be_removed() {
        let file = &format!("{FOLDER}/guard/h100/old.txt");
        let listed = "| `h100/old.txt` | H100 |\n";
        assert!(warning(file, &[listed, "the page of another run\n"]).ends_with("or remove it\n"));
        let named = format!("{listed}\nThe cost of a guard (`h100/old.txt`).\n");
        assert!(warning(file, &[&named, file]).contains("2 page(s) name it: measure again"));
    }
}
