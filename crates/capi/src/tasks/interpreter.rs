//! Interpreters with a lock (Python), whose functions tasks call: how threads of the library enter them, and forks.
//!
//! A thread that is new to CPython gets a state there, in a list with a lock of its own, before it waits for the lock
//! of the interpreter. CPython 3.12 and older fork with the lock of the list as it is: where another thread has it, the
//! child waits for it for ever. So no thread may be at that while the interpreter forks.
#![allow(unsafe_code)] // symbols that C finds by name, and C's pointers

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::{LazyLock, Once};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::failure::catch;

/// The interpreter of a function, by its own functions. Each may be called on any thread. It lives until the last
/// function has been freed.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Interpreter {
    /// The calling thread's state, null if it has none: PyGILState_GetThisThreadState.
    pub state: Option<unsafe extern "C" fn() -> *mut c_void>,
    /// Makes one, and waits for the interpreter's lock: PyGILState_Ensure. The library does not call it while the
    /// interpreter forks (overtake_before_fork).
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

static DOOR: Door = Door::new(Duration::from_secs(1));

/// Closed while an interpreter forks. It has no lock, which the child of a fork could find taken.
struct Door {
    passing: AtomicUsize,
    forking: AtomicUsize,
    /// Another hook of the fork may wait for what a function outside is to do.
    patience: Duration,
    /// The age of this library, in nanoseconds, at which its patience ends.
    closed_until: AtomicU64,
}

impl Door {
    const fn new(patience: Duration) -> Door {
        let [passing, forking] = [const { AtomicUsize::new(0) }; 2];
        Door { passing, forking, patience, closed_until: AtomicU64::new(0) }
    }

    /// Runs `enter` while nobody forks, if that takes no longer than its patience.
    fn pass<R>(&self, enter: impl FnOnce() -> R) -> R {
        while !self.is_passed() {
            pause();
        }
        let entered = enter();
        self.passing.fetch_sub(1, SeqCst);
        entered
    }

    /// A thread that comes and one that closes see at least one another.
    fn is_passed(&self) -> bool {
        self.passing.fetch_add(1, SeqCst);
        let is_open = self.forking.load(SeqCst) == 0 || age() >= self.closed_until.load(SeqCst);
        if !is_open {
            self.passing.fetch_sub(1, SeqCst);
        }
        is_open
    }

    fn close(&self) {
        let until = age() + self.patience.as_nanos() as u64;
        self.closed_until.fetch_max(until, SeqCst);
        self.forking.fetch_add(1, SeqCst);
        while self.passing.load(SeqCst) > 0 && age() < until {
            pause();
        }
    }

    fn open(&self) {
        let _was_open = self.forking.fetch_update(SeqCst, SeqCst, |forking| forking.checked_sub(1));
    }

    /// In the child of a fork, which has no other thread.
    fn renew(&self) {
        self.passing.store(0, SeqCst);
        self.forking.store(0, SeqCst);
    }
}

#[expect(clippy::disallowed_methods, reason = "a fork of the machine's, without a device")]
fn pause() {
    sleep(Duration::from_micros(100));
}

#[expect(clippy::disallowed_methods, reason = "as for pause")]
fn age() -> u64 {
    static BEGIN: LazyLock<Instant> = LazyLock::new(Instant::now);
    BEGIN.elapsed().as_nanos() as u64
}

/// The interpreter is about to fork: until overtake_after_fork no thread of the library enters it. Those that are at it
/// are waited for: call it without the interpreter's lock. Functions that run go on. After a second threads enter all
/// the same, as another hook of the fork may wait for the function of a task.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn overtake_before_fork() -> c_int {
    extern "C" fn forked() {
        DOOR.renew();
    }
    static WATCHED: Once = Once::new();
    catch("overtake_before_fork", || {
        WATCHED.call_once(|| {
            // SAFETY: a function of this library, which is never unmapped.
            unsafe { libc::pthread_atfork(None, None, Some(forked)) };
        });
        DOOR.close();
        Ok(())
    })
}

/// The interpreter has forked, or could not.
///
/// Threads: that of overtake_before_fork. The child of the fork need not call it.
#[unsafe(no_mangle)]
pub extern "C" fn overtake_after_fork() -> c_int {
    catch("overtake_after_fork", || {
        DOOR.open();
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
    use std::thread::{scope, spawn};

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
        static DOOR: Door = Door::new(SOON);
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

    /// Another hook of the fork may wait for the one who comes, or keep one outside who is at it.
    #[test]
    fn its_patience_ends() {
        static DOOR: Door = Door::new(Duration::from_millis(1));
        DOOR.pass(|| {
            DOOR.close();
            assert_eq!(DOOR.pass(|| 7), 7, "it is closed");
        });
        DOOR.open();
        DOOR.open();
        assert_eq!((DOOR.passing.load(SeqCst), DOOR.forking.load(SeqCst)), (0, 0));
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
