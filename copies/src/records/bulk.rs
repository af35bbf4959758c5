//! The streams whose bulk is under way on an engine: each takes turns there.

use std::sync::Mutex;

use hal::locks::lock;
use hal::{Nanos, Stream};

use crate::decide::Others;

/// The time for which a copy keeps its engine in one turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stay {
    /// Of each of its chunks; zero for a copy kernel, which takes no turns.
    Part(Nanos),
    /// Of all of it.
    Whole(Nanos),
}

/// A copy that is counted, and has to be taken out again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UnderWay {
    stream: Stream,
    is_whole: bool,
}

/// The streams with bulk under way on one engine.
#[derive(Debug, Default)]
pub(crate) struct Bulk {
    streams: Mutex<Vec<OfStream>>,
}

#[derive(Debug)]
struct OfStream {
    stream: Stream,
    copies: u32,
    whole_copies: u32,
    /// The longest stays since the stream last had no such copy under way.
    longest: Nanos,
    longest_whole: Nanos,
}

impl Bulk {
    /// Counts a copy that is about to be submitted. Returns the bulk of other streams: where two threads count copies
    /// at the same time, at least one of them finds the other's.
    pub(crate) fn begin(&self, stream: Stream, stay: Stay) -> (UnderWay, Others) {
        let mut streams = lock(&self.streams);
        let place = streams.iter().position(|of| of.stream == stream).unwrap_or_else(|| {
            let (longest, longest_whole) = (Nanos::ZERO, Nanos::ZERO);
            streams.push(OfStream { stream, copies: 0, whole_copies: 0, longest, longest_whole });
            streams.len() - 1
        });
        let own = &mut streams[place];
        own.copies += 1;
        let is_whole = match stay {
            Stay::Part(span) => {
                own.longest = own.longest.max(span);
                false
            }
            Stay::Whole(span) => {
                own.longest = own.longest.max(span);
                own.longest_whole = own.longest_whole.max(span);
                own.whole_copies += 1;
                true
            }
        };
        (UnderWay { stream, is_whole }, others(&streams, stream))
    }

    /// The copy has completed, or does not go.
    pub(crate) fn end(&self, copy: UnderWay) {
        let mut streams = lock(&self.streams);
        let Some(place) = streams.iter().position(|of| of.stream == copy.stream) else { return };
        let own = &mut streams[place];
        own.copies -= 1;
        own.whole_copies -= u32::from(copy.is_whole);
        if own.whole_copies == 0 {
            own.longest_whole = Nanos::ZERO;
        }
        if own.copies == 0 {
            streams.swap_remove(place);
        }
    }

    /// The bulk of all streams but this one.
    pub(crate) fn beside(&self, stream: Stream) -> Others {
        others(&lock(&self.streams), stream)
    }
}

fn others(streams: &[OfStream], stream: Stream) -> Others {
    let others = streams.iter().filter(|of| of.stream != stream);
    others.fold(Others::default(), |all, of| Others {
        streams: all.streams + 1,
        longest: all.longest.max(of.longest),
        whole_streams: all.whole_streams + u64::from(of.whole_copies > 0),
        longest_whole: all.longest_whole.max(of.longest_whole),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Stream = Stream(0x5500);
    const OTHER: Stream = Stream(0x5540);

    fn us(us: u64) -> Nanos {
        Nanos::from_us(us)
    }

    #[test]
    fn a_stream_is_counted_once_while_copies_of_it_are_under_way() {
        let bulk = Bulk::default();
        let (first, seen) = bulk.begin(ONE, Stay::Whole(us(80)));
        assert_eq!(seen, Others::default(), "its own copies are none of others");
        let (second, _) = bulk.begin(ONE, Stay::Whole(us(20)));
        let whole = Others { streams: 1, longest: us(80), whole_streams: 1, longest_whole: us(80) };
        assert_eq!(bulk.beside(OTHER), whole);
        bulk.end(first);
        assert_eq!(bulk.beside(OTHER), whole, "which of them is left is not asked");
        bulk.end(second);
        assert_eq!(bulk.beside(OTHER), Others::default());
    }

    #[test]
    fn chunks_and_whole_copies_are_told_apart() {
        let bulk = Bulk::default();
        let (chunks, _) = bulk.begin(ONE, Stay::Part(us(75)));
        let (whole, seen) = bulk.begin(OTHER, Stay::Whole(us(20)));
        assert_eq!(seen, Others { streams: 1, longest: us(75), ..Others::default() });
        let (behind, seen) = bulk.begin(OTHER, Stay::Part(us(50)));
        assert_eq!(seen.streams, 1);
        let of_other = Others { streams: 1, longest: us(50), whole_streams: 1, longest_whole: us(20) };
        assert_eq!(bulk.beside(ONE), of_other);
        bulk.end(whole);
        assert_eq!(bulk.beside(ONE), Others { whole_streams: 0, longest_whole: Nanos::ZERO, ..of_other });
        [chunks, behind].into_iter().for_each(|copy| bulk.end(copy));
        assert_eq!([bulk.beside(ONE), bulk.beside(OTHER)], [Others::default(); 2]);
    }
}
