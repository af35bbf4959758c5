//! Paths of one machine, which say nothing elsewhere: no stored run may have one.

/// Folders that exist on one machine only.
pub const FOLDERS: [&str; 4] =
    [concat!("/wo", "rk/"), concat!("/t", "mp/"), concat!("/ro", "ot/"), concat!("/ho", "me/")];

/// A text in which every path into such a folder is cut to its last part.
pub fn without_paths(text: &str) -> String {
    let ends = |letter: char| letter.is_whitespace() || "\"',;:)".contains(letter);
    let mut rest = text;
    let mut kept = String::with_capacity(text.len());
    let first = |text: &str| FOLDERS.iter().filter_map(|folder| place_of(text, folder)).min();
    while let Some(at) = first(rest) {
        let path = &rest[at..];
        let path = &path[..path.find(ends).unwrap_or(path.len())];
        kept += &rest[..at];
        kept += path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        rest = &rest[at + path.len()..];
    }
    kept + rest
}

/// The place where an absolute path begins with `folder`, unless it is in the middle of another path.
pub fn place_of(text: &str, folder: &str) -> Option<usize> {
    let begins = |at: &usize| {
        let before = text[..*at].chars().next_back();
        !before.is_some_and(|before| before.is_alphanumeric() || "._-/}*~".contains(before))
    };
    text.match_indices(folder).map(|(at, _)| at).find(begins)
}
