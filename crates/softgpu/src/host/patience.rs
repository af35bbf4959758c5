//! The patience of threads with a thread that has the turn and makes no call.

use std::path::PathBuf;
use std::time::Duration;

use super::threads::ThreadKey;

/// A thread with the turn is given up after so long without a call. Only the time counts in which it is blocked, or
/// computes: the time in which it waits for a processor says nothing about it.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);
/// The waiting threads look at its progress this often.
pub(super) const LOOK: Duration = Duration::from_millis(500);
/// The unit of processor times in `/proc`, the same on all of Linux's platforms that have a CUDA driver.
const TICK: Duration = Duration::from_millis(10);

/// A thread's activity in the operating system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Activity {
    /// It is blocked, or nothing is known about it.
    Blocked,
    /// It has a processor or waits for one. So far it has computed for this long.
    Runs(Duration),
}

/// A thread of the operating system.
#[derive(Debug)]
pub(super) struct Task {
    process: u32,
    stat: PathBuf,
}

impl Task {
    /// The calling thread; `None` where there is no `/proc`. All threads that Miri interprets are one.
    pub(super) fn here() -> Option<Task> {
        let task = (!cfg!(miri)).then(|| std::fs::read_link("/proc/thread-self").ok())??;
        Some(Task { process: std::process::id(), stat: PathBuf::from("/proc").join(task).join("stat") })
    }

    /// Its activity now. That of threads that a fork has left behind is unknown.
    #[expect(clippy::disallowed_methods, reason = "a file of the kernel's, and one line of it")]
    pub(super) fn activity(&self) -> Activity {
        if self.process != std::process::id() {
            return Activity::Blocked;
        }
        std::fs::read_to_string(&self.stat).ok().and_then(|stat| parse(&stat)).unwrap_or(Activity::Blocked)
    }
}

/// Reads a line of `/proc/.../stat`. The name in brackets may hold blanks and brackets.
fn parse(stat: &str) -> Option<Activity> {
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    if *fields.first()? != "R" {
        return Some(Activity::Blocked);
    }
    let ticks = |index: usize| fields.get(index)?.parse::<u32>().ok();
    Some(Activity::Runs(TICK * ticks(11)?.checked_add(ticks(12)?)?))
}

/// A waiting thread's observations of the thread with the turn.
#[derive(Debug, Default)]
pub(super) struct Vigil {
    /// The thread, and how many calls all threads had made.
    of: Option<(ThreadKey, u64)>,
    /// The time that it had computed at the first look that found it computing.
    computed: Option<Duration>,
    used: Duration,
    blocked: Duration,
}

impl Vigil {
    /// A time of [`LOOK`] has passed. Tells whether to give the thread up.
    pub(super) fn look(&mut self, thread: ThreadKey, calls: u64, activity: Activity) -> bool {
        if self.of != Some((thread, calls)) {
            *self = Vigil { of: Some((thread, calls)), ..Vigil::default() };
        }
        match activity {
            Activity::Blocked => self.blocked += LOOK,
            Activity::Runs(computed) => {
                let first = *self.computed.get_or_insert(computed);
                self.used = computed.saturating_sub(first);
            }
        }
        self.blocked + self.used >= PATIENCE
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    const LOOKS: usize = (PATIENCE.as_millis() / LOOK.as_millis()) as usize;

    fn thread() -> ThreadKey {
        ThreadKey::from_handle(7 << 56, 7).unwrap()
    }

    /// The number of the look, of so many, at which it is given up.
    fn given_up(activities: impl IntoIterator<Item = Activity>) -> Option<usize> {
        let mut vigil = Vigil::default();
        activities.into_iter().position(|activity| vigil.look(thread(), 1, activity)).map(|index| index + 1)
    }

    #[test]
    fn a_thread_that_gets_no_processor_is_waited_for() {
        let starved = Activity::Runs(Duration::from_millis(70));
        assert_eq!(given_up([starved; 1_000]), None);
        assert_eq!(given_up([starved, Activity::Blocked].repeat(LOOKS)), Some(2 * LOOKS));
    }

    #[test]
    fn a_thread_that_is_blocked_or_computes_is_given_up_in_time() {
        assert_eq!(given_up([Activity::Blocked; 100]), Some(LOOKS));
        let half = |look: u32| Activity::Runs(Duration::from_secs(60) + look * LOOK / 2);
        assert_eq!(given_up((0..100).map(half)), Some(2 * LOOKS + 1), "it has half of a processor");
    }

    #[test]
    fn a_call_begins_it_anew() {
        let mut vigil = Vigil::default();
        assert!((0..1_000).all(|look| !vigil.look(thread(), look / 5, Activity::Blocked)));
    }

    /// A thread that is given up makes no call, so the number of calls alone does not tell the next one from it.
    #[test]
    fn the_next_thread_has_patience_of_its_own() {
        let next = ThreadKey::from_handle(7 << 56 | 1, 7).unwrap();
        let mut vigil = Vigil::default();
        let mut given_up = |thread| (0..LOOKS).position(|_| vigil.look(thread, 1, Activity::Blocked));
        assert_eq!([thread(), next].map(&mut given_up), [Some(LOOKS - 1); 2]);
    }

    #[test]
    #[cfg_attr(miri, ignore)] // all threads that it interprets are one
    fn nothing_is_known_of_a_thread_that_a_fork_has_left_behind() {
        let Some(here) = Task::here() else { return };
        let left_behind = Task { process: here.process + 1, ..here };
        assert_eq!(left_behind.activity(), Activity::Blocked, "though the thread with its number runs");
    }

    #[test]
    fn a_line_of_proc_is_read_behind_the_name() {
        let line = |state: &str| format!("12 (a) b (c) {state} 1 1 1 0 -1 4194304 5 0 0 0 30 12 0 0 20 0 2 0");
        assert_eq!(parse(&line("R")), Some(Activity::Runs(Duration::from_millis(420))));
        assert_eq!(parse(&line("S")), Some(Activity::Blocked));
        assert_eq!(parse("12 (a) R 1"), None);
    }

    #[test]
    #[cfg_attr(miri, ignore)] // all threads that it interprets are one
    fn the_operating_system_tells_a_running_thread_from_a_blocked_one() {
        let Some(here) = Task::here() else { return };
        assert!(matches!(here.activity(), Activity::Runs(_)), "{:?}", here.activity());
        let (sender, receiver) = mpsc::channel();
        let (end, ended) = mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            sender.send(Task::here().unwrap()).unwrap();
            ended.recv().unwrap_err();
        });
        let there = receiver.recv().unwrap();
        while there.activity() != Activity::Blocked {
            std::thread::yield_now();
        }
        drop(end);
        thread.join().unwrap();
    }
}
