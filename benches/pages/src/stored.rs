//! Stored runs: the files `DEVICE/NAME` in the archive of each question, and their headers.
//!
//! A run is JSON in the format of `overtake bench --json` and the scripts of `benches/gpu`: a header and rows, or a
//! list of such runs that were made in turn. Or it is text: the lines of its header, an empty line, and the text.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use report::{BenchRow, Header};
use serde_json::{Map, Value};

use crate::{archive, machine, read_text};

/// The folder of all runs.
pub const FOLDER: &str = "reports";
/// Folders of `reports` that hold no runs: lists of mutants, and logs of the fuzzers.
const OTHER_FOLDERS: [&str; 2] = ["mutants", "fuzz"];
/// The part of a run that is its text.
pub const TEXT: &str = "text";
/// The header of a text has these lines in this order.
const TEXT_HEADER: [&str; 5] = ["device", "driver", "commit", "product", "command"];

/// One run.
#[derive(Clone, Debug)]
pub struct Stored {
    /// Its name, `reports/QUESTION/DEVICE/NAME`: the folder of the question, and the name in its archive.
    pub file: String,
    /// The folder of the question that it answers.
    pub question: String,
    /// The folder, in the archive, of the device that it ran on.
    pub device: String,
    /// Its origin.
    pub header: Header,
    /// Its measurements; none if it is text.
    pub rows: Vec<Value>,
    /// The other parts of its JSON, or its text as `TEXT`.
    pub rest: Map<String, Value>,
}

impl Stored {
    /// Whether it may be quoted: it is of the current product.
    pub fn is_current(&self) -> bool {
        self.header.product == report::PRODUCT
    }

    /// Whether it is of an older product: it must be measured again or removed.
    pub fn is_stale(&self) -> bool {
        self.header.product != 0 && self.header.product < report::PRODUCT
    }

    /// Its rows in the format of the benches.
    pub fn bench_rows(&self) -> Vec<BenchRow> {
        self.rows.iter().filter_map(|row| serde_json::from_value(row.clone()).ok()).collect()
    }

    /// The part of its environment that distinguishes it from other runs for the same question.
    pub fn variant(&self) -> String {
        // A host may have equal devices. The one that a run had does not make it another run.
        let tells = |name: &str| !["CUDA_VISIBLE_DEVICES", "OVERTAKE_BACKEND"].contains(&name);
        let words = self.header.environment.iter().filter(|(name, _)| tells(name));
        words.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
    }
}

/// Whether copies of a run with this variant were guarded: by the option of its time, or by a value for tests.
pub fn is_guarded(variant: &str) -> bool {
    let mut settings = variant.split([' ', ',']);
    settings.any(|setting| setting.to_ascii_lowercase().contains("guard_bytes_min=") && !setting.ends_with("=off"))
}

/// All stored runs, in the order of their files; or all mistakes in them.
pub fn read_all(root: &Path) -> Result<Vec<Stored>, Vec<String>> {
    let (mut runs, mut wrong) = (Vec::new(), Vec::new());
    for question in entries(&root.join(FOLDER)) {
        let name = name_of(&question);
        if question.is_dir() && !OTHER_FOLDERS.contains(&name.as_str()) {
            read_question(&question, &name, &mut runs, &mut wrong);
        }
    }
    if wrong.is_empty() { Ok(runs) } else { Err(wrong) }
}

fn read_question(folder: &Path, question: &str, runs: &mut Vec<Stored>, wrong: &mut Vec<String>) {
    if !folder.join("README.md").is_file() {
        wrong.push(format!("{FOLDER}/{question} has no README.md that states its question"));
    }
    for name in entries(folder).iter().map(|entry| name_of(entry)) {
        if !["README.md", archive::NAME].contains(&name.as_str()) && !name.ends_with(".svg") {
            let cure = format!("a run belongs into {}: see `cargo xtask store-run`", archive::NAME);
            wrong.push(format!("{FOLDER}/{question}/{name}: {cure}"));
        }
    }
    let texts = archive::read(&folder.join(archive::NAME)).unwrap_or_else(|error| {
        wrong.push(error);
        BTreeMap::new()
    });
    for (name, text) in &texts {
        let file = format!("{FOLDER}/{question}/{name}");
        match of_device(name, text) {
            Ok((device, found)) => runs.extend(found.into_iter().map(|(header, rows, rest)| Stored {
                file: file.clone(),
                question: question.to_owned(),
                device: device.to_owned(),
                header,
                rows,
                rest,
            })),
            Err(error) => wrong.push(format!("{file}: {error}")),
        }
    }
}

/// The device and the runs of a file of an archive.
fn of_device<'a>(name: &'a str, text: &str) -> Result<(&'a str, Vec<Parts>), String> {
    let parts = name.split_once('/').filter(|(_, name)| !name.contains('/'));
    let (device, _) = parts.ok_or("a run belongs into the folder of its device")?;
    if let Some(folder) = machine::FOLDERS.into_iter().find(|folder| machine::place_of(text, folder).is_some()) {
        return Err(format!("`{folder}` is a path of one machine"));
    }
    Ok((device, parse(name, text)?))
}

/// The texts of all stored runs by their names, without a check of either.
#[must_use]
pub fn texts(root: &Path) -> BTreeMap<String, String> {
    let questions = entries(&root.join(FOLDER)).into_iter();
    let named = questions.flat_map(|question| {
        let texts = archive::read(&question.join(archive::NAME)).unwrap_or_default();
        texts.into_iter().map(move |(name, text)| (format!("{FOLDER}/{}/{name}", name_of(&question)), text))
    });
    named.collect()
}

/// The names of all stored runs, and of their folders, as pages mention them.
#[must_use]
pub fn names(root: &Path) -> BTreeSet<String> {
    let mut names: BTreeSet<String> = texts(root).into_keys().collect();
    let folders: Vec<String> =
        names.iter().filter_map(|name| name.rsplit_once('/')).map(|(folder, _)| folder.to_owned()).collect();
    names.extend(folders);
    names
}

/// A header, rows, and the other parts.
pub type Parts = (Header, Vec<Value>, Map<String, Value>);

/// The runs of one file that is not stored yet.
///
/// # Errors
/// It cannot be read, or does not say where it comes from.
pub fn read(file: &Path) -> Result<Vec<Parts>, String> {
    parse(&name_of(file), &read_text(file).map_err(|error| error.to_string())?)
}

fn parse(name: &str, text: &str) -> Result<Vec<Parts>, String> {
    let found = match name.rsplit_once('.').map(|(_, extension)| extension) {
        Some("json") => match serde_json::from_str(text).map_err(|error| error.to_string())? {
            Value::Array(list) => list.into_iter().map(parts).collect::<Result<Vec<_>, _>>()?,
            one => vec![parts(one)?],
        },
        Some("txt") => vec![(text_header(text)?, Vec::new(), Map::from_iter([(TEXT.to_owned(), text.into())]))],
        _ => return Err("neither JSON nor text".to_owned()),
    };
    if found.is_empty() {
        return Err("no run".to_owned());
    }
    found.iter().try_for_each(|(header, _, _)| complete(header))?;
    Ok(found)
}

fn parts(run: Value) -> Result<Parts, String> {
    let Value::Object(mut run) = run else { return Err("a run is an object".to_owned()) };
    let header = run.remove("header").ok_or("there is no header")?;
    if header.get("product").is_none() {
        return Err("the header has no product number".to_owned());
    }
    let header = serde_json::from_value(header).map_err(|error| format!("header: {error}"))?;
    let Some(Value::Array(rows)) = run.remove("rows") else { return Err("there are no rows".to_owned()) };
    Ok((header, rows, run))
}

fn text_header(text: &str) -> Result<Header, String> {
    let mut said = BTreeMap::new();
    for line in text.lines().take_while(|line| !line.is_empty()) {
        let (name, value) = line.split_once(": ").ok_or_else(|| format!("`{line}` is no line of a header"))?;
        said.insert(name, value);
    }
    let find = |name: &str| said.get(name).map(|value| (*value).to_owned()).ok_or_else(|| format!("no `{name}: ...`"));
    let [device, driver, commit, product, command] = TEXT_HEADER.map(find);
    let product = product?.parse().map_err(|error| format!("product: {error}"))?;
    Ok(Header {
        version: String::new(),
        commit: commit?,
        product,
        command: command?,
        device: device?,
        driver: driver?,
        driver_release: None,
        backend: String::new(),
        environment: BTreeMap::new(),
    })
}

fn complete(header: &Header) -> Result<(), String> {
    let said = [("device", &header.device), ("driver", &header.driver), ("commit", &header.commit)];
    for (name, value) in said.into_iter().chain([("command", &header.command)]) {
        if value.trim().is_empty() || value == "unknown" {
            return Err(format!("the header has no {name}"));
        }
    }
    if header.product > report::PRODUCT {
        let (theirs, ours) = (header.product, report::PRODUCT);
        return Err(format!("it is of product {theirs}, and the product is {ours}: raise report::PRODUCT, or mend it"));
    }
    Ok(())
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The files and folders in a folder, in order.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(read) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = read.filter_map(Result::ok).map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

#[cfg(test)]
mod tests {
    use tempfile::{TempDir, tempdir};

    use super::*;

    const JSON: &str = r#"{"header":{"version":"0.1.0","commit":"abc","product":1,"command":"overtake bench latency",
        "device":"X","driver":"13.0","backend":"cuda","environment":{"OVERTAKE_BACKEND":"cuda","A":"1"}},"rows":[{}]}"#;
    const TEXT: &str = "device: X\ndriver: 13.0\ncommit: abc\nproduct: 0\ncommand: ./a.out\n\nwhat it printed\n";

    /// A `reports` folder with one stored file of one question.
    fn store(name: &str, text: &str) -> TempDir {
        let root = tempdir().unwrap();
        let (question, name) = name.split_once('/').unwrap();
        let folder = root.path().join(FOLDER).join(question);
        std::fs::create_dir_all(&folder).unwrap();
        archive::write(&folder.join(archive::NAME), &BTreeMap::from([(name.to_owned(), text.to_owned())])).unwrap();
        let asked = root.path().join(FOLDER).join("latency");
        std::fs::create_dir_all(&asked).unwrap();
        std::fs::write(asked.join("README.md"), "").unwrap();
        root
    }

    fn wrong(name: &str, text: &str) -> String {
        read_all(store(name, text).path()).unwrap_err().join("\n")
    }

    #[test]
    fn guarded_runs_are_known_by_either_spelling() {
        for variant in ["OVERTAKE_CHANNELS=off OVERTAKE_GUARD_BYTES_MIN=1M", "OVERTAKE_UNLISTED=guard_bytes_min=1M"] {
            assert!(is_guarded(variant), "{variant}");
        }
        assert!(is_guarded("OVERTAKE_UNLISTED=channels=off,guard_bytes_min=1M"), "as in reports/README.md");
        for variant in ["", "OVERTAKE_UNLISTED=guard_bytes_min=off,lull=on", "OVERTAKE_GUARD_AFTER_US=50"] {
            assert!(!is_guarded(variant), "{variant}");
        }
    }

    #[test]
    fn json_and_text_say_where_they_come_from() {
        let runs = read_all(store("latency/h100/a.json", JSON).path()).unwrap();
        assert_eq!((runs[0].question.as_str(), runs[0].device.as_str()), ("latency", "h100"));
        assert_eq!((runs[0].variant().as_str(), runs[0].rows.len()), ("A=1", 1));
        let list = format!("[{JSON},{JSON}]");
        assert_eq!(read_all(store("latency/h100/a.json", &list).path()).unwrap().len(), 2);
        let runs = read_all(store("latency/h100/a.txt", TEXT).path()).unwrap();
        assert_eq!((runs[0].header.product, runs[0].header.command.as_str()), (0, "./a.out"));
        assert!(!runs[0].is_stale() && !runs[0].is_current(), "runs for comparison only are neither");
    }

    #[test]
    fn a_run_that_does_not_say_where_it_comes_from_is_refused() {
        for name in ["device", "driver", "commit", "product", "command"] {
            let json = JSON.replace(&format!("\"{name}\""), "\"other\"");
            assert!(wrong("latency/h100/a.json", &json).contains(name), "{name}");
            let text = TEXT.replace(&format!("{name}: "), "other: ");
            assert!(wrong("latency/h100/a.txt", &text).contains(name), "{name}");
        }
        let unknown = JSON.replace("abc", "unknown");
        assert!(wrong("latency/h100/a.json", &unknown).contains("has no commit"));
        let later = JSON.replace("\"product\":1", "\"product\":999");
        assert!(wrong("latency/h100/a.json", &later).contains("product 999"));
    }

    #[test]
    fn runs_lie_in_the_archive_of_their_question_by_device() {
        let root = store("latency/h100/a.json", JSON);
        let expected = ["h100", "h100/a.json"].map(|name| format!("{FOLDER}/latency/{name}"));
        assert_eq!(names(root.path()), BTreeSet::from(expected));
        std::fs::create_dir(root.path().join("reports/latency/h100")).unwrap();
        assert_eq!(
            read_all(root.path()).unwrap_err(),
            ["reports/latency/h100: a run belongs into raw.tar.gz: see `cargo xtask store-run`"]
        );
        for name in ["latency/a.json", "latency/h100/old/a.json"] {
            assert!(wrong(name, JSON).contains("folder of its device"), "{name}");
        }
        assert!(wrong("burst/h100/a.json", JSON).contains("reports/burst has no README.md"));
        assert!(wrong("latency/h100/a.csv", "").contains("neither"));
        assert!(read_all(store("mutants/a.toml", "").path()).unwrap().is_empty(), "no runs lie there");
        let machine = JSON.replace("bench latency", concat!("bench /t", "mp/a"));
        assert!(wrong("latency/h100/a.json", &machine).ends_with("is a path of one machine"));
    }
}
