//! The part of PTX that loading a module of known kernels needs: its entries with their parameters, and its global
//! variables.

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

/// The version of PTX that a text declares, if it does.
fn version(text: &str) -> Option<(u32, u32)> {
    let declared = text.split_once(".version")?.1.split_whitespace().next()?;
    let (major, minor) = declared.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// The newest version that a driver of this CUDA knows. CUDA 12.6 and 12.7 brought none and one, so later ones of CUDA
/// 12 are behind it by one.
fn newest(cuda: i32) -> (u32, u32) {
    let (major, minor) = ((cuda / 1000) as u32, (cuda % 1000 / 10) as u32);
    match major {
        12 if minor > 5 => (8, minor - 1),
        12 => (8, minor),
        13.. => (9, minor),
        _ => (7, minor),
    }
}

/// Whether a driver of this CUDA takes the text; the error is what its compiler says.
pub(crate) fn is_known(text: &str, cuda: i32) -> Result<(), String> {
    let (major, minor) = newest(cuda);
    match version(&without_comments(text)) {
        Some(declared) if declared > (major, minor) => {
            Err(format!("Unsupported .version {}.{}; current version is '{major}.{minor}'", declared.0, declared.1))
        }
        _ => Ok(()),
    }
}

/// A global variable of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Global {
    pub(crate) name: String,
    pub(crate) bytes: u64,
}

/// The global variables of a PTX text, which begin as zeroes.
pub(crate) fn globals(text: &str) -> Result<Vec<Global>, String> {
    let outside = outside_braces(&without_comments(text));
    let statements = outside.split(';').map(str::trim);
    let declared = statements.filter(|statement| statement.split_whitespace().any(|word| word == ".global"));
    declared.map(global).collect()
}

fn global(statement: &str) -> Result<Global, String> {
    let bad = |why: &str| format!("global variable `{statement}`: {why}");
    if statement.contains('=') {
        return Err(bad("the software GPU does not model initial values"));
    }
    let (head, count) = match statement.split_once('[') {
        Some((head, count)) => (head, count.trim_end_matches([']', ' ']).trim()),
        None => (statement, "1"),
    };
    let words: Vec<&str> = head.split_whitespace().collect();
    let each = words.iter().find_map(|word| type_bytes(word)).ok_or_else(|| bad("its type is not understood"))?;
    let count: u64 = count.parse().map_err(|_| bad("its size is not understood"))?;
    let name = words.last().filter(|name| !name.starts_with('.')).ok_or_else(|| bad("it has no name"))?;
    let bytes = count.checked_mul(u64::from(each)).filter(|bytes| *bytes > 0).ok_or_else(|| bad("its size"))?;
    Ok(Global { name: (*name).to_owned(), bytes })
}

/// The text without the bodies of kernels and functions. An entry ends with its body.
fn outside_braces(text: &str) -> String {
    let mut depth = 0_u32;
    let mut kept = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '{' => depth += 1,
            '}' => {
                depth = depth.saturating_sub(1);
                kept.push(';');
            }
            _ if depth == 0 => kept.push(letter),
            _ => {}
        }
    }
    kept
}

fn type_bytes(word: &str) -> Option<u32> {
    match word {
        ".b8" | ".u8" | ".s8" => Some(1),
        ".b16" | ".u16" | ".s16" | ".f16" => Some(2),
        ".b32" | ".u32" | ".s32" | ".f32" => Some(4),
        ".b64" | ".u64" | ".s64" | ".f64" => Some(8),
        _ => None,
    }
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
    let each = words.iter().find_map(|word| type_bytes(word));
    let count = match declaration.split_once('[') {
        Some((_, count)) => count.trim_end_matches([']', ' ']).trim().parse().map_err(|_| bad())?,
        None => 1,
    };
    each.map(|each: u32| each * count).ok_or_else(bad)
}

fn without_comments(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(place) = rest.find('/') {
        let (before, from) = rest.split_at(place);
        let (length, stands_for) = match comment_bytes(from) {
            Some(length) => (length, " "),
            None => (1, "/"),
        };
        kept.push_str(before);
        kept.push_str(stands_for);
        rest = &from[length..];
    }
    kept.push_str(rest);
    kept
}

/// The length of the comment at the start of a text that begins with a slash. One without an end goes on to the end of
/// the text.
fn comment_bytes(text: &str) -> Option<usize> {
    let end = match text.as_bytes().get(1)? {
        b'*' => "*/",
        b'/' => "\n",
        _ => return None,
    };
    Some(text[2..].find(end).map_or(text.len(), |length| 2 + length + end.len()))
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
    fn a_driver_takes_no_later_version_than_its_own() {
        let takes = |version: &str, cuda| is_known(&format!("/* */ .version {version}\n.target sm_75"), cuda).is_ok();
        for (cuda, newest, later) in [
            (12_000, "8.0", "8.1"),
            (12_010, "8.1", "8.2"),
            (12_040, "8.4", "8.5"),
            (12_060, "8.5", "8.6"),
            (12_080, "8.7", "8.8"),
            (13_000, "9.0", "9.1"),
        ] {
            assert!(takes(newest, cuda) && !takes(later, cuda), "CUDA {cuda}");
        }
    }

    #[test]
    fn comments_arrays_and_nonsense() {
        let text =
            "// .entry no(\n.version 7.0\n.target sm_70\n/* .entry no( */ .entry k(.param .align 8 .b8 s[24]) { }";
        let wanted = Entry { name: "k".into(), parameter_bytes: vec![24] };
        assert_eq!(entries(text).unwrap(), [wanted]);
        for (text, kept) in [("1 / 2 /", "1 / 2 /"), ("a//b\nc/*/d*/e/", "a c e/"), ("f/*g", "f "), ("h//", "h ")] {
            assert_eq!(without_comments(text), kept);
        }
        assert!(entries("hello").unwrap_err().contains(".version"));
        assert!(entries(".version 7.0\n.target sm_70\n.entry k(.param .x9 a) {}").unwrap_err().contains(".x9"));
    }

    #[test]
    fn globals_are_found_outside_of_bodies() {
        let text = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .global .align 8 .b8 ring[24];\n\
                    .visible .entry k(.param .u64 a) { .reg .b32 %r; ld.global.u32 %r, [a]; { ret; } }\n\
                    .global .u32 flag ;";
        let wanted = [("ring", 24), ("flag", 4)].map(|(name, bytes)| Global { name: name.into(), bytes });
        assert_eq!(globals(text).unwrap(), wanted);
    }

    #[test]
    fn globals_that_are_not_modelled_are_refused() {
        for (text, why) in [
            (".global .u32 x = 5;", "initial values"),
            (".global .u32 x[2] = { 1, 2 };", "initial values"),
            (".global .texref x;", "type"),
            (".global .u32 x[];", "size"),
            (".global .u32 x[0];", "size"),
            (".global .u32;", "name"),
        ] {
            let error = globals(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
