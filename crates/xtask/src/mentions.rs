//! Paths that files mention: stored runs, links between pages, files that probes include. All must exist.

use std::path::{Component, Path, PathBuf};

use pages::stored::FOLDER;

/// Programs that no test builds, because they need nvcc and a GPU.
const PROBES: &str = "benches/probes/";

/// Characters of a path as it stands in text.
fn is_of_path(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "._-/".contains(letter)
}

/// Every path that the text of the file `name` mentions and that does not exist, with its line.
pub fn missing(name: &str, text: &str, exists: &dyn Fn(&str) -> bool) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let mut mentioned = stored_paths(line);
        if name.ends_with(".md") {
            mentioned.extend(links(line).into_iter().map(|link| beside(name, link)));
        }
        if name.starts_with(PROBES) {
            mentioned.extend(included(line).map(|file| beside(name, file)));
        }
        for path in mentioned.into_iter().filter(|path| !exists(path)) {
            found.push((index + 1, format!("`{path}` does not exist")));
        }
    }
    found.dedup();
    found
}

/// Paths into the folder of stored runs. A path that continues with a pattern or a word to be replaced ends before
/// that.
fn stored_paths(line: &str) -> Vec<String> {
    let folder = format!("{FOLDER}/");
    let begins = |at: &usize| !line[..*at].chars().next_back().is_some_and(is_of_path);
    let paths = line.match_indices(folder.as_str()).map(|(at, _)| at).filter(begins).map(|at| {
        let rest = &line[at..];
        let end = rest.find(|letter: char| !is_of_path(letter)).unwrap_or(rest.len());
        let is_pattern = rest[end..].starts_with(['*', '<', '{', '$']);
        let path = if is_pattern { &rest[..rest[..end].rfind('/').unwrap_or(0)] } else { &rest[..end] };
        // Capitals are words to be replaced, except in the name of a page.
        let is_name = |part: &&str| part.chars().any(|c| c.is_ascii_lowercase()) && !part.is_empty();
        path.trim_end_matches(['.', '-', '/']).split('/').take_while(is_name).collect::<Vec<_>>().join("/")
    });
    paths.collect()
}

/// The targets of the links of a line of Markdown that stay in the repository.
fn links(line: &str) -> Vec<&str> {
    let targets = line.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target);
    let stays = |target: &&str| !target.contains("://") && !target.starts_with(['#', '`']) && !target.contains(' ');
    targets.filter(stays).map(|target| target.split('#').next().unwrap_or(target)).collect()
}

/// The project's own file that a line of C includes.
fn included(line: &str) -> Option<&str> {
    line.strip_prefix("#include \"")?.split('"').next()
}

/// A path relative to the folder of the file `name`, from the root of the repository.
pub fn beside(name: &str, link: &str) -> String {
    let mut path = PathBuf::new();
    for part in Path::new(name).parent().unwrap_or(Path::new("")).join(link).components() {
        match part {
            Component::ParentDir => {
                path.pop();
            }
            part => path.push(part),
        }
    }
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whats(name: &str, text: &str) -> Vec<String> {
        let known = ["reports", "reports/latency", "reports/latency/README.md", "crates/capi/README.md"];
        missing(name, text, &|path| known.contains(&path)).into_iter().map(|(_, what)| what).collect()
    }

    /// The folder is in halves, so that this file does not mention a missing path.
    fn text(rest: &str) -> String {
        format!("see ({FOLDER}/{rest}), say")
    }

    #[test]
    fn paths_of_stored_runs_have_to_exist() {
        for good in ["", "latency/", "latency", "latency/README.md", "latency/*.json", "QUESTION/DEVICE"] {
            assert_eq!(whats("src/a.rs", &text(good)), [""; 0], "{good}");
        }
        for bad in ["latency/gone.txt", "gone/*.json", "gone/README.md"] {
            assert_eq!(whats("src/a.rs", &text(bad)).len(), 1, "{bad}");
        }
        assert_eq!(whats("a.sh", &format!("$out/{FOLDER}/gone")), [""; 0], "another folder of that name");
    }

    #[test]
    fn files_that_probes_include_have_to_exist() {
        assert_eq!(whats("benches/probes/driver/a.cu", "#include <cuda.h>"), [""; 0]);
        assert_eq!(whats("benches/probes/driver/a.cu", "#include \"../../../crates/capi/README.md\""), [""; 0]);
        assert_eq!(
            whats("benches/probes/driver/a.cu", "#include \"gone.h\""),
            ["`benches/probes/driver/gone.h` does not exist"]
        );
        assert_eq!(whats("crates/capi/a.c", "#include \"gone.h\""), [""; 0], "a compiler finds that out");
    }

    #[test]
    fn links_between_pages_have_to_exist() {
        assert_eq!(whats("crates/cli/README.md", "[a](../capi/README.md#part) [b](https://a.b/c)"), [""; 0]);
        assert_eq!(whats("crates/cli/README.md", "[a](gone.md)"), ["`crates/cli/gone.md` does not exist"]);
        assert_eq!(whats("crates/cli/src/a.rs", "a[0](gone.md)"), [""; 0], "only pages have links");
    }
}
