//! The captures that the program has begun and has not ended, as far as hooks have seen.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use hal::Stream;
use hal::locks::lock;

/// The streams in which captures began, one entry for each.
pub(crate) struct Captures {
    under_way: Mutex<Vec<Stream>>,
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
    pub(crate) fn begin(&self, stream: Stream) {
        self.change(|under_way| under_way.push(stream));
    }

    /// It has ended one there.
    pub(crate) fn end(&self, stream: Stream) {
        self.change(|under_way| {
            let place = under_way.iter().position(|known| *known == stream);
            place.map(|place| under_way.swap_remove(place));
        });
    }

    /// The stream goes, and with it the captures that were never ended.
    pub(crate) fn forget(&self, stream: Stream) {
        if self.is_any() {
            self.change(|under_way| under_way.retain(|known| *known != stream));
        }
    }

    fn change(&self, change: impl FnOnce(&mut Vec<Stream>)) {
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
        [first, second].into_iter().for_each(|stream| captures.begin(stream));
        captures.end(Stream(9));
        captures.forget(first);
        assert!(captures.is_any(), "that of the second");
        captures.end(second);
        assert!(!captures.is_any());
        // A second beginning in one stream, which the driver refuses.
        [first, first].into_iter().for_each(|stream| captures.begin(stream));
        captures.end(first);
        assert!(captures.is_any(), "the first goes on");
    }

    #[test]
    fn captures_that_no_hook_sees_are_never_over() {
        let captures = Captures::new(false);
        captures.begin(Stream(7));
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
