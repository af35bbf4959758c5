//! `overtake run` with Python: as the program, and for operations that need a compiler in other languages.

#[allow(dead_code)]
mod common;
#[allow(dead_code)]
#[path = "run/stand_ins.rs"]
mod stand_ins;

use std::process::Command;

use libtest_mimic::{Arguments, Failed};
use testkit::needs;

use crate::common::{Folder, text};
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
    let trials = vec![
        trial("children_of_python_inherit", children_of_python_inherit),
        trial(
            "ignored_ends_of_children_are_waited_for_all_the_same",
            ignored_ends_of_children_are_waited_for_all_the_same,
        ),
        trial("an_interrupt_from_the_terminal_arrives_once", an_interrupt_from_the_terminal_arrives_once),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}
