//! The part of PTX that loading a module of known kernels needs: its entries and their parameters.

/// An entry of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) parameter_bytes: Vec<u32>,
}

/// The entries of a PTX text; the error describes the mistake in it.
pub(crate) fn entries(text: &str) -> Result<Vec<Entry>, String> {
    let text = without_comments(text);
    for directive in [".version", ".target"] {
        if !text.contains(directive) {
            return Err(format!("no {directive} directive"));
        }
    }
    let mut entries = Vec::new();
    let mut rest = text.as_str();
    while let Some(place) = rest.find(".entry") {
        rest = &rest[place + ".entry".len()..];
        let (entry, after) = entry(rest)?;
        entries.push(entry);
        rest = after;
    }
    Ok(entries)
}

fn entry(text: &str) -> Result<(Entry, &str), String> {
    let body = text.find('{').or_else(|| text.find(';')).ok_or("an .entry without a body")?;
    let head = &text[..body];
    let (name, parameters) = match head.split_once('(') {
        Some((name, rest)) => (name, rest.split_once(')').ok_or("an .entry with an unclosed parameter list")?.0),
        None => (head, ""),
    };
    let name = name.split_whitespace().next().ok_or("an .entry without a name")?;
    let declared = parameters.split(',').map(str::trim).filter(|declaration| !declaration.is_empty());
    let parameter_bytes = declared.map(parameter_bytes).collect::<Result<_, _>>()?;
    Ok((Entry { name: name.to_owned(), parameter_bytes }, &text[body..]))
}

fn parameter_bytes(declaration: &str) -> Result<u32, String> {
    let bad = || format!("parameter `{declaration}` is not understood");
    let words: Vec<&str> = declaration.split_whitespace().collect();
    if words.first() != Some(&".param") {
        return Err(bad());
    }
    let each = words.iter().find_map(|word| match *word {
        ".b8" | ".u8" | ".s8" => Some(1),
        ".b16" | ".u16" | ".s16" | ".f16" => Some(2),
        ".b32" | ".u32" | ".s32" | ".f32" => Some(4),
        ".b64" | ".u64" | ".s64" | ".f64" => Some(8),
        _ => None,
    });
    let count = match declaration.split_once('[') {
        Some((_, count)) => count.trim_end_matches([']', ' ']).trim().parse().map_err(|_| bad())?,
        None => 1,
    };
    each.map(|each: u32| each * count).ok_or_else(bad)
}

fn without_comments(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(place) = rest.find("/*").into_iter().chain(rest.find("//")).min() {
        kept.push_str(&rest[..place]);
        kept.push(' ');
        let (end, skip) = if rest[place..].starts_with("/*") { ("*/", 2) } else { ("\n", 1) };
        rest = rest[place + 2..].find(end).map_or("", |length| &rest[place + 2 + length + skip..]);
    }
    kept.push_str(rest);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_kernels_are_found_with_their_parameters() {
        let entries = entries(crate::BUILTIN_PTX).unwrap();
        let found: Vec<_> = entries.iter().map(|e| (e.name.as_str(), e.parameter_bytes.as_slice())).collect();
        let wanted: [(&str, &[u32]); 5] = [
            ("soft_noop", &[]),
            ("soft_spin_ns", &[8]),
            ("soft_atomic_add_u32", &[8, 4]),
            ("soft_store_u32", &[8, 4]),
            ("soft_wait_u32", &[8, 4]),
        ];
        assert_eq!(found, wanted);
    }

    #[test]
    fn comments_arrays_and_nonsense() {
        let text =
            "// .entry no(\n.version 7.0\n.target sm_70\n/* .entry no( */ .entry k(.param .align 8 .b8 s[24]) { }";
        let wanted = Entry { name: "k".into(), parameter_bytes: vec![24] };
        assert_eq!(entries(text).unwrap(), [wanted]);
        assert!(entries("hello").unwrap_err().contains(".version"));
        assert!(entries(".version 7.0\n.target sm_70\n.entry k(.param .x9 a) {}").unwrap_err().contains(".x9"));
    }
}
