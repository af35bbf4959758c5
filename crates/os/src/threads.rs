//! The one place that starts threads. A thread of a library inherits nothing from the thread of the program that
//! happens to start it: not its processors, not its real-time policy, and no signal that the program has unblocked.
#![allow(unsafe_code)] // masks and policies of threads

use std::io;
use std::mem::{MaybeUninit, size_of, zeroed};
use std::num::NonZero;
use std::sync::OnceLock;
use std::thread::{Builder, JoinHandle};

/// The stack of a thread that may run code of the program's or the driver's. It does not follow `RUST_MIN_STACK`, which
/// a program may have set for other threads.
pub const STACK_BYTES: usize = 2 << 20;
/// The stack of a thread that runs code of this library alone.
pub const SMALL_STACK_BYTES: usize = 256 << 10;

/// A thread raises these by what it does itself. Blocked they would end the process without the program's handler, or
/// any message.
const OWN_FAULTS: [libc::c_int; 6] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGSYS];

/// Starts a thread that gets no signal sent to the process, runs on all processors of the process, and has no real-time
/// policy. So it is from its first instruction on.
#[expect(clippy::disallowed_methods, reason = "all others come here")]
pub fn start<T: Send + 'static>(
    name: &str,
    stack_bytes: usize,
    body: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    let builder = Builder::new().name(name.to_owned()).stack_size(stack_bytes);
    // Miri has neither masks nor policies, and checks what the body does.
    if cfg!(miri) {
        return builder.spawn(body);
    }
    let processors = processors();
    // A thread begins with its parent's mask.
    let _blocked = Blocked::new();
    builder.spawn(move || {
        become_ordinary(processors);
        body()
    })
}

/// The number of processors that threads started here may use at once.
#[must_use]
pub fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    // The standard library knows the limits of control groups too, and counts the calling thread's processors.
    let count = || std::thread::available_parallelism().map_or(1, NonZero::get);
    *CORES.get_or_init(|| {
        let elsewhere = start("overtake-cores", SMALL_STACK_BYTES, count);
        elsewhere.ok().and_then(|thread| thread.join().ok()).unwrap_or_else(count)
    })
}

/// The processors of the process, as they are at the first call: those that any of its threads may use. The calling
/// thread may be bound to one of them, and so may the main thread.
pub fn processors() -> &'static Processors {
    static PROCESSORS: OnceLock<Processors> = OnceLock::new();
    PROCESSORS.get_or_init(|| {
        let number = |thread: io::Result<std::fs::DirEntry>| thread.ok()?.file_name().to_str()?.parse().ok();
        let threads = std::fs::read_dir("/proc/self/task");
        let threads: Vec<libc::pid_t> = threads.map_or_else(|_| vec![0], |all| all.filter_map(number).collect());
        threads.into_iter().filter_map(Processors::of).reduce(Processors::and).unwrap_or_default()
    })
}

/// A set of processors: bits, as many as the system needs. Empty where it does not tell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Processors(Vec<u64>);

/// Systems have at most so many processors.
const PROCESSORS_MAX: usize = 1 << 16;

impl Processors {
    /// Those of a thread; 0 is the calling one.
    fn of(thread: libc::pid_t) -> Option<Processors> {
        let mut words = 16;
        while words * 64 <= PROCESSORS_MAX {
            let mut bits = vec![0_u64; words];
            // SAFETY: the system writes at most so many bytes of bits. The call is the system's own, because the C
            // library's has a set of a fixed size.
            let asked = unsafe {
                libc::syscall(libc::SYS_sched_getaffinity, thread, words * size_of::<u64>(), bits.as_mut_ptr())
            };
            if asked > 0 {
                return Some(Processors(bits));
            }
            if io::Error::last_os_error().raw_os_error() != Some(libc::EINVAL) {
                return None;
            }
            words *= 2;
        }
        None
    }

    fn and(mut self, other: Processors) -> Processors {
        self.0.resize(self.0.len().max(other.0.len()), 0);
        self.0.iter_mut().zip(other.0).for_each(|(bits, more)| *bits |= more);
        self
    }
}

/// Gives the calling thread these processors, and takes a real-time policy away. What the system refuses stays.
fn become_ordinary(processors: &Processors) {
    if !processors.0.is_empty() && Processors::of(0).as_ref() != Some(processors) {
        let bytes = processors.0.len() * size_of::<u64>();
        // SAFETY: the system reads so many bytes of bits.
        unsafe { libc::syscall(libc::SYS_sched_setaffinity, 0, bytes, processors.0.as_ptr()) };
    }
    if is_real_time() {
        // SAFETY: all parameters of the ordinary policy are zero.
        unsafe { libc::sched_setscheduler(0, libc::SCHED_OTHER, &zeroed()) };
    }
}

/// Whether the calling thread runs before all ordinary threads of its processor.
#[must_use]
pub fn is_real_time() -> bool {
    // SAFETY: a question about the calling thread.
    let policy = unsafe { libc::sched_getscheduler(0) } & !libc::SCHED_RESET_ON_FORK;
    [libc::SCHED_FIFO, libc::SCHED_RR, libc::SCHED_DEADLINE].contains(&policy)
}

/// Blocks the signals of the process on the calling thread while it lives.
struct Blocked(Option<libc::sigset_t>);

impl Blocked {
    fn new() -> Blocked {
        let (mut all, mut before) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        // SAFETY: sigfillset initialises the set; the mask before is read only where the call has succeeded.
        unsafe {
            libc::sigfillset(all.as_mut_ptr());
            for signal in OWN_FAULTS {
                libc::sigdelset(all.as_mut_ptr(), signal);
            }
            let blocked = libc::pthread_sigmask(libc::SIG_BLOCK, all.as_ptr(), before.as_mut_ptr()) == 0;
            Blocked(blocked.then(|| before.assume_init()))
        }
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            // SAFETY: an initialised mask; a null pointer means that the present one is not returned.
            unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before, std::ptr::null_mut()) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mask() -> libc::sigset_t {
        let mut mask = MaybeUninit::uninit();
        // SAFETY: asks for the mask, which is read because the call cannot fail.
        unsafe {
            libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), mask.as_mut_ptr());
            mask.assume_init()
        }
    }

    fn has(mask: &libc::sigset_t, signal: libc::c_int) -> bool {
        // SAFETY: an initialised mask and a signal's number.
        unsafe { libc::sigismember(mask, signal) == 1 }
    }

    /// One processor of these.
    fn one_of(processors: &Processors) -> Processors {
        let mut one = Processors(vec![0; processors.0.len()]);
        let word = processors.0.iter().position(|bits| *bits != 0).unwrap();
        one.0[word] = 1 << processors.0[word].trailing_zeros();
        one
    }

    #[test]
    #[cfg_attr(miri, ignore)] // it asks the system
    fn a_thread_inherits_nothing_from_the_one_that_starts_it() {
        let all = processors();
        assert!(!all.0.is_empty() && cores() > 0);
        let bound = std::thread::spawn(move || {
            let (one, before) = (one_of(all), mask());
            become_ordinary(&one);
            assert_eq!(Processors::of(0), Some(one));
            let thread = start("ordinary", SMALL_STACK_BYTES, || (Processors::of(0), mask(), is_real_time()));
            let (its, its_mask, is_real_time) = thread.unwrap().join().unwrap();
            assert_eq!(its.as_ref(), Some(all));
            assert!(!is_real_time);
            for signal in [libc::SIGTERM, libc::SIGUSR1, libc::SIGALRM, libc::SIGCHLD, libc::SIGPROF] {
                assert!(has(&its_mask, signal), "{signal}");
                assert_eq!(has(&mask(), signal), has(&before, signal), "{signal} of the parent");
            }
            assert!(OWN_FAULTS.iter().all(|signal| !has(&its_mask, *signal)));
        });
        bound.join().unwrap();
    }

    #[test]
    fn sets_of_several_threads_are_joined() {
        let [short, long] = [Processors(vec![5]), Processors(vec![2, 1])];
        assert_eq!(short.clone().and(long.clone()), Processors(vec![7, 1]));
        assert_eq!(long.and(short), Processors(vec![7, 1]));
    }

    #[test]
    #[cfg_attr(miri, ignore)] // it asks the system
    fn a_real_time_policy_is_not_handed_on() {
        let real_time = std::thread::spawn(|| {
            let mut parameters = MaybeUninit::<libc::sched_param>::zeroed();
            // SAFETY: a zeroed parameter is one, and gets the lowest priority.
            let given = unsafe {
                parameters.assume_init_mut().sched_priority = 1;
                libc::sched_setscheduler(0, libc::SCHED_FIFO, parameters.as_ptr())
            };
            if given != 0 {
                return; // without the right to it no thread has such a policy
            }
            assert!(is_real_time());
            assert!(!start("ordinary", SMALL_STACK_BYTES, is_real_time).unwrap().join().unwrap());
        });
        real_time.join().unwrap();
    }
}
