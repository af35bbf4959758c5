//! Interpreters with a lock (Python), whose functions tasks call: how threads of the library enter them, and forks.
//!
//! A thread that is new to CPython gets a state there, in a list with a lock of its own, before it waits for the lock
//! of the interpreter. CPython 3.12 and older fork with the lock of the list as it is: where another thread has it, the
//! child waits for it for ever. So no thread may be at that while the interpreter forks.
#![allow(unsafe_code)] // symbols that C finds by name, and C's pointers

use std::ffi::{c_int, c_void};
use std::sync::{Condvar, Mutex};

use hal::locks::{lock, unpoisoned};

use crate::failure::catch;
use crate::tasks::dispatcher::is_child;

/// The interpreter of a function, by its own functions. Each may be called on any thread.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Interpreter {
    /// The calling thread's state, null if it has none: PyGILState_GetThisThreadState.
    pub state: Option<unsafe extern "C" fn() -> *mut c_void>,
    /// Makes one, and waits for the interpreter's lock: PyGILState_Ensure. The library does not call it while the
    /// interpreter forks.
    pub enter: Option<unsafe extern "C" fn() -> c_int>,
    /// Gives both back: PyGILState_Release.
    pub leave: Option<unsafe extern "C" fn(entered: c_int)>,
}

impl Interpreter {
    /// Calls a function of the interpreter's.
    ///
    /// # Safety
    /// The functions are those of an interpreter.
    pub unsafe fn call<R>(self, function: impl FnOnce() -> R) -> R {
        let Interpreter { state: Some(state), enter: Some(enter), leave: Some(leave) } = self else {
            return function();
        };
        // SAFETY: the caller's promise.
        if !unsafe { state() }.is_null() {
            return function();
        }
        // SAFETY: the caller's promise.
        let entered = DOOR.pass(|| unsafe { enter() });
        let result = function();
        // SAFETY: the caller's promise, and the thread has entered.
        unsafe { leave(entered) };
        result
    }
}

static DOOR: Door = Door::new();

/// Closed while an interpreter forks.
struct Door {
    threads: Mutex<Threads>,
    changed: Condvar,
}

struct Threads {
    passing: usize,
    forking: usize,
}

impl Door {
    const fn new() -> Door {
        Door { threads: Mutex::new(Threads { passing: 0, forking: 0 }), changed: Condvar::new() }
    }

    /// Runs `enter` while nobody forks.
    fn pass<R>(&self, enter: impl FnOnce() -> R) -> R {
        // Another thread of the parent may have held the lock.
        if is_child() {
            return enter();
        }
        let threads = lock(&self.threads);
        let mut threads = unpoisoned(self.changed.wait_while(threads, |threads| threads.forking > 0));
        threads.passing += 1;
        drop(threads);
        let entered = enter();
        lock(&self.threads).passing -= 1;
        self.changed.notify_all();
        entered
    }

    fn close(&self) {
        let mut threads = lock(&self.threads);
        threads.forking += 1;
        drop(unpoisoned(self.changed.wait_while(threads, |threads| threads.passing > 0)));
    }

    fn open(&self) {
        let mut threads = lock(&self.threads);
        threads.forking = threads.forking.saturating_sub(1);
        drop(threads);
        self.changed.notify_all();
    }
}

/// The interpreter is about to fork: until overtake_after_fork no thread of the library enters it. Those that are at it
/// are waited for: call it without the interpreter's lock. Functions that run go on.
///
/// Threads: any. In the child of a fork it does nothing.
#[unsafe(no_mangle)]
pub extern "C" fn overtake_before_fork() -> c_int {
    catch("overtake_before_fork", || {
        if !is_child() {
            DOOR.close();
        }
        Ok(())
    })
}

/// The interpreter has forked, or could not.
///
/// Threads: that of overtake_before_fork. In the child of a fork it does nothing.
#[unsafe(no_mangle)]
pub extern "C" fn overtake_after_fork() -> c_int {
    catch("overtake_after_fork", || {
        if !is_child() {
            DOOR.open();
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
    use std::thread::{scope, spawn};
    use std::time::Duration;

    use super::*;

    const SOON: Duration = Duration::from_secs(60);
    const NOT_YET: Duration = Duration::from_millis(50);

    /// A thread that passes when it is told to, and says so.
    fn passing(door: &'static Door) -> (Sender<()>, Receiver<&'static str>) {
        let ((may, told), (says, said)) = (channel(), channel());
        spawn(move || {
            door.pass(|| {
                says.send("at it").unwrap();
                told.recv().unwrap();
            });
            says.send("inside").unwrap();
        });
        (may, said)
    }

    #[test]
    fn a_fork_waits_for_threads_that_enter_and_others_wait_for_it() {
        static DOOR: Door = Door::new();
        let (first, first_said) = passing(&DOOR);
        assert_eq!(first_said.recv_timeout(SOON), Ok("at it"));
        let (forks, forked) = channel();
        scope(|scope| {
            scope.spawn(move || {
                DOOR.close();
                forks.send(()).unwrap();
            });
            assert_eq!(forked.recv_timeout(NOT_YET), Err(RecvTimeoutError::Timeout), "a thread is at it");
            first.send(()).unwrap();
            assert_eq!((first_said.recv_timeout(SOON), forked.recv_timeout(SOON)), (Ok("inside"), Ok(())));
        });
        let (second, second_said) = passing(&DOOR);
        assert_eq!(second_said.recv_timeout(NOT_YET), Err(RecvTimeoutError::Timeout), "it forks");
        DOOR.open();
        assert_eq!(second_said.recv_timeout(SOON), Ok("at it"));
        second.send(()).unwrap();
        assert_eq!(second_said.recv_timeout(SOON), Ok("inside"));
    }

    /// In an interpreter all the time.
    #[test]
    fn a_thread_that_has_a_state_does_not_enter() {
        extern "C" fn state() -> *mut c_void {
            std::ptr::dangling_mut()
        }
        extern "C" fn enter() -> c_int {
            unreachable!("it has a state")
        }
        extern "C" fn leave(_: c_int) {}
        let interpreter = Interpreter { state: Some(state), enter: Some(enter), leave: Some(leave) };
        // SAFETY: they are those of one that needs nothing.
        assert_eq!(unsafe { interpreter.call(|| 7) }, 7);
    }
}
