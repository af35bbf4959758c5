//! The dispatcher's threads that sleep until they are rung. They say so under the lock, and a thread that releases the
//! lock rings those that have something to do.
//!
//! All threads are alike. One of them keeps the *watch*: it polls the device's marks. It may hand the watch to another
//! one and itself run the function that has become ready: so the function starts at once, and not only when another
//! thread has woken up.
//!
//! Waking that other thread takes microseconds, which would delay the function. So if functions are short, one of the
//! sleeping threads *stands by*: it naps, and takes over a watch that has been left, without being woken.

use hal::Nanos;

/// Functions that take longer than this are worth waking a thread for: that takes about as long.
const SHORT_RUN: Nanos = Nanos::from_us(20);
/// A thread stands by for so many naps after the thread on watch has last seen a function that has not ended.
const NAPS_OF_STANDBY: u32 = if cfg!(loom) { 2 } else { 200 };

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
    /// The last function took so long, or half as long as those before it.
    recent_run: Option<Nanos>,
    /// The thread that stands by. It looks for something to do behind each nap, also if it is not rung.
    standby: Option<u32>,
    /// A thread is to stand by for so many naps.
    naps_of_standby: u32,
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
    /// The thread that has marks recorded looks at them itself, because it waits. It tells the thread on watch of those
    /// that it leaves.
    waiter_looks: bool,
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
    /// The thread looks for something to do.
    pub fn wakes(&mut self, index: usize) {
        self.asleep &= !(1 << index);
        if self.standby == Some(index as u32) {
            self.standby = None;
        }
    }

    /// The thread has found nothing to do. Returns whether it stands by: then it naps.
    pub fn sleeps(&mut self, index: usize) -> bool {
        self.asleep |= 1 << index;
        let stands_by = self.lacks_standby();
        if stands_by {
            self.standby = Some(index as u32);
            self.naps_of_standby -= 1;
        }
        stands_by
    }

    /// The thread on watch has seen a function that has not ended. If it is as short as the last ones, a thread stands
    /// by.
    pub fn expects_function(&mut self) {
        let is_short = self.recent_run.is_some_and(|span| span < SHORT_RUN);
        self.naps_of_standby = if is_short { NAPS_OF_STANDBY } else { 0 };
    }

    #[inline]
    fn lacks_standby(&self) -> bool {
        self.standby.is_none() && self.naps_of_standby > 0
    }

    /// No thread finds the watch by itself.
    #[inline]
    fn misses_watch(&self) -> bool {
        self.watch == Watch::Free && self.standby.is_none()
    }

    /// The thread runs a function.
    pub fn runs(&mut self) {
        self.running += 1;
    }

    /// It has run for so long.
    pub fn has_run(&mut self, span: Nanos) {
        self.running -= 1;
        let before = self.recent_run.unwrap_or(Nanos::ZERO);
        self.recent_run = Some(span.max(Nanos(before.0 / 2)));
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

    /// From now on, or no more, the calling thread looks at the marks that it has recorded.
    pub fn waiter_looks(&mut self, looks: bool) {
        self.waiter_looks = looks;
    }

    /// A thread, a function or a future counts on the thread on watch.
    pub fn count_on_watch(&mut self) {
        (self.has_news, self.waiter_looks) = (true, false);
    }

    /// A mark has been recorded, for which a thread, a function or a future may wait.
    pub fn tell_of_mark(&mut self, is_awaited: bool) {
        match (self.waiter_looks, is_awaited) {
            (true, _) => {}
            (false, true) => self.has_news = true,
            (false, false) => self.leave_news(),
        }
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
        let may_call_watcher = match self.watch {
            Watch::Free => false,
            Watch::Kept { is_asleep, .. } => is_asleep & self.has_news,
        };
        may_call_watcher || (self.asleep != 0 && (self.misses_watch() || self.lacks_standby() || has_function()))
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
        if self.asleep != 0 && (has_function || self.misses_watch() || self.lacks_standby()) {
            // One is enough: it rings the next if there is more.
            calls.sleeper = Some(self.call_sleeper());
        }
        if let Some(by) = calls.watcher {
            self.watch = Watch::Kept { by, is_asleep: false };
        }
        calls
    }

    /// Rings a thread that sleeps: the one that stands by only if there is no other.
    fn call_sleeper(&mut self) -> u32 {
        let standby = self.standby.map_or(0, |index| 1 << index);
        let others = self.asleep & !standby;
        let index = if others == 0 { self.asleep } else { others }.trailing_zeros();
        self.asleep &= !(1 << index);
        if others == 0 || self.lacks_standby() {
            // It looks at once: until then no other one is rung to stand by.
            self.standby = Some(index);
        }
        index
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
    fn marks_of_a_thread_that_looks_itself_ring_none_until_others_count_on_the_watch() {
        let mut sleepers = on_watch(false);
        let mut rung_for_mark = |counts_on_watch: bool| {
            sleepers.watcher_sleeps(false, false, false);
            sleepers.waiter_looks(true);
            if counts_on_watch {
                sleepers.count_on_watch();
                sleepers.has_news = false;
            }
            sleepers.tell_of_mark(true);
            sleepers.calls(false).watcher
        };
        assert_eq!(rung_for_mark(false), None);
        assert_eq!(rung_for_mark(true), Some(1));
        sleepers.watcher_sleeps(false, true, false);
        sleepers.tell_of_mark(false);
        assert_eq!(sleepers.calls(false).watcher, None, "it looks soon, and none waits");
        sleepers.tell_of_mark(true);
        assert_eq!(sleepers.calls(false).watcher, Some(1));
    }

    #[test]
    fn other_news_ring_it() {
        let mut sleepers = on_watch(true);
        sleepers.has_news = true;
        assert_eq!(sleepers.calls(false).watcher, Some(1));
        assert_eq!(sleepers.calls(false).watcher, None, "it is awake");
    }

    /// Three threads: one is on watch, and the functions before took so long.
    fn behind_a_run_of(span: Nanos) -> Sleepers {
        let mut sleepers = Sleepers::default();
        assert!(sleepers.keep_watch(1));
        sleepers.runs();
        sleepers.has_run(span);
        for index in [0, 2] {
            assert!(!sleepers.sleeps(index), "no function is expected");
        }
        sleepers.expects_function();
        sleepers
    }

    #[test]
    fn a_thread_is_rung_to_stand_by_and_finds_the_watch_without_being_rung() {
        let mut sleepers = behind_a_run_of(Nanos::ZERO);
        assert_eq!(sleepers.calls(false).sleeper, Some(0), "it is to stand by");
        assert_eq!(sleepers.calls(false).sleeper, None, "one is enough");
        sleepers.wakes(0);
        assert!(sleepers.sleeps(0));
        sleepers.leave_watch();
        assert!(!sleepers.may_call(|| false));
        assert_eq!(sleepers.calls(false).sleeper, None, "it looks by itself");
        assert_eq!(sleepers.calls(true).sleeper, Some(2), "the other one is rung for a function");
        assert_eq!(sleepers.calls(true).sleeper, Some(0), "and it, if there is no other");
        sleepers.wakes(0);
        assert!(sleepers.keep_watch(0));
    }

    #[test]
    fn a_watch_that_is_left_for_a_long_function_is_told_of() {
        let mut sleepers = behind_a_run_of(SHORT_RUN);
        assert_eq!(sleepers.calls(false).sleeper, None, "none stands by");
        sleepers.leave_watch();
        assert_eq!(sleepers.calls(false).sleeper, Some(0));
        sleepers.runs();
        sleepers.has_run(Nanos::ZERO);
        sleepers.wakes(0);
        sleepers.expects_function();
        assert!(sleepers.sleeps(0), "one half as long counts as short");
    }

    #[test]
    fn a_thread_stands_by_for_so_many_naps() {
        let mut sleepers = behind_a_run_of(Nanos::ZERO);
        let naps = (0..=NAPS_OF_STANDBY).take_while(|_| {
            sleepers.wakes(0);
            sleepers.sleeps(0)
        });
        assert_eq!(naps.count() as u32, NAPS_OF_STANDBY);
        sleepers.leave_watch();
        assert_eq!(sleepers.calls(false).sleeper, Some(0), "it naps no more");
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
