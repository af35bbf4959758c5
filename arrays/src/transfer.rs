//! Transfers: tasks that copy bytes of an array to where they are used.
#![allow(unsafe_code)] // copies are unsafe

use std::ops::Range;
use std::sync::Arc;

use copies::copy::Request;
use graph::{Access, Location, Mode, Priority};
use hal::DevicePtr;
use overtake_tasks::task::{Error, Handle, Lane, More, WorkResult};
use overtake_tasks::within::Held;

use crate::record::{Kept, Node, Record};
use crate::statistics::DataStatistics;

/// The counts of one way: copies and bytes.
type Counts = fn(&mut DataStatistics) -> (&mut u64, &mut u64);

/// The transfer of some parts of an array.
pub(super) struct Transfer<'t> {
    pub record: &'t Arc<Record>,
    pub from: Location,
    pub to: Location,
    pub parts: Vec<Range<u64>>,
    /// The tasks that write the bytes which are copied, or bring them to where they are copied from.
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
        let tasks = &store.tasks;
        let (builder, counts): (_, Counts) = match (self.from, self.to) {
            (Location::Device(device), Location::Host) => {
                (tasks.download(&name, launch).on(device), |all| (&mut all.downloads, &mut all.download_bytes))
            }
            (Location::Host, Location::Device(device)) => {
                (tasks.upload(&name, launch).on(device), |all| (&mut all.uploads, &mut all.upload_bytes))
            }
            // By the device that has them. The call takes half as long there as on the other one, a copy behind the
            // work that has made the bytes waits for no other device, and several copies are joined at once.
            (Location::Device(device), Location::Device(_)) => {
                let task = tasks.between_devices(&name, launch).on(device);
                (task, |all| (&mut all.between_devices, &mut all.between_device_bytes))
            }
            (Location::Host, Location::Host) => unreachable!("the host has them"),
        };
        let builder = builder.after(self.after.iter().map(|node| &node.0));
        let accesses: Vec<Access> = self.parts.iter().map(|part| self.access(part)).collect();
        let handle = builder.in_copy_strand().priority(priority).append_in(held, &accesses)?;
        let mut all = hal::locks::lock(&store.counts);
        let (copies, bytes) = counts(&mut all);
        *copies += 1;
        *bytes += self.parts.iter().map(|part| part.end - part.start).sum::<u64>();
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

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use contexts::CudaContext;
    use copies::{Options, Overtake};
    use hal::Device;
    use overtake_tasks::dispatch::{DispatchOptions, Dispatcher};
    use softgpu::SoftGpu;

    use super::*;
    use crate::{ArrayOptions, Arrays, discard, read};

    /// Bytes go to another device in the stream of the kernel that has written them, with one lane on each device.
    #[test]
    fn bytes_leave_a_device_in_its_own_stream() {
        let gpu = Arc::new(SoftGpu::builder().devices(2).trace(true).build());
        let driver: Arc<dyn hal::Driver> = Arc::<SoftGpu>::clone(&gpu);
        let layer = |device: i32| {
            let context = CudaContext::primary(&driver, Device(device)).unwrap();
            Arc::new(Overtake::open_in(&context, Options::default()).unwrap())
        };
        let options = DispatchOptions { lanes: 1, ..DispatchOptions::default() };
        let dispatcher = Dispatcher::open_on(&[layer(0), layer(1)], options).unwrap();
        let arrays = Arrays::open(&dispatcher, ArrayOptions::default()).unwrap();
        let array = arrays.array::<u32>(&[1 << 10]).unwrap();
        // Without the copies by which the layers have looked at their devices.
        drop(gpu.take_trace());
        let streams = Arc::new(Mutex::new(Vec::new()));
        let notes = || {
            let streams = Arc::clone(&streams);
            move |lane: &mut Lane<'_>, _: &[DevicePtr]| {
                hal::locks::lock(&streams).push(lane.stream());
                Ok(More::Done)
            }
        };
        arrays.launch("writes", (discard(&array),), notes()).on(0).submit().unwrap();
        arrays.launch("reads", (read(&array),), notes()).on(1).submit().unwrap();
        arrays.wait().unwrap();
        let copies: Vec<_> = gpu.take_trace().into_iter().filter(|entry| entry.what.starts_with("copy of")).collect();
        let of_copies: Vec<_> = copies.iter().map(|copy| copy.stream).collect();
        assert_eq!(of_copies, [hal::locks::lock(&streams)[0]], "{copies:?}");
    }
}
