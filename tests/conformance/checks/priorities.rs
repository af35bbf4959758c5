//! Stream priorities.

use hal::{PriorityRange, Stream, StreamFlags};

use crate::failure::{Outcome, ensure, same};
use crate::rig::Rig;

/// The range runs from 0 downwards and is not empty.
pub fn range(rig: &Rig) -> Outcome {
    let PriorityRange { least, greatest } = rig.driver().priority_range()?;
    same("the least urgent", &least, &0)?;
    ensure!(greatest < least, "one priority is none: least {least}, greatest {greatest}");
    Ok(())
}

/// A requested priority inside the range is granted.
pub fn inside_the_range(rig: &Rig) -> Outcome {
    let PriorityRange { least, greatest } = rig.driver().priority_range()?;
    for priority in greatest..=least {
        let stream = rig.stream_with(StreamFlags::NON_BLOCKING, priority)?;
        same("the priority", &rig.driver().stream_priority(stream)?, &priority)?;
    }
    Ok(())
}

/// A requested priority outside the range is clamped.
pub fn clamped(rig: &Rig) -> Outcome {
    let PriorityRange { least, greatest } = rig.driver().priority_range()?;
    for (asked, had) in [(greatest - 7, greatest), (i32::MIN, greatest), (least + 1, least), (i32::MAX, least)] {
        let stream = rig.stream_with(StreamFlags::DEFAULT, asked)?;
        same(&format!("asked for {asked}"), &rig.driver().stream_priority(stream)?, &had)?;
    }
    Ok(())
}

/// The default streams have the default priority, the default flags and the current context.
pub fn default_streams(rig: &Rig) -> Outcome {
    for stream in [Stream::DEFAULT, Stream::LEGACY, Stream::PER_THREAD] {
        same(&format!("{stream:?}"), &rig.driver().stream_flags(stream)?, &StreamFlags::DEFAULT)?;
        same(&format!("{stream:?}"), &rig.driver().stream_context(stream)?, &rig.context())?;
        same(&format!("{stream:?}"), &rig.driver().stream_priority(stream)?, &0)?;
    }
    Ok(())
}

/// A priority changes the time at which work runs, but work runs at both ends of the range.
pub fn both_ends_work(rig: &Rig) -> Outcome {
    let PriorityRange { least, greatest } = rig.driver().priority_range()?;
    for priority in [least, greatest] {
        let (stream, mark) = (rig.stream_with(StreamFlags::NON_BLOCKING, priority)?, rig.word());
        rig.mark(stream, &mark, 1)?;
        rig.reaches("a mark", &mark, 1)?;
    }
    Ok(())
}
