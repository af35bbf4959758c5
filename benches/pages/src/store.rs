//! `store-run`: stores measurements where `headline` finds them.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use report::Header;
use report::trace::Trace;
use serde_json::{Map, Value, json};

use crate::stored::{self, FOLDER};
use crate::{Mode, Outcome, archive, headline, machine, read_text};

#[derive(Default)]
struct Asked<'a> {
    question: Option<&'a str>,
    device: Option<&'a str>,
    like: Option<&'a str>,
    product: Option<u32>,
    command: Option<&'a str>,
    files: Vec<&'a str>,
}

fn asked<'a>(words: &[&'a str]) -> Result<Asked<'a>, String> {
    let mut asked = Asked::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let value = |words: &mut std::slice::Iter<'_, &'a str>| {
            words.next().copied().map(Some).ok_or_else(|| format!("{word} is followed by nothing\n"))
        };
        match *word {
            "--question" => asked.question = value(&mut words)?,
            "--device" => asked.device = value(&mut words)?,
            "--like" => asked.like = value(&mut words)?,
            "--command" => asked.command = value(&mut words)?,
            "--product" => {
                let number = value(&mut words)?.unwrap_or_default().parse();
                asked.product = Some(number.map_err(|error| format!("--product: {error}\n"))?);
            }
            file => asked.files.push(file),
        }
    }
    if asked.files.is_empty() { Err("no file to store\n".to_owned()) } else { Ok(asked) }
}

/// Stores each file, and fills the pages anew.
pub fn run(root: &Path, words: &[&str]) -> Outcome {
    let asked = asked(words)?;
    let mut text = String::new();
    for file in &asked.files {
        let stored = store(root, Path::new(file), &asked).map_err(|error| format!("{file}: {error}\n"))?;
        text.extend(stored.into_iter().map(|name| format!("stored: {name}\n")));
    }
    Ok(text + &headline::run(root, Mode::Write)?)
}

/// Stores one file as one run for each question that it answers. Returns the new names.
fn store(root: &Path, file: &Path, asked: &Asked<'_>) -> Result<Vec<String>, String> {
    let date = date_of(file)?;
    if let (Some(like), Some(command)) = (asked.like, asked.command) {
        return store_trace(root, file, asked, (like, command)).map(|name| vec![name]);
    }
    if file.extension().is_some_and(|extension| extension == "json") {
        let mut by_question: BTreeMap<String, (Header, Vec<String>)> = BTreeMap::new();
        for (mut header, rows, rest) in stored::read(file)? {
            header.product = asked.product.unwrap_or(header.product);
            let own = rest.get("question").and_then(Value::as_str).map(str::to_owned);
            let question = asked.question.map(str::to_owned).or(own).or_else(|| question_of(&header.command));
            let question = question.ok_or("the question that it answers is not known: give --question NAME")?;
            let text = compact(&header, rows, rest);
            by_question.entry(question).or_insert_with(|| (header, Vec::new())).1.push(text);
        }
        let write = |(question, (header, texts)): (String, (Header, Vec<String>))| {
            let text = if texts.len() == 1 { texts.concat() } else { format!("[\n{}\n]", texts.join(",\n")) };
            put(root, &question, asked.device, &header, &format!("{date}.json"), &(text + "\n"))
        };
        return by_question.into_iter().map(write).collect();
    }
    let question = asked.question.ok_or("a text needs `--question NAME`")?;
    let like = asked.like.ok_or("a text needs `--like RUN.json`, a run of the same build on the same machine")?;
    let header = header_like(like, asked)?;
    let text = read_text(file).map_err(|error| error.to_string())?;
    let (header, text) = with_header(header, &text)?;
    Ok(vec![put(root, question, asked.device, &header, &format!("{date}.txt"), &text)?])
}

/// Stores a trace, which opens in Perfetto with its header too. Its times begin with its first slice.
fn store_trace(root: &Path, file: &Path, asked: &Asked<'_>, (like, command): (&str, &str)) -> Result<String, String> {
    let question = asked.question.ok_or("a trace needs `--question NAME`")?;
    let text = read_text(file).map_err(|error| error.to_string())?;
    let header = Header { command: command.to_owned(), ..header_like(like, asked)? };
    let events = Value::from(Trace::read(&text)?.events());
    let text = compact(&header, Vec::new(), Map::from_iter([("traceEvents".to_owned(), events)]));
    put(root, question, asked.device, &header, &format!("{}.json", date_of(file)?), &(text + "\n"))
}

/// The header of another run of the same build on the same machine.
fn header_like(like: &str, asked: &Asked<'_>) -> Result<Header, String> {
    let (mut header, _, _) = stored::read(Path::new(like))?.into_iter().next().ok_or("no run")?;
    header.product = asked.product.unwrap_or(header.product);
    Ok(header)
}

/// Puts a run into the archive of its question, in the folder of its device. Returns its name.
fn put(
    root: &Path,
    question: &str,
    device: Option<&str>,
    header: &Header,
    dated: &str,
    text: &str,
) -> Result<String, String> {
    if !root.join(FOLDER).join(question).join("README.md").is_file() {
        return Err(format!("there is no question {FOLDER}/{question}"));
    }
    let (date, extension) = dated.split_once('.').unwrap_or((dated, ""));
    let device = device.map_or_else(|| device_of(header), str::to_owned);
    let name = format!("{device}/{date}-{}", header.commit.chars().take(7).collect::<String>());
    let packed = root.join(FOLDER).join(question).join(archive::NAME);
    let mut texts = archive::read(&packed)?;
    let name = free(&texts, &name, extension);
    let stored = format!("{FOLDER}/{question}/{name}");
    texts.insert(name, text.to_owned());
    archive::write(&packed, &texts)?;
    Ok(stored)
}

/// The question that one of our commands answers.
fn question_of(command: &str) -> Option<String> {
    let words: Vec<&str> = command.split_whitespace().collect();
    let special = ["priorities", "endless", "frontier"];
    if let Some(question) = special.into_iter().find(|question| words.contains(&format!("--{question}").as_str())) {
        return Some(question.to_owned());
    }
    if words.first() == Some(&"overtake-hunt") {
        return Some("hunt".to_owned());
    }
    let at = words.iter().position(|word| *word == "bench")?;
    words.get(at + 1).map(|question| (*question).to_owned())
}

/// The folder of a device: `h100` for an NVIDIA H100, `soft` for the software GPU.
fn device_of(header: &Header) -> String {
    if header.backend == "soft" || header.device.contains("software GPU") {
        return "soft".to_owned();
    }
    let is_model = |word: &&str| word.chars().any(|letter| letter.is_ascii_digit());
    let model = header.device.split_whitespace().find(is_model).unwrap_or(&header.device);
    model.to_lowercase().replace(|letter: char| !letter.is_ascii_alphanumeric(), "-")
}

/// The day on which a file was written.
fn date_of(file: &Path) -> Result<String, String> {
    let output = Command::new("date").args(["-u", "+%F", "-r"]).arg(file).output();
    let output = output.map_err(|error| format!("date does not start: {error}"))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// A name that is free.
fn free(texts: &BTreeMap<String, String>, name: &str, extension: &str) -> String {
    let numbered = |number: u32| format!("{name}-{number}.{extension}");
    let plain = format!("{name}.{extension}");
    let is_free = |name: &String| !texts.contains_key(name);
    let is_first = is_free(&plain) && is_free(&numbered(1));
    if is_first { plain } else { (1..).map(numbered).find(is_free).expect("numbers do not end") }
}

/// A run with one line for its header, and one for each row.
fn compact(header: &Header, rows: Vec<Value>, rest: Map<String, Value>) -> String {
    let mut text = format!("{{\"header\":{},\n", without_paths(json!(header)));
    for (name, value) in rest {
        text += &format!("{}:{},\n", json!(name), without_paths(value));
    }
    let rows: Vec<String> = rows.into_iter().map(|row| without_paths(row).to_string()).collect();
    text + &format!("\"rows\":[\n{}\n]}}", rows.join(",\n"))
}

/// Every text in it without paths of the machine: only their last part stays.
fn without_paths(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(machine::without_paths(&text)),
        Value::Array(list) => list.into_iter().map(without_paths).collect(),
        Value::Object(fields) => fields.into_iter().map(|(name, value)| (name, without_paths(value))).collect(),
        other => other,
    }
}

/// A text with the header of a run and its own command, which is its first line after `$ `.
fn with_header(header: Header, text: &str) -> Result<(Header, String), String> {
    let (first, body) = text.split_once('\n').ok_or("it is empty")?;
    let command = first.strip_prefix("$ ").ok_or("its first line is not `$ COMMAND`")?.to_owned();
    let release = header.driver_release.as_ref().map_or(String::new(), |release| format!(", {release}"));
    let lines = [
        format!("device: {}", header.device),
        format!("driver: CUDA {}{release}", header.driver),
        format!("commit: {}", header.commit),
        format!("product: {}", header.product),
        format!("command: {command}"),
    ];
    let body: Vec<&str> = body.trim_matches('\n').lines().map(str::trim_end).collect();
    let text = format!("{}\n\n{}\n", lines.join("\n"), body.join("\n"));
    Ok((header, machine::without_paths(&text)))
}

#[cfg(test)]
mod tests {
    use tempfile::tempdir;

    use super::*;
    use crate::headline::example;

    #[test]
    fn a_command_says_which_question_it_answers() {
        let question = |command| question_of(command).unwrap_or_default();
        assert_eq!(question("overtake bench latency --seconds 32 --json a.json"), "latency");
        assert_eq!(question("overtake bench latency --endless --json a.json"), "endless");
        assert_eq!(question("overtake-hunt --seconds 600"), "hunt");
        assert_eq!(question("python3 pair.py"), "");
        assert_eq!(asked(&["a.json", "--product", "7"]).unwrap().product, Some(7));
        assert!(asked(&["a.json", "--product", "x"]).is_err() && asked(&["--product", "7"]).is_err());
    }

    #[test]
    fn devices_have_short_names() {
        let mut header = example::run("latency", "h100", Vec::new()).header;
        header.device = "NVIDIA H100 80GB HBM3".into();
        assert_eq!(device_of(&header), "h100");
        header.device = "NVIDIA GeForce RTX 4090".into();
        assert_eq!(device_of(&header), "4090");
        header.backend = "soft".into();
        assert_eq!(device_of(&header), "soft");
    }

    #[test]
    fn runs_of_several_questions_are_told_apart() {
        let root = tempdir().unwrap();
        for question in ["latency", "contended"] {
            std::fs::create_dir_all(root.path().join(FOLDER).join(question)).unwrap();
            std::fs::write(root.path().join(FOLDER).join(question).join("README.md"), "").unwrap();
        }
        let run = example::contended([1.0, 2.0, 3.0, 4.0]);
        let of = |question: &str| json!({"header": run.header, "question": question, "rows": run.rows});
        let file = root.path().join("pair.json");
        let runs = json!([of("contended"), of("latency"), of("contended")]);
        std::fs::write(&file, runs.to_string()).unwrap();
        assert_eq!(store(root.path(), &file, &Asked::default()).unwrap().len(), 2);
        let found = stored::read_all(root.path()).unwrap();
        assert_eq!(found.iter().filter(|run| run.question == "contended").count(), 2);
        assert_eq!(found.iter().filter(|run| run.question == "latency").count(), 1);
    }

    #[test]
    fn a_trace_is_stored_with_the_header_of_another_run() {
        let root = tempdir().unwrap();
        std::fs::create_dir_all(root.path().join(FOLDER).join("profile")).unwrap();
        std::fs::write(root.path().join(FOLDER).join("profile/README.md"), "").unwrap();
        let (run, like) = (example::run("latency", "h100", Vec::new()), root.path().join("latency.json"));
        std::fs::write(&like, json!({"header": run.header, "rows": []}).to_string()).unwrap();
        let file = root.path().join("kernels.trace.json");
        std::fs::write(&file, r#"[{"ph":"X","name":"blur","tid":4,"ts":1764000000000000.001,"dur":2.5}]"#).unwrap();
        let words = Asked { question: Some("profile"), like: like.to_str(), device: Some("h100"), ..Asked::default() };
        let words = Asked { command: Some("profile kernels.trace.json"), ..words };
        store(root.path(), &file, &words).unwrap();
        let found = stored::read_all(root.path()).unwrap();
        assert_eq!((found.len(), found[0].header.command.as_str()), (1, "profile kernels.trace.json"));
        let slice = &found[0].rest["traceEvents"][0];
        assert_eq!((&slice["ts"], &slice["dur"], &slice["tid"]), (&0.0.into(), &2.5.into(), &4.into()));
    }

    #[test]
    fn stored_runs_are_found_again_without_paths_of_the_machine() {
        let root = tempdir().unwrap();
        std::fs::create_dir_all(root.path().join(FOLDER).join("latency")).unwrap();
        std::fs::write(root.path().join(FOLDER).join("latency/README.md"), "").unwrap();
        let mut run = example::bench("latency", "h100", "idle", 9.0);
        let folder = concat!("/t", "mp/");
        run.header.command = format!("overtake bench latency --json {folder}out/a.json");
        let file = root.path().join("a.json");
        std::fs::write(&file, json!({"header": run.header, "rows": run.rows}).to_string()).unwrap();
        let words = Asked { device: Some("h100"), ..Asked::default() };
        let names = [0, 1].map(|_| store(root.path(), &file, &words).unwrap().concat());
        assert!(names[0].ends_with("-0123456.json") && names[1].ends_with("-0123456-1.json"), "{names:?}");
        let found = stored::read_all(root.path()).unwrap();
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].header.command, "overtake bench latency --json a.json");
        assert_eq!(found[0].bench_rows(), run.bench_rows());
        let other = Asked { question: Some("burst"), ..Asked::default() };
        assert!(store(root.path(), &file, &other).unwrap_err().contains("no question reports/burst"));
        let text = root.path().join("b.txt");
        std::fs::write(&text, "$ copies\nall passed\n").unwrap();
        let words = Asked { question: Some("latency"), like: file.to_str(), device: Some("h100"), ..Asked::default() };
        let words = Asked { product: Some(0), ..words };
        store(root.path(), &text, &words).unwrap();
        assert!(
            stored::read_all(root.path())
                .unwrap()
                .iter()
                .any(|run| run.header.command == "copies" && run.header.product == 0)
        );
    }
}
