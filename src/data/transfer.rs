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
        let (requests, keep) = (self.requests(), Kept::of(self.record));
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
        let (builder, tasks, bytes_counted) = match self.to {
            Location::Host => {
                (store.tasks.download(&name, launch), &store.counts.downloads, &store.counts.download_bytes)
            }
            Location::Device(_) => {
                (store.tasks.upload(&name, launch), &store.counts.uploads, &store.counts.upload_bytes)
            }
        };
        let builder = self.after.iter().fold(builder, |builder, node| builder.after(&node.0));
        let accesses: Vec<Access> = self.parts.iter().map(|part| self.access(part)).collect();
        let handle = builder.priority(priority).append(held, &accesses)?;
        count(tasks, 1);
        count(bytes_counted, self.parts.iter().map(|part| part.end - part.start).sum());
        Ok(handle)
    }

    /// To the graph it reads: it comes after the last writer, before the next one, and has no order with readers.
    fn access(&self, part: &Range<u64>) -> Access {
        Access { data: self.record.data, range: Some(part.clone()), mode: Mode::Read }
    }

    fn requests(&self) -> Vec<Request> {
        let state = hal::locks::lock(&self.record.state);
        let [host, device] = [Location::Host, crate::data::record::DEVICE].map(|place| state.start(place));
        let (host, device) = host.zip(device).expect("both have memory: one has the bytes, the other was ensured");
        let request = |part: &Range<u64>| {
            let (host, device, bytes) = (host + part.start, DevicePtr(device + part.start), part.end - part.start);
            match self.to {
                Location::Host => Request::dtoh(host as *mut u8, device, bytes),
                Location::Device(_) => Request::htod(device, host as *const u8, bytes),
            }
        };
        self.parts.iter().map(request).collect()
    }
}
