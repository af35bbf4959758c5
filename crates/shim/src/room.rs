//! Room for the program's streams.
//!
//! A context has room for a number of streams. The call that makes one more waits for all work in the context. A
//! program that makes it while one of its kernels waits for a later call would hang, and the layer's streams take up
//! such room. Measured on an H100 with driver 580: natively the 36th stream of a context waits and then the 79th,
//! because the room grows at each wait and does not shrink when streams are destroyed.
//!
//! So the layer makes the room grow once when it opens in a context that has just been made, before any work is under
//! way. After that the program's 65th stream is the first that waits, and not its 36th. Where a program asks for the
//! layer later, as with the C library, the room stays as it is.
//!
//! One case remains: a program with 35 to 64 streams that makes the 65th to 78th while a kernel of its own waits for a
//! later call. Natively its room has grown by then as well, and by more than the layer leaves. No call tells how much
//! room is left.

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
