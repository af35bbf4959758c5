//! The private folder that the processes of a run write into, and the files found there.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use console::failure::{Failure, Result};
use os::file;
use serde::Deserialize as _;
use serde_json::Value;
use shim::record::{FORMAT, RUN_FOLDER};

use super::record::ProcessRecord;

/// The most bytes in a report.
const REPORT_BYTES_MAX: u64 = 16 << 20;
/// The most bytes in a trace; it leaves copies out before.
const TRACE_BYTES_MAX: u64 = 4 << 30;

/// The end of the name of a trace; the rest is the process's number.
const TRACE_ENDING: &str = ".trace.json";
/// The end of the name of a report.
const REPORT_ENDING: &str = ".json";

/// A folder that is removed with its files when this is dropped.
pub struct Folder(tempfile::TempDir);

/// The report of one process: the original and its parsed form.
pub struct Process {
    pub raw: Value,
    pub record: ProcessRecord,
}

/// The reports that were found, and complaints about others.
#[derive(Default)]
pub struct Found {
    /// The processes, in the order of their start.
    pub processes: Vec<Process>,
    /// Files that could not be used, with the reason.
    pub complaints: Vec<String>,
}

impl Folder {
    /// Makes the folder in the place for temporary files, readable for this user only.
    pub fn new() -> Result<Folder> {
        let made = tempfile::Builder::new().prefix(RUN_FOLDER).tempdir();
        made.map(Folder).map_err(|error| {
            let place = std::env::temp_dir();
            Failure::Other(format!(
                "cannot make a folder in {}: {error}; set TMPDIR to a folder where files can be written",
                place.display()
            ))
        })
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn reports(&self) -> Found {
        let mut found = Found::default();
        for path in self.numbered(REPORT_ENDING) {
            match read(&path) {
                Ok(process) => found.processes.push(process),
                Err(why) => found.complaints.push(format!("{}: {why}", name(&path))),
            }
        }
        found.processes.sort_by_key(|process| (process.record.started_unix_ms, process.record.pid));
        found
    }

    /// All traces: the number of the process and the text.
    pub fn traces(&self) -> Vec<(u32, String)> {
        let read = |path: PathBuf| {
            let pid = number(&name(&path), TRACE_ENDING)?;
            Some((pid, String::from_utf8(file::read(&path, TRACE_BYTES_MAX).ok()?).ok()?))
        };
        self.numbered(TRACE_ENDING).into_iter().filter_map(read).collect()
    }

    /// Copies all files into another folder too, which the environment of this command named.
    pub fn copy_to(&self, other: &OsString) {
        for path in [REPORT_ENDING, TRACE_ENDING].iter().flat_map(|ending| self.numbered(ending)) {
            if let (Some(name), Ok(_)) = (path.file_name(), file::open(&path)) {
                // A file that cannot be copied is missing there; the program's own result must not suffer from that.
                let _ = fs::copy(&path, Path::new(other).join(name));
            }
        }
    }

    /// The files named by a number and this ending. Other files are unfinished or not ours.
    fn numbered(&self, ending: &str) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.path()).into_iter().flatten().flatten();
        let mut paths: Vec<_> =
            entries.map(|entry| entry.path()).filter(|path| number(&name(path), ending).is_some()).collect();
        paths.sort();
        paths
    }
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn number(name: &str, ending: &str) -> Option<u32> {
    name.strip_suffix(ending)?.parse().ok()
}

fn read(path: &Path) -> std::result::Result<Process, String> {
    let text = file::read(path, REPORT_BYTES_MAX).map_err(|error| format!("cannot be read: {error}"))?;
    let raw: Value = serde_json::from_slice(&text).map_err(|error| format!("is not whole: {error}"))?;
    let record: ProcessRecord =
        ProcessRecord::deserialize(&raw).map_err(|error| format!("is not a report: {error}"))?;
    if record.format != FORMAT {
        return Err(format!(
            "has format {}, and this command knows format {FORMAT}: library and command are of different versions",
            record.format
        ));
    }
    Ok(Process { raw, record })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_come_in_order_with_complaints_about_broken_ones() {
        let folder = Folder::new().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write("12.json", r#"{"format": 1, "pid": 12, "started_unix_ms": 20, "later": true}"#);
        write("99.json", r#"{"format": 1, "pid": 99, "started_unix_ms": 10}"#);
        write("13.json", r#"{"format": 1, "#);
        write("14.json", r#"{"format": 2}"#);
        write("12.trace.json", "[]");
        write("15.json.part", "{");
        let found = folder.reports();
        let pids: Vec<u32> = found.processes.iter().map(|process| process.record.pid).collect();
        assert_eq!(pids, [99, 12]);
        assert_eq!(found.processes[1].raw["later"], true, "unknown fields are kept");
        assert_eq!(found.complaints.len(), 2, "{:?}", found.complaints);
        assert!(found.complaints[0].starts_with("13.json: is not whole"), "{:?}", found.complaints);
        assert!(found.complaints[1].contains("format 2"), "{:?}", found.complaints);
        assert_eq!(folder.traces(), [(12, "[]".to_owned())]);
    }

    #[test]
    fn nothing_stays_behind_and_others_get_their_copy() {
        let (folder, other) = (Folder::new().unwrap(), Folder::new().unwrap());
        fs::write(folder.path().join("12.json"), "{}").unwrap();
        folder.copy_to(&other.path().as_os_str().to_owned());
        let path = folder.path().to_owned();
        drop(folder);
        assert!(!path.exists() && other.path().join("12.json").exists());
    }
}
