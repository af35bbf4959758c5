//! Why no process used CUDA through the drop-in. A process that does not load it cannot say so: the command looks at
//! the processes of the program now and then, in `/proc`, while they run.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use os::file;

use super::args::Deployment;
use super::needed::About;
use super::variables::is_off_word;

/// The time to the first look; each further one comes after twice the time.
const FIRST_LOOK: Duration = Duration::from_millis(1);

/// The longest time between two looks.
const LOOKS_APART_MAX: Duration = Duration::from_millis(250);

/// So many processes are looked at.
const PROCESSES_MAX: usize = 256;

/// A file about a process is no longer.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// What to try where nothing was seen.
const LOOK_AT_INFO: &str = "`overtake info`, which says whether there is a driver, and where the drop-in is";

/// What a look at one process has found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Process {
    /// The name of its program.
    name: String,
    /// Whether it has loaded the drop-in.
    has_drop_in: bool,
    /// Whether it has loaded a driver.
    has_driver: bool,
    /// Whether it has a dynamic loader.
    has_loader: bool,
    /// Whether its environment asks for the drop-in.
    is_asked: bool,
    /// Whether its environment switches overtake off.
    is_off: bool,
}

/// Looks at the processes of a program while it runs.
pub struct Looks<'a> {
    library: &'a Path,
    apart: Duration,
    seen: BTreeMap<u32, Process>,
}

impl<'a> Looks<'a> {
    pub fn new(library: &'a Path) -> Looks<'a> {
        Looks { library, apart: FIRST_LOOK, seen: BTreeMap::new() }
    }

    /// The time until the next look.
    pub fn next(&self) -> Duration {
        self.apart
    }

    /// Looks at a process and its descendants.
    pub fn look(&mut self, child: u32) {
        self.apart = (self.apart * 2).min(LOOKS_APART_MAX);
        // Once a process has both there will be a report, and nothing to explain.
        if self.seen.values().any(|process| process.has_drop_in && process.has_driver) {
            return;
        }
        let mut pids = vec![child];
        let mut next = 0;
        while let Some(pid) = pids.get(next).copied().filter(|_| next < PROCESSES_MAX) {
            next += 1;
            pids.extend(children(pid));
            if let Some(process) = self.process(pid) {
                self.seen.insert(pid, process);
            }
        }
    }

    /// `None` if the process has ended, or is about to become another program.
    fn process(&self, pid: u32) -> Option<Process> {
        let maps = of_process(pid, "maps").ok().filter(|maps| !maps.is_empty())?;
        let maps = String::from_utf8_lossy(&maps);
        let environment = of_process(pid, "environ").unwrap_or_default();
        let program = fs::read_link(format!("/proc/{pid}/exe")).ok()?;
        let library = self.library.to_string_lossy();
        let has_variable = |is: &dyn Fn(&[u8]) -> bool| environment.split(|byte| *byte == 0).any(is);
        let has =
            |name: &str| maps.lines().any(|line| line.rsplit('/').next().is_some_and(|file| file.starts_with(name)));
        Some(Process {
            name: program.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            has_drop_in: maps.contains(&*library),
            has_driver: has("libcuda.so"),
            has_loader: has("ld-linux") || has("ld.so") || has("ld-2."),
            is_asked: has_variable(&|variable| {
                let text = String::from_utf8_lossy(variable);
                (text.starts_with("LD_PRELOAD=") || text.starts_with("LD_AUDIT=")) && text.contains(&*library)
            }),
            is_off: has_variable(&|variable| variable.strip_prefix(b"OVERTAKE=").is_some_and(is_off_word)),
        })
    }

    /// The processes that were seen, in the order of their numbers.
    pub fn seen(&self) -> Vec<Process> {
        self.seen.values().cloned().collect()
    }
}

/// What the system says of a process in one of its files.
fn of_process(pid: u32, name: &str) -> io::Result<Vec<u8>> {
    file::read(Path::new(&format!("/proc/{pid}/{name}")), FILE_BYTES_MAX)
}

fn children(pid: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let of = |task: fs::DirEntry| {
        let list = file::read(&task.path().join("children"), FILE_BYTES_MAX).unwrap_or_default();
        String::from_utf8_lossy(&list).into_owned()
    };
    tasks
        .flat_map(|task| of(task).split_whitespace().filter_map(|word| word.parse().ok()).collect::<Vec<u32>>())
        .collect()
}

/// All that is known of a run without a report.
#[derive(Debug, Default)]
pub struct Run<'a> {
    /// What switched overtake off.
    pub off: Option<&'static str>,
    /// The way in which the library was to be loaded; `None` where that does not matter.
    pub deployment: Option<Deployment>,
    /// The program, as its file tells of it; `None` for a script.
    pub about: Option<&'a About>,
    /// A folder that the program itself names for its libraries, and that has a driver.
    pub own_driver: Option<&'a str>,
    /// Whether the loader finds no driver on this machine.
    pub lacks_driver: bool,
    pub processes: &'a [Process],
}

/// Whether the processes have loaded the drop-in, and none a driver.
pub fn is_without_driver(processes: &[Process]) -> bool {
    processes.iter().any(|process| process.has_drop_in) && !processes.iter().any(|process| process.has_driver)
}

/// The cause, and what to try.
pub fn cause(run: &Run<'_>) -> (String, &'static str) {
    if let Some(what) = run.off {
        return (format!("overtake is switched off ({what})"), "--observe, which leaves all copies to the driver too");
    }
    if run.about.is_some_and(|about| about.is_static) {
        return (fixed("the program"), "a dynamically linked build");
    }
    if let Some(folder) = run.own_driver.filter(|_| run.deployment == Some(Deployment::Audit)) {
        return (
            format!(
                "the program names the folder of its driver itself (RUNPATH {folder}), which an audit does not see"
            ),
            "--deployment preload",
        );
    }
    let escaped = run.processes.iter().find(|process| process.has_driver && !process.has_drop_in);
    escaped.map_or_else(|| unused(run), |process| escape(process, run.deployment))
}

fn fixed(what: &str) -> String {
    format!("{what} is statically linked, and loads no library")
}

/// A process has a driver, and not the drop-in.
fn escape(process: &Process, deployment: Option<Deployment>) -> (String, &'static str) {
    let name = &process.name;
    if !process.has_loader {
        return (fixed(name), "a dynamically linked build");
    }
    if !process.is_asked && deployment != Some(Deployment::Shadow) {
        let what = format!(
            "{name} used CUDA and did not load the drop-in, because its environment lacks the variable that asks for \
             it (LD_PRELOAD, LD_AUDIT): `env -i`, `sudo` or a script before it has removed that"
        );
        return (what, "`overtake run` behind that command: sudo overtake run -- PROGRAM");
    }
    let what = format!("{name} used CUDA past the drop-in: it has other rights, or a loader of its own");
    (what, "another way to load it: --deployment shadow or audit")
}

/// No process was seen to have a driver and not the drop-in.
fn unused(run: &Run<'_>) -> (String, &'static str) {
    let processes = run.processes;
    let any = |is: fn(&Process) -> bool| processes.iter().any(is);
    if let Some(process) = processes.iter().find(|process| process.has_drop_in && process.is_off) {
        let what = format!("the environment of {} switches overtake off (OVERTAKE=off)", process.name);
        return (what, "the program without that variable, which a script of its own may set");
    }
    let (what, cure) = match () {
        () if any(|process| process.has_drop_in && process.has_driver) => (
            "a process loaded the driver and the drop-in, and left no report: it was killed within its first half \
             second, or did not initialise CUDA",
            "OVERTAKE_LOG=info, to see whether the drop-in opens",
        ),
        () if run.lacks_driver => (
            "no process has loaded a driver, and the loader finds no libcuda.so.1 here",
            "the NVIDIA driver, a container with its GPUs (docker run --gpus all), or the software GPU: \
             LD_LIBRARY_PATH=PREFIX/lib/overtake/soft, where PREFIX has overtake's own lib",
        ),
        () if any(|process| process.has_drop_in) => {
            ("no process has loaded the driver: the program did not use CUDA", "a look at what it prints")
        }
        () if processes.is_empty() => ("the program ended before it could be looked at", LOOK_AT_INFO),
        () => ("no process was seen to load the driver or the drop-in", LOOK_AT_INFO),
    };
    (what.to_owned(), cure)
}

/// The folder among those that a program names in which there is a driver. `$ORIGIN` is that of the program.
pub fn own_driver(about: &About, program: &OsStr, driver: &str) -> Option<String> {
    let origin = Path::new(program).parent().unwrap_or(Path::new(".")).to_string_lossy().into_owned();
    let folders = about.folders.iter().map(|folder| folder.replace("${ORIGIN}", &origin).replace("$ORIGIN", &origin));
    folders.into_iter().find(|folder| Path::new(folder).join(driver).exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(change: fn(&mut Process)) -> Process {
        let mut process = Process {
            name: "serve".to_owned(),
            has_drop_in: true,
            has_driver: true,
            has_loader: true,
            is_asked: true,
            is_off: false,
        };
        change(&mut process);
        process
    }

    #[test]
    fn the_causes_are_told_apart() {
        let about = |is_static| About { is_static, ..About::default() };
        let (dynamic, fixed) = (about(false), about(true));
        let removed = process(|process| (process.has_drop_in, process.is_asked) = (false, false));
        let other_rights = process(|process| process.has_drop_in = false);
        let without_loader = process(|process| (process.has_drop_in, process.has_loader) = (false, false));
        let without_cuda = process(|process| process.has_driver = false);
        let off = process(|process| process.is_off = true);
        let run = |processes| Run {
            about: Some(&dynamic),
            deployment: Some(Deployment::Preload),
            processes,
            ..Run::default()
        };
        let audit = Run { deployment: Some(Deployment::Audit), own_driver: Some("/soft"), ..run(&[]) };
        let cases = [
            (Run { off: Some("--off"), ..run(&[]) }, "switched off (--off)"),
            (Run { about: Some(&fixed), ..run(&[]) }, "the program is statically linked"),
            (audit, "RUNPATH /soft"),
            (
                run(std::slice::from_ref(&removed)),
                "serve used CUDA and did not load the drop-in, because its environment",
            ),
            (run(std::slice::from_ref(&without_loader)), "serve is statically linked"),
            (run(std::slice::from_ref(&other_rights)), "used CUDA past the drop-in"),
            (run(std::slice::from_ref(&without_cuda)), "the program did not use CUDA"),
            (
                Run { lacks_driver: true, ..run(std::slice::from_ref(&without_cuda)) },
                "the loader finds no libcuda.so.1 here",
            ),
            (run(std::slice::from_ref(&off)), "the environment of serve switches overtake off"),
            (run(&[]), "ended before it could be looked at"),
        ];
        for (run, part) in cases {
            let (what, cure) = cause(&run);
            assert!(what.contains(part) && !cure.is_empty(), "{part}: {what}");
        }
    }

    #[test]
    fn this_process_and_its_children_are_looked_at() {
        let mut sleeper = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let mut looks = Looks::new(Path::new("/nonexistent/libovertake_preload.so"));
        looks.look(std::process::id());
        sleeper.kill().unwrap();
        sleeper.wait().unwrap();
        let own = std::env::current_exe().unwrap().file_name().unwrap().to_string_lossy().into_owned();
        let seen = looks.seen();
        assert!(
            seen.iter().any(|process| process.name == own && process.has_loader && !process.has_drop_in),
            "{seen:?}"
        );
        assert!(seen.len() >= 2, "{seen:?}");
        assert_eq!(looks.next(), 2 * FIRST_LOOK);
    }
}
