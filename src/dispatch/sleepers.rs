//! The threads of the dispatcher that sleep until they are rung. They say so under the lock, and a thread that lets go
//! of the lock rings those that have something to do.
//!
//! All threads are alike. One of them keeps the *watch*: it looks at the device's marks. It may leave the watch to
//! another one, and run the function for which it has seen the mark: that function begins at once, and not when a
//! thread has been woken for it.

/// The thread that keeps the watch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Watch {
    /// The next thread that finds it so keeps it.
    #[default]
    Free,
    Kept {
        by: u32,
        is_asleep: bool,
    },
}

/// The threads that sleep, which is a part of the state behind the lock.
#[derive(Debug, Default)]
pub(crate) struct Sleepers {
    /// A bit for each thread that has found neither a function nor the watch.
    asleep: u64,
    /// Threads that run functions.
    running: u32,
    watch: Watch,
    /// There is something that the thread on watch has not seen, and has to look at now.
    pub has_news: bool,
    /// The thread on watch looks again soon, also if it is not rung.
    looks_soon: bool,
    /// It naps, and looks again behind that, which is soon enough for points that no mark stands for.
    naps: bool,
    /// A lane has points that no mark stands for, which the thread on watch has not seen. It is told when the thread
    /// with the turn has taken its steps, or many: it would only look at the time, and take the state from that one's
    /// cache.
    pub has_points: bool,
}

/// The threads that are to be rung, once the lock is let go of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Calls {
    pub sleeper: Option<u32>,
    pub watcher: Option<u32>,
}

/// A state with sleepers.
pub(crate) trait Sleeps {
    /// Whether there may be threads that have something to do.
    fn may_call(&self) -> bool;

    /// The threads that have something to do: they do not sleep from now on.
    fn calls(&mut self) -> Calls;
}

impl Sleepers {
    /// The thread has found nothing to do.
    pub fn sleeps(&mut self, index: usize) {
        self.asleep |= 1 << index;
    }

    /// The thread runs a function.
    pub fn runs(&mut self) {
        self.running += 1;
    }

    /// It has run.
    pub fn has_run(&mut self) {
        self.running -= 1;
    }

    /// Keeps the watch, if no other thread does.
    pub fn keep_watch(&mut self, index: usize) -> bool {
        let is_free = self.watch == Watch::Free;
        if is_free {
            self.watch = Watch::Kept { by: index as u32, is_asleep: false };
        }
        is_free
    }

    /// Whether the thread on watch may run a function: of so many threads another one is left to keep the watch.
    pub fn may_leave_watch(&self, threads: usize) -> bool {
        (self.running as usize) + 1 < threads
    }

    /// Leaves the watch to another thread.
    pub fn leave_watch(&mut self) {
        (self.watch, self.looks_soon, self.naps) = (Watch::Free, false, false);
    }

    /// There is something for the next look of the thread on watch. It is rung if it would not look again soon.
    #[inline]
    pub fn leave_news(&mut self) {
        self.has_news |= !self.looks_soon;
    }

    /// The thread on watch has seen all that there is, but for news, if there is some. It may look again soon, or nap.
    pub fn watcher_sleeps(&mut self, has_news: bool, looks_soon: bool, naps: bool) {
        (self.has_news, self.looks_soon, self.naps) = (has_news, looks_soon, naps);
        if let Watch::Kept { is_asleep, .. } = &mut self.watch {
            *is_asleep = true;
        }
    }

    /// The thread with the turn has taken its steps, or many.
    #[inline]
    pub fn tell_of_points(&mut self) {
        if std::mem::take(&mut self.has_points) && !self.naps {
            self.leave_news();
        }
    }

    /// Whether there may be threads that have something to do.
    #[inline]
    pub fn may_call(&self, has_function: impl FnOnce() -> bool) -> bool {
        (self.asleep != 0 && (self.watch == Watch::Free || has_function())) || self.called_watcher().is_some()
    }

    #[inline]
    fn called_watcher(&self) -> Option<u32> {
        match self.watch {
            Watch::Kept { by, is_asleep: true } if self.has_news => Some(by),
            _ => None,
        }
    }

    /// The threads that have something to do.
    pub fn calls(&mut self, has_function: bool) -> Calls {
        let mut calls = Calls { sleeper: None, watcher: self.called_watcher() };
        if self.asleep != 0 && (has_function || self.watch == Watch::Free) {
            // One is enough: it rings the next if there is more.
            calls.sleeper = Some(self.asleep.trailing_zeros());
            self.asleep &= self.asleep - 1;
        }
        if let Some(by) = calls.watcher {
            self.watch = Watch::Kept { by, is_asleep: false };
        }
        calls
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// A thread on watch, which may look again soon.
    fn on_watch(looks_soon: bool) -> Sleepers {
        let mut sleepers = Sleepers::default();
        assert!(sleepers.keep_watch(1));
        sleepers.watcher_sleeps(false, looks_soon, false);
        sleepers
    }

    /// Tells of points. Returns the thread that is rung.
    fn rung_for_points(sleepers: &mut Sleepers) -> Option<u32> {
        sleepers.has_points = true;
        sleepers.tell_of_points();
        sleepers.calls(false).watcher
    }

    #[test]
    fn points_wait_for_the_end_of_a_nap_and_other_news_do_not() {
        let mut sleepers = on_watch(false);
        sleepers.watcher_sleeps(false, false, true);
        assert_eq!(rung_for_points(&mut sleepers), None);
        sleepers.leave_news();
        assert_eq!(sleepers.calls(false).watcher, Some(1), "a mark is no point");
        sleepers.watcher_sleeps(false, false, true);
        sleepers.leave_watch();
        assert!(sleepers.keep_watch(0));
        sleepers.watcher_sleeps(false, false, false);
        assert_eq!(rung_for_points(&mut sleepers), Some(0), "it sleeps for good");
    }

    #[test]
    fn news_for_the_next_look_ring_no_thread_that_looks_soon() {
        for looks_soon in [true, false] {
            let mut sleepers = on_watch(looks_soon);
            sleepers.leave_news();
            assert_eq!(sleepers.may_call(|| false), !looks_soon);
            assert_eq!(sleepers.calls(false).watcher, (!looks_soon).then_some(1));
        }
    }

    #[test]
    fn other_news_ring_it() {
        let mut sleepers = on_watch(true);
        sleepers.has_news = true;
        assert_eq!(sleepers.calls(false).watcher, Some(1));
        assert_eq!(sleepers.calls(false).watcher, None, "it is awake");
    }

    /// The next thread on watch has not said that it looks soon.
    #[test]
    fn a_watch_that_is_left_is_none_that_looks_soon() {
        let mut sleepers = on_watch(true);
        sleepers.leave_watch();
        assert!(sleepers.keep_watch(0));
        sleepers.leave_news();
        assert!(sleepers.has_news);
    }
}
