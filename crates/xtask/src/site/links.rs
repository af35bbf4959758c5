//! Links of built pages: to a page that exists, and to a heading that it has.

use std::path::{Path, PathBuf};

use crate::codegen::read;

/// Pages that mdBook writes for servers and frames: they repeat the links of others.
const EXTRA: [&str; 2] = ["404.html", "toc.html"];

/// A line for each link below the folder that leads nowhere.
pub fn dead(folder: &Path) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    for page in pages(folder)? {
        let text = read(&page)?;
        let from = page.strip_prefix(folder).unwrap_or(&page).display();
        for link in [" href=\"", " src=\""].into_iter().flat_map(|name| values(&text, name)) {
            if let Some(why) = complaint(&page, &text, link)? {
                found.push(format!("{from}: `{link}`: {why}\n"));
            }
        }
    }
    Ok(found)
}

fn complaint(page: &Path, text: &str, link: &str) -> Result<Option<&'static str>, String> {
    if link.contains(':') {
        return Ok(None); // of another site, or a picture in the link itself
    }
    let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
    let target = page.parent().unwrap_or(Path::new("")).join(path);
    if !path.is_empty() && !target.is_file() {
        return Ok(Some("no such file"));
    }
    let has_anchor = |text: &str| anchor.is_empty() || values(text, " id=\"").any(|id| id == anchor);
    let is_there = if path.is_empty() || anchor.is_empty() { has_anchor(text) } else { has_anchor(&read(&target)?) };
    Ok((!is_there).then_some("no such heading"))
}

/// The values of an attribute, which is written with the space before and the quote behind its name.
fn values<'t>(text: &'t str, attribute: &'t str) -> impl Iterator<Item = &'t str> {
    text.split(attribute).skip(1).filter_map(|rest| rest.split('"').next())
}

/// The pages below the folder.
pub fn pages(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    let entries = std::fs::read_dir(folder).map_err(|error| format!("{}: {error}\n", folder.display()))?;
    for path in entries.flatten().map(|entry| entry.path()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            found.extend(pages(&path)?);
        } else if name.ends_with(".html") && !EXTRA.contains(&&*name) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wheels::Scratch;

    #[test]
    fn links_that_lead_nowhere_are_told() {
        let scratch = Scratch::new().unwrap();
        let page = |name: &str, text: &str| std::fs::write(scratch.path().join(name), text).unwrap();
        page("a.html", "<a href=\"b.html#there\"> <a href=\"#here\"> <h2 id=\"here\"> <a href=\"https://x\">");
        page("b.html", "<h2 id=\"there\"> <a href=\"a.html\">");
        assert_eq!(dead(scratch.path()).unwrap(), [""; 0]);
        page("b.html", "<a href=\"gone.html\"> <img src=\"gone.svg\">");
        let found = dead(scratch.path()).unwrap().concat();
        assert!(found.contains("a.html: `b.html#there`: no such heading"), "{found}");
        assert!(found.contains("b.html: `gone.html`: no such file"), "{found}");
        assert!(found.contains("`gone.svg`"), "{found}");
    }
}
