//! Tests that need Python: the commands of the pages, and `overtake run` with Python as the program, and for operations
//! that need a compiler in other languages.

#[allow(dead_code)] // as much as it needs of what the other program has
#[path = "../it/common.rs"]
mod common;
#[allow(dead_code)]
#[path = "../it/live/exposition.rs"]
mod exposition;
mod pages;
mod prometheus;
#[allow(dead_code)]
#[path = "../it/run/real.rs"]
mod real;
#[allow(dead_code)]
#[path = "../it/run/stand_ins.rs"]
mod stand_ins;
#[allow(dead_code)]
#[path = "../it/live/written.rs"]
mod written;

use std::process::Command;

use libtest_mimic::{Arguments, Failed};
use testkit::needs;

use crate::common::{Folder, text};
use crate::real::{put_driver, really};
use crate::stand_ins::{command, library, run};

fn children_of_python_inherit() -> Result<(), Failed> {
    let folder = Folder::new("run-python");
    let script = "\
import multiprocessing, os, sys
def look(queue):
    queue.put((os.environ['LD_PRELOAD'].endswith('dropin.so'), 'dropin.so' in open('/proc/self/maps').read()))
if __name__ == '__main__':
    for method in ('fork', 'spawn', 'forkserver'):
        context = multiprocessing.get_context(method)
        queue = context.Queue()
        process = context.Process(target=look, args=(queue,))
        process.start()
        print(method, *queue.get())
        process.join()
";
    std::fs::write(folder.path().join("script.py"), script).unwrap();
    let output = run(&folder, &["--report", "--", "python3", "script.py"], &[]);
    let expected = "fork True True\nspawn True True\nforkserver True True\n";
    assert_eq!(text(&output.stdout), expected, "{}", text(&output.stderr));
    Ok(())
}

/// Calls that block for long have their line in the program, where the thread that copies holds the interpreter's lock
/// (`PyDLL`), and where it has given that back (`CDLL`), as far as Python prints frames without it.
fn stalls_have_their_line() -> Result<(), Failed> {
    let folder = Folder::new("run-python-stall");
    put_driver(&folder);
    let script = "\
import ctypes, sys
cuda = getattr(ctypes, sys.argv[1])('libcuda.so.1')
def ok(code):
    assert code == 0, code
def load(target, source):
    ok(cuda.cuMemcpyHtoD_v2(target, source, ctypes.c_size_t(32 << 20)))
context, target = ctypes.c_void_p(), ctypes.c_uint64()
ok(cuda.cuInit(0))
ok(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
ok(cuda.cuCtxSetCurrent(context))
ok(cuda.cuMemAlloc_v2(ctypes.byref(target), ctypes.c_size_t(32 << 20)))
source = ctypes.create_string_buffer(32 << 20)
for i in range(3):
    load(target, source)
print(sys.version_info < (3, 13))
";
    std::fs::write(folder.path().join("script.py"), script).unwrap();
    for (loader, is_held) in [("PyDLL", true), ("CDLL", false)] {
        let output = really(&folder, &["--observe", "--json", "-", "--", "python3", "script.py", loader]);
        let (prints, run) = text(&output.stdout).split_once('\n').ok_or("it printed nothing")?;
        let run: serde_json::Value = serde_json::from_str(run).map_err(|error| error.to_string())?;
        let sites = run["total"]["observed"]["sites"].as_array().cloned().unwrap_or_default();
        let site = sites.first().ok_or_else(|| format!("no site: {run:#}"))?;
        let python = site["python"].as_array().cloned().unwrap_or_default();
        let ends = |at: usize, end: &str| python[at].as_str().is_some_and(|line| line.ends_with(end));
        let is_right = match (is_held, prints) {
            (true, _) => python.len() == 2 && ends(0, "script.py:6 load") && ends(1, "script.py:14 <module>"),
            (false, "True") => {
                let line = python.first().and_then(|line| line.as_str()).unwrap_or_default();
                python.len() == 1 && line.contains("script.py:6 load, called from ") && ends(0, "script.py:14 <module>")
            }
            (false, _) => python.is_empty(),
        };
        assert!(is_right, "{loader}: {site:#}");
        assert_eq!(site["calls"], 3, "{loader}: {site:#}");
    }
    Ok(())
}

fn ignored_ends_of_children_are_waited_for_all_the_same() -> Result<(), Failed> {
    let folder = Folder::new("run-child-signal");
    let library = library(&folder, "dropin.so");
    let show = "import signal, sys; sys.exit(int(signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN) + 5)";
    let inner = command(&folder, &library, &["--report", "--", "python3", "-c", show], &[]);
    let ignore =
        "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])";
    let mut outer = Command::new("python3");
    outer.args(["-c", ignore]).arg(inner.get_program()).args(inner.get_args()).env_remove("LD_PRELOAD");
    assert_eq!(outer.output().unwrap().status.code(), Some(6), "and the program inherits that it is ignored");
    Ok(())
}

fn an_interrupt_from_the_terminal_arrives_once() -> Result<(), Failed> {
    let folder = Folder::new("run-terminal");
    // It waits for the first interrupt, and then for a while for a second one.
    let wait = "i=0; while [ -z \"$got\" ] && [ $i -lt 15000 ]; do sleep 0.02; i=$((i + 1)); done";
    let more = "for i in 0 1 2 3 4 5 6 7 8 9; do sleep 0.02; done";
    let program = &format!("trap 'got=yes; echo got$((40 + 2))' INT; echo ready; {wait}; {more}; exit 7");
    let library = library(&folder, "dropin.so");
    let inner = command(&folder, &library, &["--report", "--", "sh", "-c", program], &[]);
    // The interrupt character, typed at a terminal of its own.
    let typist = "\
import os, pty, signal, sys
pid, terminal = pty.fork()
if pid == 0:
    # A background job of a shell ignores it, and so would the program.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.execv(sys.argv[1], sys.argv[1:])
seen, typed = b'', False
while True:
    try:
        part = os.read(terminal, 1000)
    except OSError:
        break
    if not part:
        break
    seen += part
    if b'ready' in seen and not typed:
        typed = True
        os.write(terminal, b'\\x03')
print(seen.count(b'got42'), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
";
    let mut python = Command::new("python3");
    python.args(["-c", typist]).arg(inner.get_program()).args(inner.get_args()).current_dir(folder.path());
    let output = python.env_remove("LD_PRELOAD").output().unwrap();
    assert_eq!(text(&output.stdout).trim_end(), "1 7", "{}", text(&output.stderr));
    Ok(())
}

fn main() {
    let trial = |name, body: fn() -> Result<(), Failed>| needs::trial(name, &["python3"], body);
    let mut trials = pages::trials();
    trials.push(prometheus::trial());
    trials.extend([
        trial("children_of_python_inherit", children_of_python_inherit),
        trial(
            "ignored_ends_of_children_are_waited_for_all_the_same",
            ignored_ends_of_children_are_waited_for_all_the_same,
        ),
        trial("stalls_have_their_line", stalls_have_their_line),
        trial("an_interrupt_from_the_terminal_arrives_once", an_interrupt_from_the_terminal_arrives_once),
    ]);
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}
