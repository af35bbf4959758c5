//! The system calls of `run` that the standard library lacks: signals with their sender, stops of a child, the path
//! of a loaded library. The decisions are in `supervise.rs`.
// The functions below are unsafe because they call C functions with pointers. Every pointer is to a local variable.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, OsStr, OsString, c_int};
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

/// Signals that mean an error of the process itself: blocking one would hide the error.
const OWN: [c_int; 7] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGSYS, libc::SIGABRT];

/// A signal that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    pub signal: c_int,
    /// The process that sent it; `None` if it was the kernel, which signals for the terminal.
    pub sender: Option<i32>,
}

/// A change in the state of a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Stopped by this signal.
    Stopped(c_int),
    /// Ended with this status.
    Exited(c_int),
    /// Ended by this signal.
    Killed(c_int),
}

/// From construction on, all signals from other processes are blocked and taken one by one. The inherited state comes
/// back when this is dropped, and in the child.
pub struct Signals {
    held: libc::sigset_t,
    inherited_mask: libc::sigset_t,
    inherited_child_action: libc::sigaction,
}

impl Signals {
    /// Blocks them on this thread, which must be the only one.
    pub fn hold() -> io::Result<Signals> {
        let held = all_but_own();
        let mut inherited_mask = MaybeUninit::uninit();
        let mut inherited_child_action = MaybeUninit::uninit();
        // SAFETY: an action of zeros is the default action with an empty mask; the two out pointers are to locals.
        let (inherited_mask, inherited_child_action) = unsafe {
            let default: libc::sigaction = std::mem::zeroed();
            // With the action "ignore" there would be no status to wait for.
            call(libc::sigaction(libc::SIGCHLD, &default, inherited_child_action.as_mut_ptr()))?;
            call(libc::sigprocmask(libc::SIG_BLOCK, &held, inherited_mask.as_mut_ptr()))?;
            (inherited_mask.assume_init(), inherited_child_action.assume_init())
        };
        Ok(Signals { held, inherited_mask, inherited_child_action })
    }

    /// Makes a child begin with the signal state of this process, and end when this process is killed: killing the
    /// command is meant to end the program.
    pub fn prepare(&self, command: &mut Command) {
        let (mask, action, parent) = (self.inherited_mask, self.inherited_child_action, std::process::id());
        // SAFETY: the closure runs between fork and exec and makes system calls only, all of them async-signal-safe,
        // with pointers to its own values.
        unsafe {
            command.pre_exec(move || {
                call(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL))?;
                if libc::getppid() as u32 != parent {
                    libc::_exit(1);
                }
                call(libc::sigaction(libc::SIGCHLD, &action, std::ptr::null_mut()))?;
                call(libc::sigprocmask(libc::SIG_SETMASK, &mask, std::ptr::null_mut()))
            });
        }
    }

    /// Waits for the next signal, for so long. `None` if none has come, or if being stopped and continued interrupted
    /// the wait.
    pub fn next(&self, within: Duration) -> Option<Arrival> {
        let mut info = MaybeUninit::<libc::siginfo_t>::uninit();
        let within = libc::timespec { tv_sec: within.as_secs() as i64, tv_nsec: i64::from(within.subsec_nanos()) };
        // SAFETY: the pointers are to values that live on; the contents of `info` are read only when the call reports
        // that it has, and the sender only for the codes that have one.
        unsafe {
            let signal = libc::sigtimedwait(&self.held, info.as_mut_ptr(), &within);
            if signal <= 0 {
                return None;
            }
            let info = info.assume_init();
            let has_sender = [libc::SI_USER, libc::SI_QUEUE, libc::SI_TKILL].contains(&info.si_code);
            Some(Arrival { signal, sender: has_sender.then(|| info.si_pid()) })
        }
    }

    /// Stops this process as a terminal does, until another process continues it. In a process group without a shell
    /// nothing could continue it, so it does not stop there.
    pub fn stop(&self) {
        with_unblocked(libc::SIGTSTP, || send(std::process::id() as i32, libc::SIGTSTP));
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        let now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the set, the action and the mask were filled in by `hold`; a null pointer asks for no details.
        unsafe {
            // Signals that came with the end of the program were meant for the program: they must not end the report.
            while libc::sigtimedwait(&self.held, std::ptr::null_mut(), &now) > 0 {}
            libc::sigaction(libc::SIGCHLD, &self.inherited_child_action, std::ptr::null_mut());
            libc::sigprocmask(libc::SIG_SETMASK, &self.inherited_mask, std::ptr::null_mut());
        }
    }
}

fn all_but_own() -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: sigfillset initialises the set, and the numbers are those of signals.
    unsafe {
        libc::sigfillset(set.as_mut_ptr());
        for signal in OWN {
            libc::sigdelset(set.as_mut_ptr(), signal);
        }
        set.assume_init()
    }
}

fn with_unblocked(signal: c_int, body: impl FnOnce()) {
    let mut set = MaybeUninit::uninit();
    // SAFETY: sigemptyset initialises the set, which lives until the last call.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), signal);
        body();
        libc::sigprocmask(libc::SIG_UNBLOCK, set.as_ptr(), std::ptr::null_mut());
        libc::sigprocmask(libc::SIG_BLOCK, set.as_ptr(), std::ptr::null_mut());
    }
}

fn call(result: c_int) -> io::Result<()> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Sends a signal. If it cannot be delivered, there is no caller to tell.
pub fn send(process: i32, signal: c_int) {
    // SAFETY: plain numbers.
    unsafe {
        libc::kill(process, signal);
    }
}

/// The change of this child since the last call, without waiting. A child that has ended is reaped by this.
pub fn change(child: i32) -> Option<Change> {
    let mut status = 0;
    // SAFETY: the pointer is to a local.
    let waited = unsafe { libc::waitpid(child, &mut status, libc::WNOHANG | libc::WUNTRACED) };
    if waited != child {
        return None;
    }
    if libc::WIFSTOPPED(status) {
        return Some(Change::Stopped(libc::WSTOPSIG(status)));
    }
    if libc::WIFSIGNALED(status) {
        return Some(Change::Killed(libc::WTERMSIG(status)));
    }
    Some(Change::Exited(libc::WEXITSTATUS(status)))
}

/// Ends this process by a signal, without a second core file. Returns if the signal does not end it.
pub fn die(signal: c_int) {
    // SAFETY: an action of zeros is the default action; the other arguments are plain numbers.
    unsafe {
        libc::prctl(libc::PR_SET_DUMPABLE, 0);
        let default: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, &default, std::ptr::null_mut());
    }
    with_unblocked(signal, || send(std::process::id() as i32, signal));
}

/// The path of the file that the loader finds under this name, such as `libcuda.so.1`.
pub fn loaded_path(name: &OsStr) -> Option<OsString> {
    let name = CString::new(name.as_bytes()).ok()?;
    // SAFETY: `name` is NUL-terminated. The handle is not closed, so that the symbol and the path stay valid; `info` is
    // read only when dladdr says that it has filled it in.
    unsafe {
        let handle = libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_LOCAL);
        if handle.is_null() {
            return None;
        }
        let mut map: *const LinkMap = std::ptr::null();
        if libc::dlinfo(handle, libc::RTLD_DI_LINKMAP, (&raw mut map).cast()) != 0 || map.is_null() {
            return None;
        }
        let path = CStr::from_ptr((*map).name).to_bytes().to_vec();
        Some(OsString::from_vec(path))
    }
}

/// The public beginning of the loader's `struct link_map`.
#[repr(C)]
struct LinkMap {
    address: usize,
    name: *const libc::c_char,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loader_says_where_a_library_is() {
        let path = loaded_path(OsStr::new("libm.so.6")).expect("every C program's mathematics library");
        assert!(std::path::Path::new(&path).is_absolute(), "{}", path.display());
        assert!(path.as_bytes().ends_with(b"/libm.so.6"), "{}", path.display());
        assert_eq!(loaded_path(OsStr::new("libnonexistent.so.1")), None);
    }

    #[test]
    fn signals_of_a_process_to_itself_are_not_held_back() {
        let set = all_but_own();
        // SAFETY: an initialised set and signal numbers.
        let has = |signal| unsafe { libc::sigismember(&set, signal) } == 1;
        assert!(has(libc::SIGINT) && has(libc::SIGCHLD) && has(libc::SIGRTMIN()));
        assert!(!has(libc::SIGSEGV) && !has(libc::SIGABRT));
    }
}
