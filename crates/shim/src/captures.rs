//! Stream captures that the program has begun and not ended, as far as hooks have seen.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use hal::locks::lock;
use hal::{Context, Stream};

/// A stream in which a capture began, as far as it is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Captured {
    pub(crate) stream: Stream,
    pub(crate) context: Option<Context>,
    /// The thread that began it, if the stream is one of many with one handle; else 0.
    pub(crate) thread: u64,
}

impl Captured {
    /// Whether both are one stream. Handles of streams that were made differ, also in different contexts.
    fn is(&self, other: &Captured) -> bool {
        let contexts = || self.context.zip(other.context).is_none_or(|(own, others)| own == others);
        let is_same = || self.thread == other.thread && contexts();
        self.stream == other.stream && (!self.stream.is_default() || is_same())
    }
}

/// One entry for each capture.
pub(crate) struct Captures {
    under_way: Mutex<Vec<Captured>>,
    /// Captures that no hook would see.
    unseen: usize,
    count: AtomicUsize,
}

impl Captures {
    /// None are under way. Where no hook sees captures, there may always be one.
    pub(crate) fn new(is_seen: bool) -> Captures {
        let unseen = usize::from(!is_seen);
        Captures { under_way: Mutex::default(), unseen, count: AtomicUsize::new(unseen) }
    }

    /// Whether a capture may be under way in any stream.
    pub(crate) fn is_any(&self) -> bool {
        self.count.load(Ordering::Relaxed) > 0
    }

    /// The program begins one in this stream.
    pub(crate) fn begin(&self, stream: Captured) {
        self.change(|under_way| under_way.push(stream));
    }

    /// It has ended one there.
    pub(crate) fn end(&self, stream: Captured) {
        self.change(|under_way| {
            let place = under_way.iter().position(|known| known.is(&stream));
            place.map(|place| under_way.swap_remove(place));
        });
    }

    /// The stream goes, and with it the captures that were never ended.
    pub(crate) fn forget(&self, stream: Stream) {
        if self.is_any() {
            self.change(|under_way| under_way.retain(|known| known.stream != stream));
        }
    }

    /// The context goes, and with it the captures in its streams.
    pub(crate) fn forget_all(&self, context: Context) {
        if self.is_any() {
            self.change(|under_way| under_way.retain(|known| known.context != Some(context)));
        }
    }

    /// The thread goes, and with it the captures in its default streams.
    pub(crate) fn forget_thread(&self, thread: u64) {
        if self.is_any() {
            self.change(|under_way| under_way.retain(|known| known.thread != thread));
        }
    }

    fn change(&self, change: impl FnOnce(&mut Vec<Captured>)) {
        let mut under_way = lock(&self.under_way);
        change(&mut under_way);
        self.count.store(self.unseen + under_way.len(), Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use softgpu::SoftGpu;

    use super::*;
    use crate::{Start, process};

    fn of(stream: u64, context: u64, thread: u64) -> Captured {
        Captured { stream: Stream(stream), context: Some(Context(context)), thread }
    }

    /// Threads and contexts have default streams of one handle.
    #[test]
    fn the_end_of_a_capture_is_its_own() {
        let captures = Captures::new(true);
        let own = Stream::PER_THREAD.0;
        let all = [of(own, 1, 1), of(own, 2, 2), of(own, 1, 3), of(7, 1, 0)];
        all.into_iter().for_each(|stream| captures.begin(stream));
        captures.end(of(own, 2, 2));
        captures.end(of(own, 2, 2));
        captures.forget_all(Context(2));
        assert_eq!(lock(&captures.under_way).len(), 3, "those of another context");
        captures.forget_thread(3);
        captures.end(of(7, 2, 0));
        assert_eq!(*lock(&captures.under_way), [of(own, 1, 1)], "one stream, with another context current");
        captures.end(of(own, 1, 1));
        assert!(!captures.is_any());
    }

    #[test]
    fn captures_of_streams_that_go_are_over() {
        let captures = Captures::new(true);
        let (first, second) = (of(7, 1, 0), of(8, 1, 0));
        [first, second].into_iter().for_each(|stream| captures.begin(stream));
        captures.end(of(9, 1, 0));
        captures.forget(first.stream);
        assert!(captures.is_any(), "that of the second");
        captures.end(second);
        assert!(!captures.is_any());
        // A second beginning in one stream, which the driver refuses.
        [first, first].into_iter().for_each(|stream| captures.begin(stream));
        captures.end(first);
        assert!(captures.is_any(), "the first goes on");
    }

    #[test]
    fn captures_end_with_their_context() {
        let captures = Captures::new(true);
        [of(Stream::PER_THREAD.0, 1, 1), of(7, 1, 0), of(8, 2, 0)]
            .into_iter()
            .for_each(|stream| captures.begin(stream));
        captures.forget_all(Context(1));
        assert!(captures.is_any());
        captures.forget_all(Context(2));
        assert!(!captures.is_any());
    }

    #[test]
    fn captures_that_no_hook_sees_are_never_over() {
        let captures = Captures::new(false);
        captures.begin(of(7, 1, 0));
        captures.forget(Stream(7));
        captures.end(of(7, 1, 0));
        assert!(captures.is_any());
    }

    /// A process in which no layer is open yet. No other unit test of this crate starts one.
    #[test]
    fn a_stream_that_goes_takes_its_capture_along() {
        let driver = || -> hal::Result<Arc<dyn hal::Driver>> { Ok(Arc::new(SoftGpu::builder().build())) };
        crate::start(Start { driver, deployment: c"preload", calls: Vec::new });
        let process = process::process().unwrap();
        crate::capture_began(Stream(7));
        assert!(process.captures.is_any());
        crate::stream_going(Stream(7));
        assert!(!process.captures.is_any(), "later copies of the process are not taken for parts of a capture");
    }
}
