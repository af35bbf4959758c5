//! Transfers: tasks that bring bytes of an array to the place where they are used.
#![allow(unsafe_code)] // copies are unsafe

use std::ops::Range;
use std::sync::Arc;

use copies::copy::Request;
use graph::{Access, Location, Mode, Priority};
use hal::DevicePtr;

use crate::data::record::{Kept, Node, Record};
use crate::data::statistics::count;
use crate::dispatch::shared::Held;
use crate::task::Handle;
use crate::work::fault::Error;
use crate::work::function::{More, WorkResult};
use crate::work::lane::Lane;

/// The transfer of some parts of an array.
pub(super) struct Transfer<'t> {
    pub record: &'t Arc<Record>,
    pub from: Location,
    pub to: Location,
    pub parts: Vec<Range<u64>>,
    /// Transfers that bring bytes to where they are copied from.
    pub after: Vec<Node>,
}

impl Transfer<'_> {
    /// Submits it for a task with this name and this priority.
    pub fn append(&self, held: &mut Held<'_>, name: &str, priority: Priority) -> Result<Handle, Error> {
        let store = &self.record.store;
        let name = match self.to {
            Location::Host => format!("{name}: to the host"),
            Location::Device(_) => format!("{name}: to the device"),
        };
        let (requests, keep) = (self.requests(), [self.from, self.to].map(|place| Kept::of(self.record, place)));
        let launch = move |lane: &mut Lane<'_>| -> WorkResult<More> {
            let _keep = &keep;
            for request in &requests {
                // SAFETY: both sides are memory of the record, which lives until this task has ended and with it this
                // function. The graph keeps writers of the bytes away from their source, and all users from their
                // target until this task has ended.
                unsafe { lane.copy(request)? };
            }
            Ok(More::Done)
        };
        let (tasks, counts) = (&store.tasks, &store.counts);
        let (builder, copies, bytes_counted) = match (self.from, self.to) {
            (Location::Device(device), Location::Host) => {
                (tasks.download(&name, launch).on(device), &counts.downloads, &counts.download_bytes)
            }
            (Location::Host, Location::Device(device)) => {
                (tasks.upload(&name, launch).on(device), &counts.uploads, &counts.upload_bytes)
            }
            // By the device that needs them, so that its own order is the only one at the end.
            (_, Location::Device(device)) => {
                let task = tasks.between_devices(&name, launch).on(device);
                (task, &counts.between_devices, &counts.between_device_bytes)
            }
            (Location::Host, Location::Host) => unreachable!("the host has them"),
        };
        let builder = builder.after_all(self.after.iter().map(|node| &node.0));
        let accesses: Vec<Access> = self.parts.iter().map(|part| self.access(part)).collect();
        let handle = builder.in_convoy().priority(priority).append(held, &accesses)?;
        count(copies, 1);
        count(bytes_counted, self.parts.iter().map(|part| part.end - part.start).sum());
        Ok(handle)
    }

    /// To the graph it reads: it comes after the last writer, before the next one, and has no order with readers.
    fn access(&self, part: &Range<u64>) -> Access {
        Access { data: self.record.data, range: Some(part.clone()), mode: Mode::Read }
    }

    fn requests(&self) -> Vec<Request> {
        let state = hal::locks::lock(&self.record.state);
        let [from, to] = [self.from, self.to].map(|place| state.start(place));
        let (from, to) = from.zip(to).expect("both have memory: one has the bytes, the other was ensured");
        let request = |part: &Range<u64>| {
            let (from, to, bytes) = (from + part.start, to + part.start, part.end - part.start);
            match (self.from, self.to) {
                (_, Location::Host) => Request::dtoh(to as *mut u8, DevicePtr(from), bytes),
                (Location::Host, _) => Request::htod(DevicePtr(to), from as *const u8, bytes),
                _ => Request::linear(DevicePtr(to), DevicePtr(from), bytes),
            }
        };
        self.parts.iter().map(request).collect()
    }
}
