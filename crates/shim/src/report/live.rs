//! The figures of this process for others of its user, while it runs: a file in memory that `overtake top` and
//! `overtake metrics` read ([`os::board`]).
//!
//! The watchers of the contexts write it, twice a second. They must not wait: whatever lock is taken meanwhile, this
//! time is left out. So no thread is made for it, and no copy pays.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use os::board::{self, Board};
use os::variable;
use serde::Serialize;

pub use copies::BOUNDS_US;

use super::{parts_at_once, seen, state, unix_ms};
use crate::process::{Process, process, time_of_day};
use crate::record::{DeviceRecord, FORMAT, ReasonRecord};

/// The watchers of several contexts do not write sooner after one another.
const PAUSE: Duration = Duration::from_millis(400);

/// A process looks at so many files of others when it begins.
const SWEPT_MAX: usize = 256;

/// A part of the [`super::Report`], under the same names.
#[derive(Serialize)]
struct Live<'a> {
    format: u32,
    pid: u32,
    program: &'a str,
    started_unix_ms: u64,
    written_unix_ms: u64,
    state: &'static str,
    deployment: &'a str,
    devices: Vec<DeviceRecord>,
    passed_on: Vec<ReasonRecord>,
}

/// The file, and what stays the same in it.
struct Place {
    board: Board,
    program: String,
    written: SystemTime,
}

#[derive(Default)]
enum State {
    #[default]
    Untried,
    /// It cannot be made, is not wanted, or the process ends.
    Without,
    Open(Place),
}

static STATE: Mutex<State> = Mutex::new(State::Untried);

/// The folders for such files, the first choice first. Both are in memory: a watcher must not wait for a disk, and so
/// not for a user's folder on a server either.
#[must_use]
pub fn folders() -> Vec<PathBuf> {
    let named = variable::path_from("XDG_RUNTIME_DIR", variable::is_privileged(), |name| std::env::var_os(name));
    let named = named
        .map(PathBuf::from)
        .filter(|path| path.starts_with("/run") || path.starts_with("/dev/shm"))
        .map(|path| path.join("overtake"));
    named.into_iter().chain([PathBuf::from(format!("/dev/shm/overtake-{}", board::user()))]).collect()
}

/// The name of the file of a process, which no other one has: its number, the namespace that the number is from, and
/// the time at which the process began, so that a later one of the same number is told apart. `None` if the system does
/// not tell.
#[must_use]
pub fn name_of(pid: u32) -> Option<String> {
    Some(format!("{pid}.{}.{}", space()?, began(pid).ok()?))
}

/// The number of the process of a file.
#[must_use]
pub fn pid_of(name: &str) -> Option<u32> {
    let mut parts = name.split('.').map(str::parse::<u64>);
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(Ok(pid)), Some(Ok(_)), Some(Ok(_)), None) => u32::try_from(pid).ok(),
        _ => None,
    }
}

/// Whether the process of a file has ended. `None` if this process cannot know that: the other one is in another
/// namespace, such as a container's, or the system hides it.
#[must_use]
pub fn has_ended(name: &str) -> Option<bool> {
    let (pid, space) = (pid_of(name)?, space()?);
    match began(pid) {
        _ if name.split('.').nth(1) != Some(&*space) => None,
        Ok(began) => Some(name.split('.').nth(2) != Some(&*began)),
        Err(error) => (error.kind() == std::io::ErrorKind::NotFound && !board::is_there(pid)).then_some(true),
    }
}

/// The namespace of the numbers of processes.
fn space() -> Option<String> {
    let link = fs::read_link("/proc/self/ns/pid").ok()?;
    Some(link.to_str()?.chars().filter(char::is_ascii_digit).collect())
}

/// The time at which a process began, as the system counts it.
fn began(pid: u32) -> std::io::Result<String> {
    let about = os::file::read(format!("/proc/{pid}/stat").as_ref(), 1 << 16)?;
    // The second field is the program's name, in brackets, and may have any characters.
    let name_end = about.iter().rposition(|letter| *letter == b')').unwrap_or_default();
    let began = about[name_end..].split(|letter| *letter == b' ').nth(20).map(<[u8]>::to_vec);
    began.and_then(|began| String::from_utf8(began).ok()).ok_or_else(|| std::io::ErrorKind::InvalidData.into())
}

/// Writes the file, if it is time and nothing stands in the way. The watchers call it.
pub(crate) fn beat() {
    let Some(process) = process() else { return };
    let Ok(mut state) = STATE.try_lock() else { return };
    if matches!(*state, State::Untried) {
        *state = open(&process.live_folders);
    }
    if let State::Open(place) = &mut *state {
        write(process, place);
    }
}

fn open(folders: &[PathBuf]) -> State {
    let Some(name) = name_of(std::process::id()) else { return State::Without };
    for folder in folders {
        match Board::make(folder, &name) {
            Ok(board) => {
                sweep(folder);
                let program = std::env::args_os().next().unwrap_or_default().to_string_lossy().into_owned();
                return State::Open(Place { board, program, written: SystemTime::UNIX_EPOCH });
            }
            Err(error) => log::debug!("no live figures in {}: {error}", folder.display()),
        }
    }
    State::Without
}

/// Removes what processes have left that were killed: nobody may look there for long.
fn sweep(folder: &Path) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().take(SWEPT_MAX);
    for entry in entries.filter(|entry| entry.file_name().to_str().and_then(has_ended) == Some(true)) {
        let _another_was_first = fs::remove_file(entry.path());
    }
}

fn write(process: &Process, place: &mut Place) {
    let now = time_of_day();
    // A clock that was set back makes no pause.
    if now.duration_since(place.written).is_ok_and(|since| since < PAUSE) {
        return;
    }
    let Some(devices) = parts_at_once(process) else { return };
    let live = Live {
        format: FORMAT,
        pid: std::process::id(),
        program: &place.program,
        started_unix_ms: unix_ms(process.began),
        written_unix_ms: unix_ms(now),
        state: state(process, &devices),
        deployment: process.start.deployment.to_str().unwrap_or_default(),
        devices,
        passed_on: seen::passed_on(process),
    };
    let fits = serde_json::to_vec(&live).is_ok_and(|text| place.board.write(&text));
    if !fits {
        log::debug!("the live figures do not fit into their file, and stay as they are");
    }
    place.written = now;
}

/// The process ends: removes the file. One that a watcher is writing now stays for the next process to sweep.
pub(crate) fn end() {
    let Ok(mut state) = STATE.try_lock() else { return };
    if let State::Open(place) = std::mem::replace(&mut *state, State::Without) {
        place.board.remove();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_process_has_its_number_its_namespace_and_its_beginning() {
        let name = name_of(std::process::id()).unwrap();
        assert_eq!((pid_of(&name), has_ended(&name)), (Some(std::process::id()), Some(false)));
        assert_eq!(has_ended(&format!("{name}1")), Some(true), "another process with the same number");
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let its = name_of(child.id()).unwrap();
        assert!(its != name && has_ended(&its) == Some(false));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!((has_ended(&its), name_of(child.id())), (Some(true), None));
        let elsewhere = format!("{}.7.{}", pid_of(&its).unwrap(), 1);
        assert_eq!(has_ended(&elsewhere), None, "a process of a container");
        assert!(["", "1", "1.2", "1.2.3.4", "a.2.3", "1.2.json"].iter().all(|name| pid_of(name).is_none()));
    }

    #[test]
    fn what_ended_processes_have_left_is_swept() {
        let folder = tempfile::tempdir_in("/dev/shm").unwrap();
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let names = [name_of(child.id()).unwrap(), name_of(std::process::id()).unwrap(), "notes".to_owned()];
        names.iter().for_each(|name| fs::write(folder.path().join(name), "").unwrap());
        child.kill().unwrap();
        child.wait().unwrap();
        sweep(folder.path());
        assert_eq!(names.map(|name| folder.path().join(name).exists()), [false, true, true]);
    }

    #[test]
    fn the_users_own_folders_come_first() {
        let last = folders().pop().unwrap();
        assert_eq!(last, PathBuf::from(format!("/dev/shm/overtake-{}", board::user())));
    }
}
