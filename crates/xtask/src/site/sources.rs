//! The sources of the site: each page of the summary and the pictures that it shows, at their paths in the repository.
//! Links to anything else lead to the repository's address.

use std::collections::BTreeSet;
use std::path::Path;

use crate::codegen::read;
use crate::mentions::beside;

const PICTURES: [&str; 2] = [".svg", ".png"];

/// Writes the sources into `folder`, and counts the pages.
pub fn write(root: &Path, summary: &str, folder: &Path) -> Result<usize, String> {
    let list = with_links(summary, &mut |link| beside(super::SUMMARY, link));
    let pages = targets(&list);
    let address = address(root)?;
    put(folder, "SUMMARY.md", with_links(&list, &mut on_site).as_bytes())?;
    for page in &pages {
        let mut pictures = BTreeSet::new();
        let text = with_links(&read(&root.join(page))?, &mut |link| {
            let (path, anchor) = link.split_at(link.find('#').unwrap_or(link.len()));
            let path = beside(page, path);
            if pages.contains(&path) {
                return on_site(link);
            }
            if PICTURES.iter().any(|end| path.ends_with(end)) {
                pictures.insert(path);
                return link.to_owned();
            }
            let kind = if root.join(&path).is_dir() { "tree" } else { "blob" };
            format!("{address}/{kind}/main/{path}{anchor}")
        });
        put(folder, &on_site(page), text.as_bytes())?;
        for picture in pictures {
            let content =
                std::fs::read(root.join(&picture)).map_err(|error| format!("{page}: {picture}: {error}\n"))?;
            put(folder, &picture, &content)?;
        }
    }
    Ok(pages.len())
}

/// The name of a page there: a folder's page is its index, and mdBook does not rename the links to it.
fn on_site(page: &str) -> String {
    page.replace("README.md", "index.md")
}

/// The text with each link that stays in the repository replaced, save in code.
fn with_links(text: &str, replace: &mut dyn FnMut(&str) -> String) -> String {
    let mut is_code = false;
    let mut result = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        let mut parts = line.split("](");
        result.push_str(parts.next().unwrap_or_default());
        for part in parts {
            result.push_str("](");
            match part.split_once(')') {
                Some((target, rest)) if stays(target) && !is_code => {
                    result.push_str(&replace(target));
                    result.push(')');
                    result.push_str(rest);
                }
                _ => result.push_str(part),
            }
        }
    }
    result
}

/// Whether a link leads to another file of the repository.
fn stays(target: &str) -> bool {
    !target.contains("://") && !target.contains(' ') && !target.starts_with(['#', '`'])
}

fn targets(list: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    with_links(list, &mut |link| {
        found.insert(link.to_owned());
        String::new()
    });
    found
}

/// The repository's address, from the workspace's `Cargo.toml`.
fn address(root: &Path) -> Result<String, String> {
    let manifest: toml::Value =
        toml::from_str(&read(&root.join("Cargo.toml"))?).map_err(|error| format!("{error}\n"))?;
    let found = manifest.get("workspace").and_then(|it| it.get("package")).and_then(|it| it.get("repository"));
    found.and_then(|it| it.as_str()).map(str::to_owned).ok_or_else(|| "Cargo.toml has no repository\n".to_owned())
}

fn put(folder: &Path, name: &str, content: &[u8]) -> Result<(), String> {
    let file = folder.join(name);
    let parent = file.parent().expect("a file of the site has a folder");
    std::fs::create_dir_all(parent).map_err(|error| format!("{}: {error}\n", parent.display()))?;
    std::fs::write(&file, content).map_err(|error| format!("{}: {error}\n", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root;

    #[test]
    fn links_are_replaced_where_they_stay_in_the_repository() {
        let text = "[a](b.md#c) and ![d](e.svg)\n```\n[f](g.md)\n```\n[h](https://i) [j](#k)\n";
        let replaced = with_links(text, &mut |link| format!("<{link}>"));
        let expected = "[a](<b.md#c>) and ![d](<e.svg>)\n```\n[f](g.md)\n```\n[h](https://i) [j](#k)\n";
        assert_eq!(replaced, expected);
    }

    #[test]
    fn every_page_of_the_documentation_is_in_the_summary() {
        let summary = read(&root().join(super::super::SUMMARY)).unwrap();
        let listed = targets(&with_links(&summary, &mut |link| beside(super::super::SUMMARY, link)));
        for folder in ["docs", "docs/decisions"] {
            for entry in std::fs::read_dir(root().join(folder)).unwrap().flatten() {
                let name = format!("{folder}/{}", entry.file_name().to_string_lossy());
                let is_page = name.ends_with(".md") && name != super::super::SUMMARY && name != "docs/README.md";
                assert!(!is_page || listed.contains(&name), "{name} is not in {}", super::super::SUMMARY);
            }
        }
    }
}
