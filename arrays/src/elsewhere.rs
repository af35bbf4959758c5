//! Computations that run on another device when they fail on their own (SY-18).
//!
//! Their results stay where the computation was submitted, because later tasks have been given their transfers from
//! there. So the inputs go to the other device and the results come back, in the order of the lane.
#![allow(unsafe_code)] // copies are unsafe

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use copies::PriorityStream;
use copies::copy::Request;
use graph::{Location, Mode};
use hal::DevicePtr;
use overtake_memory::heap::Block;
use overtake_tasks::task::{Lane, Launches, More, WorkResult};

use crate::bound::{Bind, Keep};
use crate::claim::Claim;
use crate::memory::ALIGN_BYTES;
use crate::record::{Addresses, Memory};
use crate::resident::Resident;
use crate::store::Store;

/// A launch that goes to other devices when it has failed so often on its own.
pub(super) struct Travels {
    launch: Box<dyn Bind>,
    store: Arc<Store>,
    home: u8,
    /// The addresses of its uses, on its own device.
    addresses: Addresses,
    /// Those uses that have bytes.
    parts: Vec<Part>,
    /// The devices to go to, one after another.
    others: Vec<u8>,
    /// So often it runs again on its own device.
    retries: u32,
    failed: u32,
    /// Kept until the task has ended.
    trips: Vec<Trip>,
}

/// The bytes of a use.
struct Part {
    /// The number of the use.
    number: usize,
    start: u64,
    bytes: u64,
    is_read: bool,
}

/// One run on another device: its stream, and memory. All work of the stream is done when the task has ended.
struct Trip {
    stream: PriorityStream,
    /// The bytes of each part there.
    blocks: Vec<Arc<Resident>>,
    /// The same on the host, where no link joins the devices.
    pinned: Vec<Block>,
}

impl Travels {
    /// A launch that may go to these devices, when it has run again so many times on its own. Its uses read, or write
    /// all of their bytes.
    pub fn new(
        launch: Box<dyn Bind>,
        store: &Arc<Store>,
        claims: &[Claim],
        (home, others): (u8, Vec<u8>),
        retries: u32,
    ) -> Travels {
        let part = |(number, claim): (usize, &Claim)| {
            let bytes = claim.bytes.end - claim.bytes.start;
            Part { number, start: 0, bytes, is_read: claim.mode == Mode::Read }
        };
        // There is nothing at the address of a token.
        let has_bytes = |(_, claim): &(usize, &Claim)| !claim.record.is_token;
        let parts = claims.iter().enumerate().filter(has_bytes).map(part).collect();
        let (addresses, store, trips) = (Addresses::new(), Arc::clone(store), Vec::new());
        Travels { launch, store, home, addresses, parts, others, retries, failed: 0, trips }
    }

    /// Runs it on that device, behind all that is in its lane, and has the lane come after that.
    fn run_on(&mut self, device: u8, lane: &mut Lane<'_>) -> WorkResult<More> {
        let trip = self.prepare(device, lane)?;
        let layer = &self.store.tasks.within().layers()[usize::from(device)];
        let told = catch_unwind(AssertUnwindSafe(|| {
            trip.leave_home(&self.parts, lane)?;
            let _entered = layer.cuda_context().enter()?;
            let mut addresses = self.addresses.clone();
            for (part, block) in self.parts.iter().zip(&trip.blocks) {
                addresses[part.number] = block.start();
            }
            self.launch.rebind(&addresses);
            trip.run(&mut *self.launch, &self.parts, device, lane)
        }));
        // Behind a part of it too: the lane's next point stands for all that it has begun.
        if let Err(error) = lane.own_stream().wait_for(&trip.stream) {
            // Its work may go on in that memory.
            std::mem::forget(trip);
            return Err(error.into());
        }
        let told = told.map(|told| told.and_then(|()| trip.bring_home(&self.parts, lane)));
        self.trips.push(trip);
        told.unwrap_or_else(|panic| resume_unwind(panic))?;
        Ok(More::Done)
    }

    /// Memory and a stream there, and memory of the host where no link joins the devices.
    fn prepare(&self, device: u8, lane: &Lane<'_>) -> WorkResult<Trip> {
        let shared = self.store.tasks.within();
        let is_linked = self.store.places.nearness(Location::Device(self.home), Location::Device(device)) > 0.0;
        let residents = &self.store.residents[usize::from(device)];
        let (mut blocks, mut pinned) = (Vec::new(), Vec::new());
        for part in &self.parts {
            blocks.push(residents.alloc(part.bytes, ALIGN_BYTES)?);
            if !is_linked {
                pinned.push(self.store.pinned.alloc(part.bytes, ALIGN_BYTES, "arrays")?);
            }
        }
        let layer = &shared.layers()[usize::from(device)];
        let _entered = layer.cuda_context().enter()?;
        let stream = layer.quiet_stream(lane.priority())?;
        Ok(Trip { stream, blocks, pinned })
    }
}

impl Trip {
    /// Bytes that go by way of the host begin that in the lane.
    fn leave_home(&self, parts: &[Part], lane: &mut Lane<'_>) -> WorkResult<()> {
        for (part, stop) in parts.iter().zip(&self.pinned).filter(|(part, _)| part.is_read) {
            // SAFETY: the task keeps both sides until it has ended, and has the new block alone.
            unsafe { lane.copy(&Request::dtoh(on_host(stop), DevicePtr(part.start), part.bytes))? };
        }
        Ok(())
    }

    /// Submits the bytes, the work and the way back of the results to the stream there.
    fn run(&self, launch: &mut dyn Bind, parts: &[Part], device: u8, lane: &mut Lane<'_>) -> WorkResult<()> {
        self.stream.wait_for(lane.own_stream())?;
        lane.elsewhere(device, &self.stream, |there| self.run_in(launch, parts, there))
    }

    /// The same in a lane there.
    fn run_in(&self, launch: &mut dyn Bind, parts: &[Part], there: &mut Lane<'_>) -> WorkResult<()> {
        for (at, part) in parts.iter().enumerate().filter(|(_, part)| part.is_read) {
            let (target, source) = (DevicePtr(self.blocks[at].start()), DevicePtr(part.start));
            let request = match self.pinned.get(at) {
                Some(stop) => Request::htod(target, on_host(stop), part.bytes),
                None => Request::linear(target, source, part.bytes),
            };
            // SAFETY: as above.
            unsafe { there.copy(&request)? };
        }
        while launch.launch(there)? == More::Again {
            there.next_turn();
        }
        for (at, part) in parts.iter().enumerate().filter(|(_, part)| !part.is_read) {
            let (target, source) = (DevicePtr(part.start), DevicePtr(self.blocks[at].start()));
            let request = match self.pinned.get(at) {
                Some(stop) => Request::dtoh(on_host(stop), source, part.bytes),
                None => Request::linear(target, source, part.bytes),
            };
            // SAFETY: as above; none but the task uses its results before it has ended.
            unsafe { there.copy(&request)? };
        }
        Ok(())
    }

    /// Results that have come to the host go on to the device that the tasks after it expect them on.
    fn bring_home(&self, parts: &[Part], lane: &mut Lane<'_>) -> WorkResult<()> {
        for (part, stop) in parts.iter().zip(&self.pinned).filter(|(part, _)| !part.is_read) {
            // SAFETY: as above.
            unsafe { lane.copy(&Request::htod(DevicePtr(part.start), on_host(stop), part.bytes))? };
        }
        Ok(())
    }
}

fn on_host(block: &Block) -> *mut u8 {
    block.host_pointer().expect("pinned memory has an address on the host").as_ptr()
}

impl Launches for Travels {
    fn launch(&mut self, lane: &mut Lane<'_>) -> WorkResult<More> {
        let told = match self.failed.checked_sub(self.retries + 1) {
            None => self.launch.launch(lane),
            Some(trip) => self.run_on(self.others[trip as usize], lane),
        };
        self.failed += u32::from(told.is_err());
        told
    }
}

impl Bind for Travels {
    fn bind(&mut self, memory: Memory, keep: Keep) {
        for part in &mut self.parts {
            part.start = memory.addresses[part.number];
        }
        self.addresses.clone_from(&memory.addresses);
        self.launch.bind(memory, keep);
    }

    fn rebind(&mut self, addresses: &[u64]) {
        self.launch.rebind(addresses);
    }
}
