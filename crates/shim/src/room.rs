//! Room for the program's streams.
//!
//! A context has room for a number of streams. The call that creates one more waits for all work in the context. A
//! program that creates it while one of its kernels waits for a later call would hang, and the layer's own streams use
//! up such room. On an H100 with driver 580, creating the 36th stream of a context waits in a native run, and then the
//! 79th, because the room grows at each wait and does not shrink when streams are destroyed.
//!
//! So the layer makes the room grow once when it opens in a newly created context, before any work is in flight. The
//! program's 65th stream is then the first that waits, instead of its 36th. If a program opens the layer later, as with
//! the C library, the room stays as it is.
//!
//! One case remains: a program with 35 to 64 streams that creates the 65th to 78th while one of its kernels waits for a
//! later call. In a native run its room has grown by then too, and by more than the layer leaves. No call tells how
//! much room is left.

use hal::{Driver, Result, Stream, StreamFlags};

/// Together with the layer's own streams, one more than a context has room for at first.
const STREAMS: usize = 24;

/// Makes room in the calling thread's current context. If a stream cannot be made, the room stays as it is.
pub(crate) fn make(driver: &dyn Driver) {
    let made: Vec<Stream> = hal::beside_captures(driver, || {
        (0..STREAMS).map_while(|_| driver.stream_create(StreamFlags::NON_BLOCKING, 0).ok()).collect()
    });
    for stream in made {
        // An error means that the context is gone, and the stream with it.
        let _ = driver.stream_destroy(stream);
    }
}

/// Gives the default streams of a new context their hardware queues while queues are left. The driver does that at
/// their first use, and behind the layer's streams the legacy one would share a queue with a stream of the program's.
/// Seen on an H100: it then waited for a stream that natively it does not wait for.
pub(crate) fn begin_default_streams(driver: &dyn Driver) -> Result<()> {
    const BYTES: u64 = 4;
    // A context that the program has from elsewhere may have a blocking stream that captures.
    driver.stream_capture_status(Stream::LEGACY)?;
    let memory = driver.mem_alloc(BYTES)?;
    let begun = [Stream::LEGACY, Stream::PER_THREAD].into_iter().try_for_each(|stream| {
        driver.memset_d8_async(memory, 0, BYTES, stream)?;
        driver.stream_synchronize(stream)
    });
    begun.and(driver.mem_free(memory))
}
