//! Stream captures that a task's function leaves open in its lane.

use hal::{CaptureStatus, Driver, Stream};

/// The error of such a task.
pub(crate) const LEFT_OPEN: &str = "its function has begun to capture the stream of its lane, and has not ended that. \
                                    The capture was ended, and its work is lost: end a capture in the function that \
                                    begins it";

/// Ends the capture of a stream, if there is one. Returns whether there was. An error means that the stream cannot be
/// used any more: another stream's capture has it.
pub(crate) fn end(driver: &dyn Driver, stream: Stream) -> hal::Result<bool> {
    // A dead device answers with an error too; its streams tell.
    if driver.stream_capture_status(stream).unwrap_or(CaptureStatus::None) == CaptureStatus::None {
        return Ok(false);
    }
    let ended = driver.stream_end_capture(stream).and_then(|graph| driver.graph_destroy(graph));
    match driver.stream_capture_status(stream) {
        Ok(CaptureStatus::None) => Ok(true),
        _ => ended.map(|()| true),
    }
}
