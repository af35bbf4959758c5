//! The captures that the program has begun and has not ended, as far as hooks have seen.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use hal::locks::lock;
use hal::{Context, Stream};

/// The streams in which captures began, one entry for each, with the streams' contexts as far as they are known.
pub(crate) struct Captures {
    under_way: Mutex<Vec<(Stream, Option<Context>)>>,
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
    pub(crate) fn begin(&self, stream: Stream, context: Option<Context>) {
        self.change(|under_way| under_way.push((stream, context)));
    }

    /// It has ended one there.
    pub(crate) fn end(&self, stream: Stream) {
        self.change(|under_way| {
            let place = under_way.iter().position(|(known, _)| *known == stream);
            place.map(|place| under_way.swap_remove(place));
        });
    }

    /// The stream goes, and with it the captures that were never ended.
    pub(crate) fn forget(&self, stream: Stream) {
        if self.is_any() {
            self.change(|under_way| under_way.retain(|(known, _)| *known != stream));
        }
    }

    /// The context goes, and with it the captures in its streams.
    pub(crate) fn forget_all(&self, context: Context) {
        if self.is_any() {
            self.change(|under_way| under_way.retain(|(_, known)| *known != Some(context)));
        }
    }

    fn change(&self, change: impl FnOnce(&mut Vec<(Stream, Option<Context>)>)) {
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

    #[test]
    fn captures_of_streams_that_go_are_over() {
        let captures = Captures::new(true);
        let (first, second) = (Stream(7), Stream(8));
        [first, second].into_iter().for_each(|stream| captures.begin(stream, None));
        captures.end(Stream(9));
        captures.forget(first);
        assert!(captures.is_any(), "that of the second");
        captures.end(second);
        assert!(!captures.is_any());
        // A second beginning in one stream, which the driver refuses.
        [first, first].into_iter().for_each(|stream| captures.begin(stream, None));
        captures.end(first);
        assert!(captures.is_any(), "the first goes on");
    }

    #[test]
    fn captures_end_with_their_context() {
        let captures = Captures::new(true);
        captures.begin(Stream::PER_THREAD, Some(Context(1)));
        captures.begin(Stream(7), Some(Context(1)));
        captures.begin(Stream(8), Some(Context(2)));
        captures.forget_all(Context(1));
        assert!(captures.is_any());
        captures.forget_all(Context(2));
        assert!(!captures.is_any());
    }

    #[test]
    fn captures_that_no_hook_sees_are_never_over() {
        let captures = Captures::new(false);
        captures.begin(Stream(7), None);
        captures.forget(Stream(7));
        captures.end(Stream(7));
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
