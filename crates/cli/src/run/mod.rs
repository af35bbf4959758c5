//! `overtake run`: runs a program under the drop-in and reports on its copies.
//!
//! | file | task |
//! |---|---|
//! | `library.rs` | finds the library |
//! | `needed.rs` | reads which libraries the program is linked with |
//! | `variables.rs` | sets the program's environment |
//! | `supervise.rs` | passes signals on, stops and ends as the program does |
//! | `system.rs` | makes the system calls |
//! | `compare.rs`, `comparison.rs` | runs it natively and with overtake in turn; what differs, in words |
//! | `unseen.rs` | says why no process used CUDA through the drop-in |
//! | `reports/` | adds up the reports of the processes |

mod args;
mod compare;
mod comparison;
mod library;
mod needed;
pub mod reports;
mod supervise;
mod system;
mod unseen;
mod variables;

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;
use std::{env, io};

use args::Deployment;
pub use args::RunArguments;
use reports::{Folder, Reports, Run};
use supervise::supervise;
use unseen::{Looks, Process};
use variables::{Changes, Loading, OBSERVE, REPORT_FOLDER, TRACE_FOLDER};

use console::Globals;
use console::failure::{Failure, Result};
use console::output;

/// The status when overtake itself fails, as in `env` and `timeout`.
const OWN_FAILURE: u8 = 125;
/// The status when the program cannot be executed, as in shells.
const NOT_EXECUTABLE: u8 = 126;
/// The status when the program is not found, as in shells.
const NOT_FOUND: u8 = 127;
/// The name of the driver's library, and of the shadow.
const DRIVER: &str = "libcuda.so.1";

/// Runs the command. It becomes the program, or stays until the program has ended and ends in the same way.
pub fn run(globals: &Globals, run: &RunArguments) -> ExitCode {
    match start(globals, run) {
        Ok(code) => code,
        Err(failure) => {
            output::complain(&failure);
            ExitCode::from(OWN_FAILURE)
        }
    }
}

fn start(globals: &Globals, run: &RunArguments) -> Result<ExitCode> {
    if globals.backend.is_some() {
        return Err(Failure::Other(
            "--backend is not for `run`: the program brings its own driver; set OVERTAKE_LIBCUDA or LD_LIBRARY_PATH to \
             give it another"
                .to_owned(),
        ));
    }
    let library =
        library::find(run.library.as_deref(), env::var_os(library::VARIABLE), env::current_exe().ok().as_deref())?;
    let mut changes = variables::settings(run)?;
    let ignored = variables::check(&changes, &lookup)?;
    if !globals.quiet {
        let names = env::vars_os().filter_map(|(name, _)| name.into_string().ok()).chain(changes.keys().cloned());
        let names = names.collect::<BTreeSet<String>>();
        let unknown = overtake::variables::unknown(names);
        if !unknown.is_empty() {
            let told: Vec<&str> = unknown.iter().filter_map(|warning| warning.split(' ').next()).collect();
            changes.insert(overtake::variables::TOLD.to_owned(), told.join(",").into());
        }
        let warnings = variables::warnings(run, &lookup).into_iter().chain(ignored).chain(unknown);
        warnings.for_each(|warning| output::complain(format!("warning: {warning}")));
    }
    if let Some(rounds) = run.compare {
        return compare::compare(run, &library, &changes, rounds, globals.quiet);
    }
    let folder = (run.wants_reports() || run.deployment == Deployment::Shadow).then(Folder::new).transpose()?;
    changes.extend(loading(run.deployment, &library, folder.as_ref())?);
    match folder {
        None => {
            let error = command(run, &changes).exec();
            Ok(refused(&run.program[0], &error))
        }
        Some(folder) => stay(run, &library, &changes, folder),
    }
}

/// The library that would be loaded if the command line names none.
pub fn library() -> Result<PathBuf> {
    library::find(None, env::var_os(library::VARIABLE), env::current_exe().ok().as_deref())
}

fn lookup(name: &str) -> Option<OsString> {
    env::var_os(name)
}

/// The variables that load the library into the program.
fn loading(deployment: Deployment, library: &Path, folder: Option<&Folder>) -> Result<Changes> {
    match (deployment, folder) {
        (Deployment::Shadow, Some(folder)) => {
            library::check_separators(folder.path(), deployment)?;
            std::os::unix::fs::symlink(library, folder.path().join(DRIVER))
                .map_err(|error| Failure::File(folder.path().join(DRIVER), error))?;
            Ok(Loading::Shadow(folder.path(), &real_driver()?).changes(&lookup))
        }
        (Deployment::Audit, _) => {
            library::check_separators(library, deployment)?;
            Ok(Loading::Audit(library).changes(&lookup))
        }
        _ => {
            library::check_separators(library, Deployment::Preload)?;
            Ok(Loading::Preload(library).changes(&lookup))
        }
    }
}

/// The driver's own library, which the program does not find when the shadow comes first.
fn real_driver() -> Result<PathBuf> {
    let named = env::var_os(driver::LIBRARY_VARIABLE).filter(|name| !name.is_empty());
    let path = system::loaded_path(named.as_deref().unwrap_or(OsStr::new(DRIVER)));
    let absolute = path.and_then(|path| Path::new(&path).canonicalize().ok());
    absolute.ok_or_else(|| {
        Failure::Other(format!(
            "there is no {DRIVER} to put a shadow before; install the NVIDIA driver, set OVERTAKE_LIBCUDA to its \
             {DRIVER}, or use --deployment preload, which does not need to know it"
        ))
    })
}

fn command(run: &RunArguments, changes: &Changes) -> Command {
    let mut command = Command::new(&run.program[0]);
    command.args(&run.program[1..]).envs(changes);
    command
}

/// Runs the program as a child and writes the reports. Once the program has run, its result stands, even if the
/// reports cannot be written.
#[expect(clippy::disallowed_methods, reason = "how long the program ran, for its reader")]
fn stay(run: &RunArguments, library: &Path, changes: &Changes, folder: Folder) -> Result<ExitCode> {
    let reports = Reports::open(run)?;
    let mut command = command(run, changes);
    let mut asked_for = Vec::new();
    for (name, is_wanted) in [(REPORT_FOLDER, run.wants_reports()), (TRACE_FOLDER, reports.has_trace())] {
        if is_wanted {
            command.env(name, folder.path());
            asked_for.extend(lookup(name).filter(|other| !other.is_empty()));
        }
    }
    // Nobody but `compare` asks for the waits of a program that gets priorities: a report is better with them.
    if run.report || run.json.is_some() {
        command.env(OBSERVE, changes.get(OBSERVE).cloned().or_else(|| lookup(OBSERVE)).unwrap_or("also".into()));
    }
    let mut looks = Looks::new(library);
    let start = Instant::now();
    let ending = match supervise(&mut command, &mut looks) {
        Ok(ending) => ending,
        Err(error) => return Ok(refused(&run.program[0], &error)),
    };
    let about = Run {
        command: run.program.iter().map(|word| word.display().to_string()).collect(),
        ending,
        wall_ms: start.elapsed().as_millis() as u64,
        deployment: run.deployment.name(),
        library,
        variables: changes,
        unseen: why_unseen(run, &looks.seen()),
    };
    if let Err(failure) = reports.write(&about, &folder) {
        output::complain(&failure);
    }
    asked_for.iter().for_each(|other| folder.copy_to(other));
    // A signal may be about to end this process, and then destructors do not run.
    drop(folder);
    Ok(ending.repeat())
}

/// Why no process used CUDA through the drop-in, if none did, and what to try.
fn why_unseen(run: &RunArguments, processes: &[Process]) -> (String, &'static str) {
    let off = match (run.off, variables::is_off(run, &lookup)) {
        (true, _) => Some("--off"),
        (false, true) => Some("OVERTAKE=off"),
        _ => None,
    };
    let about = needed::about(&run.program[0]);
    let own_driver = about.as_ref().and_then(|about| unseen::own_driver(about, &run.program[0], DRIVER));
    let (about, own_driver) = (about.as_ref(), own_driver.as_deref());
    let lacks_driver = unseen::is_without_driver(processes) && system::loaded_path(OsStr::new(DRIVER)).is_none();
    unseen::cause(&unseen::Run { off, deployment: Some(run.deployment), about, own_driver, lacks_driver, processes })
}

/// Explains why the program did not start.
fn refused(program: &OsStr, error: &io::Error) -> ExitCode {
    let (status, what) = refusal(program, error);
    output::complain(&what);
    ExitCode::from(status)
}

fn refusal(program: &OsStr, error: &io::Error) -> (u8, String) {
    let name = program.display();
    if error.kind() != io::ErrorKind::NotFound {
        return (NOT_EXECUTABLE, format!("cannot execute {name}: {error}; check its permissions and its kind"));
    }
    let cure = if Path::new(program).exists() {
        "it is there, but the interpreter that it names is not; check its first line"
    } else if program.as_encoded_bytes().contains(&b'/') {
        "check the path"
    } else {
        "check its name and PATH"
    };
    (NOT_FOUND, format!("cannot find {name}: {cure}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_does_not_start_has_the_status_that_shells_give_it() {
        let absent = io::Error::from(io::ErrorKind::NotFound);
        let (status, text) = refusal(OsStr::new("nonexistent"), &absent);
        assert!(status == 127 && text.ends_with("check its name and PATH"), "{text}");
        assert!(refusal(OsStr::new("/"), &absent).1.contains("interpreter"));
        assert_eq!(refusal(OsStr::new("/"), &io::Error::from(io::ErrorKind::PermissionDenied)).0, 126);
    }
}
