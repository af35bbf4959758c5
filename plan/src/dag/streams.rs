//! The streams of a plan: which exist, which are free, and the computations in them.

use std::collections::VecDeque;

use graph::NewStream;

#[derive(Default)]
struct Stream {
    device: u8,
    /// The computations in it that are not known to have ended, in their order.
    active: Vec<usize>,
    /// The last computation in it.
    last: usize,
}

/// All streams.
pub(super) struct Streams {
    all: Vec<Stream>,
    /// For each device those that are free, the first that became free first.
    free: Vec<VecDeque<u32>>,
    rule: NewStream,
}

impl Streams {
    pub fn new(devices: u8, rule: NewStream) -> Streams {
        Streams { all: Vec::new(), free: vec![VecDeque::new(); usize::from(devices)], rule }
    }

    /// The device of each.
    pub fn devices(&self) -> Vec<u8> {
        self.all.iter().map(|stream| stream.device).collect()
    }

    /// For each device the streams that are busy (GR-31). `is_over` tells computations that have ended when the one at
    /// hand can begin.
    pub fn load(&self, is_over: impl Fn(usize) -> bool) -> Vec<u32> {
        let mut load = vec![0; self.free.len()];
        for stream in &self.all {
            load[usize::from(stream.device)] += u32::from(!stream.active.is_empty() && !is_over(stream.last));
        }
        load
    }

    /// A stream of the device that no parent is in.
    pub fn other(&mut self, device: u8, is_over: impl Fn(usize) -> bool) -> u32 {
        let free = &mut self.free[usize::from(device)];
        if self.rule == NewStream::Reuse {
            if let Some(stream) = free.pop_front() {
                return stream;
            }
            let is_idle = |stream: &Stream| stream.device == device && is_over(stream.last);
            if let Some(stream) = self.all.iter().position(is_idle) {
                return stream as u32;
            }
        }
        self.all.push(Stream { device, ..Stream::default() });
        self.all.len() as u32 - 1
    }

    /// The computation goes behind the others of the stream. Returns its device, and the computation before it.
    pub fn enter(&mut self, stream: u32, computation: usize) {
        let stream = &mut self.all[stream as usize];
        stream.active.push(computation);
        stream.last = computation;
    }

    pub fn device(&self, stream: u32) -> u8 {
        self.all[stream as usize].device
    }

    /// The computations of a stream that are not known to have ended.
    pub fn active(&self, stream: u32) -> &[usize] {
        &self.all[stream as usize].active
    }

    /// The computation has ended. A stream without others is free, unless it is one of those `kept`.
    pub fn end(&mut self, stream: u32, computation: usize, kept: &[u32]) {
        let left = &mut self.all[stream as usize];
        left.active.retain(|other| *other != computation);
        if left.active.is_empty() && !kept.contains(&stream) {
            self.release(stream);
        }
    }

    /// The stream is free.
    pub fn release(&mut self, stream: u32) {
        let left = &mut self.all[stream as usize];
        left.active.clear();
        self.free[usize::from(left.device)].push_back(stream);
    }
}
