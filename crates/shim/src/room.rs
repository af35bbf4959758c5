//! Room for the application's streams.
//!
//! A context has room for a number of streams. Making one more waits for everything in the context, and a program
//! that makes it while one of its kernels waits for a later call would hang. The streams of the layer take up such
//! room. Measured on an H100 with driver 580: natively the 36th stream of a context waits and then the
//! 79th, because the room grows at each wait and does not shrink when streams are destroyed.
//!
//! So the room is made to grow once when the layer opens, before anything is under way. From then on making a stream
//! first waits when the application has 65, in place of 35. One case remains: a program with 35 to 64 streams that
//! makes the 65th to 78th while a kernel of its own waits for a later call. Natively its room has grown by then as
//! well, and by more than the layer leaves. No call tells how much room there is left.

use hal::{Driver, Stream, StreamFlags};

/// With those that the layer keeps these are one more than a context has room for at first.
const STREAMS: usize = 24;

/// Makes room in the calling thread's current context. Where a stream cannot be made there is no more room than before.
pub(crate) fn make(driver: &dyn Driver) {
    let made: Vec<Stream> = hal::beside_captures(driver, || {
        (0..STREAMS).map_while(|_| driver.stream_create(StreamFlags::NON_BLOCKING, 0).ok()).collect()
    });
    for stream in made {
        // An error means that the context is gone, and the stream with it.
        let _ = driver.stream_destroy(stream);
    }
}
