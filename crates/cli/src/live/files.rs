//! The files that processes under the drop-in write (`crates/shim/src/report/live.rs`).

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use os::board;
use shim::live;
use shim::record::FORMAT;

use crate::run::reports::record::ProcessRecord;

/// Twice a second is usual. A process that is stopped, or has executed another program, writes no more.
const SILENT_AFTER: Duration = Duration::from_secs(5);

/// A file of another namespace, such as a container's, is taken for one of a process that has ended.
const GONE_AFTER: Duration = Duration::from_secs(3600);

/// A process and what it last wrote.
#[derive(Clone, Debug)]
pub struct Process {
    /// The name of its file, which no other process has.
    pub name: String,
    pub record: ProcessRecord,
    /// How long it has been silent, if that is unusual.
    pub silent: Option<Duration>,
}

/// All processes, those of all users for root. Files of processes that have ended are removed.
pub fn processes() -> Vec<Process> {
    let mut found: Vec<Process> = folders().iter().flat_map(|folder| in_folder(folder)).collect();
    found.sort_by_key(|process| (process.record.pid, process.name.clone()));
    found.dedup_by(|one, other| one.name == other.name); // by two ways to one folder
    found
}

fn folders() -> Vec<PathBuf> {
    let mut folders = live::folders();
    if board::user() == 0 {
        folders.extend(entries("/run/user".as_ref()).map(|user| user.join("overtake")));
        let is_ours = |path: &PathBuf| {
            path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"overtake-")) && path.is_dir()
        };
        folders.extend(entries("/dev/shm".as_ref()).filter(is_ours));
    }
    folders.sort();
    folders.dedup();
    // Root looks into those of all users, where they could otherwise have it open anything.
    folders.retain(|folder| board::check(folder, board::user() == 0).is_ok());
    folders
}

fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}

fn in_folder(folder: &Path) -> Vec<Process> {
    let named = entries(folder).filter_map(|path| {
        let name = path.file_name()?.to_str()?.to_owned();
        live::pid_of(&name)?;
        Some((path, name))
    });
    named.filter_map(|(path, name)| of_file(&path, name)).collect()
}

#[expect(clippy::disallowed_methods, reason = "compared with a time that another process has written")]
fn of_file(path: &Path, name: String) -> Option<Process> {
    let ended = live::has_ended(&name);
    if ended == Some(true) {
        let _another_reader_was_first = fs::remove_file(path);
        return None;
    }
    let text = board::read(path).ok()??;
    let record: ProcessRecord = serde_json::from_slice(&text).ok()?;
    let written = SystemTime::UNIX_EPOCH + Duration::from_millis(record.written_unix_ms);
    let silent = SystemTime::now().duration_since(written).ok().filter(|silent| *silent > SILENT_AFTER);
    if ended.is_none() && silent.is_some_and(|silent| silent > GONE_AFTER) {
        let _another_reader_was_first = fs::remove_file(path);
    }
    // Nobody here can tell a silent process of another namespace from one that has ended.
    let is_known = record.format == FORMAT && (ended.is_some() || silent.is_none());
    is_known.then_some(Process { name, record, silent })
}
