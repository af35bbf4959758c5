//! Stream capture: while a stream captures, its operations become nodes of a graph and nothing executes.

use std::collections::BTreeMap;
use std::sync::Arc;

use hal::{CaptureMode, CaptureStatus, Code};

use super::graph::{Graph, Node, Work};
use super::stream::Role;
use super::{Caller, ContextKey, EventKey, Failure, Model, Outcome, StreamKey, handles, slab::Key};

pub(crate) type CaptureKey = Key<Capture>;

/// A running capture.
pub(crate) struct Capture {
    pub(crate) process: usize,
    pub(crate) context: ContextKey,
    origin: StreamKey,
    mode: CaptureMode,
    thread: u64,
    nodes: Vec<Node>,
    /// The last nodes of each stream that takes part.
    frontiers: BTreeMap<StreamKey, Vec<u32>>,
    invalidated: bool,
}

/// The nodes of a capture that an event stands for.
#[derive(Clone, Debug)]
pub(crate) struct CaptureMark {
    capture: CaptureKey,
    frontier: Vec<u32>,
}

impl Model {
    fn active_capture(&mut self, stream: StreamKey) -> Outcome<Option<CaptureKey>> {
        match self.streams[stream].capture {
            Some(key) if self.captures[key].invalidated => Err(Code::STREAM_CAPTURE_INVALIDATED.into()),
            Some(key) => Ok(Some(key)),
            None => self.refuse_implicit(stream).map(|()| None),
        }
    }

    /// Work in the legacy default stream would depend on blocking streams that are capturing.
    fn refuse_implicit(&mut self, stream: StreamKey) -> Outcome<()> {
        if self.captures.len() == 0 || self.streams[stream].role != Role::Legacy {
            return Ok(());
        }
        let context = self.streams[stream].context;
        let blocking = |s: &StreamKey| self.streams.get(*s).is_some_and(|s| s.context == context && s.blocking());
        let spoilt = self.captures.keys_where(|capture| capture.frontiers.keys().any(blocking));
        if self.spoil(&spoilt) { Err(Code::STREAM_CAPTURE_IMPLICIT.into()) } else { Ok(()) }
    }

    /// Adds a node if the stream captures; `false` if the operation is to be executed.
    pub(crate) fn capture_node(&mut self, stream: StreamKey, work: impl FnOnce() -> Work) -> Outcome<bool> {
        let Some(key) = self.active_capture(stream)? else { return Ok(false) };
        let priority = self.streams[stream].priority;
        let capture = &mut self.captures[key];
        let node = capture.nodes.len() as u32;
        let frontier = capture.frontiers.entry(stream).or_default();
        let before = std::mem::replace(frontier, vec![node]);
        capture.nodes.push(Node { work: work(), before, stream, priority });
        Ok(true)
    }

    pub(crate) fn capture_record(&mut self, event: EventKey, stream: StreamKey) -> Outcome<bool> {
        let Some(capture) = self.active_capture(stream)? else { return Ok(false) };
        let frontier = self.captures[capture].frontiers.get(&stream).cloned().unwrap_or_default();
        self.events[event].captured = Some(CaptureMark { capture, frontier });
        Ok(true)
    }

    /// A wait for a captured event pulls the stream into the capture.
    pub(crate) fn capture_wait(&mut self, caller: Caller, event: EventKey, stream: StreamKey) -> Outcome<bool> {
        let own = self.active_capture(stream)?;
        let mark = self.events[event].captured.clone();
        let mark = mark.filter(|mark| self.captures.get(mark.capture).is_some());
        match (own, mark) {
            (None, None) if self.events[event].captured.is_some() => {
                Err(Failure::new(Code::INVALID_VALUE, "the event was last recorded in a capture that has ended"))
            }
            (None, None) => Ok(false),
            (Some(own), None) => {
                if self.events[event].record.is_some() {
                    self.captures[own].invalidated = true;
                    return Err(Code::STREAM_CAPTURE_ISOLATION.into());
                }
                Ok(true)
            }
            (Some(own), Some(mark)) if own != mark.capture => {
                self.captures[own].invalidated = true;
                self.captures[mark.capture].invalidated = true;
                Err(Code::STREAM_CAPTURE_MERGE.into())
            }
            (_, Some(mark)) => self.capture_join(caller, mark, stream).map(|()| true),
        }
    }

    fn capture_join(&mut self, caller: Caller, mark: CaptureMark, stream: StreamKey) -> Outcome<()> {
        if self.streams[stream].role == Role::Legacy {
            self.captures[mark.capture].invalidated = true;
            return Err(Code::STREAM_CAPTURE_IMPLICIT.into());
        }
        debug_assert_eq!(self.captures[mark.capture].process, caller.process);
        self.streams[stream].capture = Some(mark.capture);
        let frontier = self.captures[mark.capture].frontiers.entry(stream).or_default();
        frontier.extend(mark.frontier);
        frontier.sort_unstable();
        frontier.dedup();
        Ok(())
    }

    pub(crate) fn capture_begin(&mut self, caller: Caller, stream: StreamKey, mode: CaptureMode) -> Outcome<()> {
        if self.streams[stream].role == Role::Legacy {
            return Err(Failure::new(Code::STREAM_CAPTURE_UNSUPPORTED, "the legacy default stream cannot capture"));
        }
        if self.streams[stream].capture.is_some() {
            return Err(Failure::new(Code::ILLEGAL_STATE, "the stream captures already"));
        }
        let capture = self.captures.insert(Capture {
            process: caller.process,
            context: self.streams[stream].context,
            origin: stream,
            mode,
            thread: caller.thread,
            nodes: Vec::new(),
            frontiers: BTreeMap::from([(stream, Vec::new())]),
            invalidated: false,
        });
        self.streams[stream].capture = Some(capture);
        Ok(())
    }

    pub(crate) fn capture_end(&mut self, caller: Caller, stream: StreamKey) -> Outcome<hal::Graph> {
        let none = || Failure::new(Code::ILLEGAL_STATE, "the stream does not capture");
        let key = self.streams[stream].capture.ok_or_else(none)?;
        let capture = &self.captures[key];
        if capture.origin != stream {
            return Err(Code::STREAM_CAPTURE_UNMATCHED.into());
        }
        if capture.mode != CaptureMode::Relaxed && capture.thread != caller.thread {
            return Err(Code::STREAM_CAPTURE_WRONG_THREAD.into());
        }
        let capture = self.captures.remove(key).expect("the capture was just looked at");
        for member in capture.frontiers.keys() {
            if let Some(member) = self.streams.get_mut(*member) {
                member.capture = None;
            }
        }
        if capture.invalidated {
            return Err(Code::STREAM_CAPTURE_INVALIDATED.into());
        }
        if !capture.joined() {
            return Err(Code::STREAM_CAPTURE_UNJOINED.into());
        }
        let Capture { process, context, nodes, .. } = capture;
        let graph = Graph { process, context, nodes: Arc::new(nodes) };
        Ok(hal::Graph(self.graphs.insert_as(graph, handles::GRAPH)))
    }

    /// Whether the stream captures. Asking about the legacy default stream while a blocking stream captures is an
    /// error, and leaves the capture alone.
    pub(crate) fn capture_status_of(&self, stream: StreamKey) -> Outcome<CaptureStatus> {
        let context = self.streams[stream].context;
        let blocking = |s: &StreamKey| self.streams.get(*s).is_some_and(|s| s.context == context && s.blocking());
        let legacy = self.streams[stream].role == Role::Legacy;
        if legacy && self.captures.iter().any(|(_, capture)| capture.frontiers.keys().any(blocking)) {
            return Err(Code::STREAM_CAPTURE_IMPLICIT.into());
        }
        Ok(self.capture_status(stream))
    }

    fn capture_status(&self, stream: StreamKey) -> CaptureStatus {
        match self.streams[stream].capture.map(|key| self.captures[key].invalidated) {
            None => CaptureStatus::None,
            Some(false) => CaptureStatus::Active,
            Some(true) => CaptureStatus::Invalidated,
        }
    }

    /// Spoils these captures. Returns whether there are any.
    fn spoil(&mut self, captures: &[CaptureKey]) -> bool {
        captures.iter().for_each(|key| self.captures[*key].invalidated = true);
        !captures.is_empty()
    }

    /// Refuses a call that a capturing stream may not have, and spoils the capture, as the driver does.
    pub(crate) fn refuse_to_capture(&mut self, stream: StreamKey) -> Outcome<()> {
        let Some(key) = self.streams[stream].capture else { return Ok(()) };
        self.captures[key].invalidated = true;
        Err(Code::STREAM_CAPTURE_UNSUPPORTED.into())
    }

    /// The same for a call that waits for the stream, or asks about its work.
    pub(crate) fn refuse_on_capturing(&mut self, stream: StreamKey) -> Outcome<()> {
        self.refuse_to_capture(stream)?;
        self.refuse_implicit(stream)
    }

    /// Refuses a call that waits for all work of the context, whatever the mode of the thread.
    pub(crate) fn refuse_in_capturing(&mut self, context: ContextKey) -> Outcome<()> {
        let spoilt = self.captures.keys_where(|capture| capture.context == context);
        let refused = || Failure::new(Code::STREAM_CAPTURE_UNSUPPORTED, "a stream of the context captures");
        if self.spoil(&spoilt) { Err(refused()) } else { Ok(()) }
    }

    /// Refuses to query an event that was last recorded in a capture, and spoils that capture, as the driver does.
    pub(crate) fn refuse_captured(&mut self, event: EventKey) -> Outcome<()> {
        let Some(mark) = &self.events[event].captured else { return Ok(()) };
        match self.captures.get_mut(mark.capture) {
            Some(capture) => {
                capture.invalidated = true;
                Err(Code::CAPTURED_EVENT.into())
            }
            None => Err(Failure::new(Code::INVALID_VALUE, "the event was last recorded in a capture that has ended")),
        }
    }

    /// Refuses a potentially unsafe call while a capture prohibits it on this thread.
    pub(crate) fn refuse_while_capturing(&mut self, caller: Caller) -> Outcome<()> {
        if self.captures.len() == 0 {
            return Ok(());
        }
        let thread_mode = self.capture_modes.get(&caller.thread).copied().unwrap_or(CaptureMode::Global);
        let prohibits = |capture: &Capture| {
            let own = capture.thread == caller.thread && capture.mode != CaptureMode::Relaxed;
            let applies = match thread_mode {
                CaptureMode::Global => own || capture.mode == CaptureMode::Global,
                CaptureMode::ThreadLocal => own,
                CaptureMode::Relaxed => false,
            };
            capture.process == caller.process && applies
        };
        let spoilt = self.captures.keys_where(prohibits);
        let refused =
            || Failure::new(Code::STREAM_CAPTURE_UNSUPPORTED, "a stream capture under way prohibits this call");
        if self.spoil(&spoilt) { Err(refused()) } else { Ok(()) }
    }

    /// Sets how far captures restrict calls on the caller's thread. Returns the mode before.
    pub(crate) fn exchange_capture_mode(&mut self, caller: Caller, mode: CaptureMode) -> CaptureMode {
        self.capture_modes.insert(caller.thread, mode).unwrap_or(CaptureMode::Global)
    }

    /// A number that no other capture shares, while the stream captures.
    pub(crate) fn capture_id(&self, stream: StreamKey) -> Option<u64> {
        self.streams[stream].capture.map(|key| key.handle(handles::CAPTURE))
    }

    /// Drops the capture of a stream that is destroyed.
    pub(crate) fn abandon_capture(&mut self, stream: StreamKey) {
        let Some(key) = self.streams[stream].capture.take() else { return };
        if self.captures[key].origin != stream {
            self.captures[key].invalidated = true;
            return;
        }
        let capture = self.captures.remove(key).expect("a capturing stream names a live capture");
        for member in capture.frontiers.keys().filter(|member| **member != stream) {
            if let Some(member) = self.streams.get_mut(*member) {
                member.capture = None;
            }
        }
    }
}

impl Capture {
    /// Whether every node leads to the end of the stream that the capture began in.
    fn joined(&self) -> bool {
        let mut reached = vec![false; self.nodes.len()];
        let mut open: Vec<u32> = self.frontiers.get(&self.origin).cloned().unwrap_or_default();
        while let Some(node) = open.pop() {
            if !std::mem::replace(&mut reached[node as usize], true) {
                open.extend(&self.nodes[node as usize].before);
            }
        }
        reached.into_iter().all(|reached| reached)
    }
}
