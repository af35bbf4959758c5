//! Events: the work in a stream at some moment, and the time at which it was done.

use hal::{Code, EventFlags};

use super::agenda::Ns;
use super::capture::CaptureMark;
use super::op::OpKind;
use super::stream::Route;
use super::{Caller, ContextKey, EventKey, Failure, Model, OpKey, Outcome, StreamKey, handles};
use crate::planted::Planted;

/// An event.
pub(crate) struct Event {
    pub(crate) process: usize,
    pub(crate) context: ContextKey,
    pub(crate) flags: EventFlags,
    /// The last record. It is done when its operation is gone.
    pub(crate) record: Option<OpKey>,
    /// The time at which the last record was done.
    pub(crate) done_at: Option<Ns>,
    /// Set if the last record was made inside a capture.
    pub(crate) captured: Option<CaptureMark>,
}

impl Model {
    pub(crate) fn event_create(&mut self, caller: Caller, flags: EventFlags) -> Outcome<hal::Event> {
        let context = self.current(caller)?;
        if flags.0 & !7 != 0 || flags.0 & 6 == 4 {
            return Err(Failure::new(Code::INVALID_VALUE, format!("event flags {:#x} are unknown", flags.0)));
        }
        let process = caller.process;
        let event = Event { process, context, flags, record: None, done_at: None, captured: None };
        Ok(hal::Event(self.events.insert_as(event, handles::EVENT)))
    }

    /// The event that a handle names for the caller.
    pub(crate) fn event(&self, caller: Caller, handle: hal::Event) -> Outcome<EventKey> {
        let invalid = || Failure::new(Code::INVALID_HANDLE, format!("{handle:?} is no event of this process"));
        let key = self.events.key(handle.0, handles::EVENT).ok_or_else(invalid)?;
        let event = self.events.get(key).filter(|event| event.process == caller.process).ok_or_else(invalid)?;
        self.contexts[event.context].healthy()?;
        Ok(key)
    }

    /// Whether the event is of another device than the stream.
    pub(crate) fn is_across(&self, event: EventKey, stream: StreamKey) -> bool {
        let device = |context: ContextKey| self.contexts[context].device;
        device(self.events[event].context) != device(self.streams[stream].context)
    }

    pub(crate) fn event_destroy(&mut self, caller: Caller, handle: hal::Event) -> Outcome<()> {
        let key = self.event(caller, handle)?;
        self.events.remove(key);
        Ok(())
    }

    /// Records an event in a stream.
    pub(crate) fn event_record(&mut self, caller: Caller, event: EventKey, stream: StreamKey) -> Outcome<()> {
        if self.events[event].context != self.streams[stream].context {
            return Err(Failure::new(Code::INVALID_HANDLE, "the event and the stream are of different contexts"));
        }
        if self.capture_record(event, stream)? {
            return Ok(());
        }
        self.counts.event_records += 1;
        let op = self.submit(stream, caller.at, Route::None, OpKind::Record(event));
        let state = &mut self.events[event];
        (state.record, state.done_at, state.captured) = (Some(op), None, None);
        Ok(())
    }

    /// A record is done.
    pub(crate) fn event_recorded(&mut self, event: EventKey, op: OpKey) {
        let now = self.now;
        if let Some(event) = self.events.get_mut(event).filter(|event| event.record == Some(op)) {
            event.done_at = Some(now);
        }
    }

    /// Later work in the stream waits for the event.
    pub(crate) fn event_wait(&mut self, caller: Caller, event: EventKey, stream: StreamKey) -> Outcome<()> {
        if self.capture_wait(caller, event, stream)? {
            return Ok(());
        }
        self.counts.event_waits += 1;
        let on = self.events[event].record.filter(|_| !self.is_planted(Planted::EventWaitIgnored));
        if let Some(on) = on.filter(|&on| self.ops.get(on).is_some()) {
            self.submit_after(stream, caller.at, Route::None, OpKind::Join, Some(on));
        }
        Ok(())
    }

    pub(crate) fn event_done(&self, event: EventKey) -> bool {
        self.events.get(event).and_then(|event| event.record).is_none_or(|op| self.ops.get(op).is_none())
    }

    /// A call waits for the event.
    pub(crate) fn event_awaited(&mut self, event: EventKey) {
        let blocks = self.events[event].flags.0 & EventFlags::BLOCKING_SYNC.0 != 0;
        let counts = &mut self.counts;
        *if blocks { &mut counts.blocking_event_waits } else { &mut counts.spinning_event_waits } += 1;
    }

    /// Whether the work of the last record is done, as the application may ask.
    pub(crate) fn event_query(&mut self, caller: Caller, event: EventKey) -> Outcome<bool> {
        self.refuse_captured(event)?;
        self.refuse_while_capturing(caller)?;
        Ok(self.event_done(event))
    }

    pub(crate) fn event_elapsed_ms(&mut self, start: EventKey, end: EventKey) -> Outcome<f32> {
        let mut times = [0; 2];
        for (time, key) in times.iter_mut().zip([start, end]) {
            let event = &self.events[key];
            if event.flags.0 & EventFlags::DISABLE_TIMING.0 != 0 || event.record.is_none() {
                return Err(Failure::new(Code::INVALID_HANDLE, "an event without timing, or never recorded"));
            }
            self.refuse_captured(key)?;
            if !self.event_done(key) {
                return Err(Code::NOT_READY.into());
            }
            *time = self.events[key].done_at.unwrap_or(0);
        }
        Ok((times[1] as f64 - times[0] as f64) as f32 / 1e6)
    }
}
