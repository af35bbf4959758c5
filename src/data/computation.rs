//! Computations that are being described.
#![allow(unsafe_code)] // kernels and views use memory by its address

use std::sync::Arc;

use graph::{Location, Priority};
use hal::DevicePtr;

use crate::data::arguments::{Rights, Slot, arguments};
use crate::data::claim::Claim;
use crate::data::record::Kept;
use crate::data::right::Place;
use crate::data::store::Store;
use crate::data::submit::Submission;
use crate::task::{Handle, Kernel, Shape, TaskBuilder};
use crate::work::fault::Error;
use crate::work::function::{Function, Launch, More, WorkResult};
use crate::work::lane::Lane;

/// A computation that is being described. [`Computation::submit`] submits it; dropping it does nothing.
#[must_use = "a computation does nothing until it is submitted"]
pub struct Computation<'c> {
    store: &'c Arc<Store>,
    name: &'c str,
    place: Location,
    claims: Vec<Claim>,
    describe: Describe,
    priority: Priority,
    after: Vec<Handle>,
    references: u32,
}

/// The work of a computation, when the addresses are known.
pub(super) enum Describe {
    Launch(Box<dyn FnOnce(Vec<u64>) -> Launch>),
    Host(Box<dyn FnOnce(Vec<u64>) -> Function>),
    /// The use is all that there is.
    Join,
}

impl Describe {
    pub fn kernel(kernel: Kernel, shape: Shape, slots: Vec<Slot>) -> Describe {
        Describe::Launch(Box::new(move |addresses| {
            Launch::own(move |lane| {
                // SAFETY: the caller of `compute` vouches for the kernel; its memory lives as long as this function.
                unsafe { lane.launch(&kernel, &shape, arguments(&slots, &addresses))? };
                Ok(More::Done)
            })
        }))
    }

    pub fn launch(launch: impl FnMut(&mut Lane<'_>, &[DevicePtr]) -> WorkResult<More> + Send + 'static) -> Describe {
        let mut launch = launch;
        Describe::Launch(Box::new(move |addresses| {
            let addresses: Vec<DevicePtr> = addresses.into_iter().map(DevicePtr).collect();
            Launch::own(move |lane| launch(lane, &addresses))
        }))
    }

    pub fn host<R: Rights>(
        elements: Vec<usize>,
        run: impl for<'v> FnOnce(R::Views<'v>) -> WorkResult<()> + Send + 'static,
    ) -> Describe {
        Describe::Host(Box::new(move |addresses| {
            let places = addresses.into_iter().zip(elements);
            let places: Vec<Place> = places.map(|(start, elements)| Place { start, elements }).collect();
            // SAFETY: the memory lives as long as this function, and the graph keeps other users away as the rights of
            // the uses ask for; no two of them are of the same bytes, unless both read.
            Box::new(move || run(unsafe { R::views(&places) }))
        }))
    }
}

impl<'c> Computation<'c> {
    pub(super) fn new(
        store: &'c Arc<Store>,
        name: &'c str,
        place: Location,
        claims: Vec<Claim>,
        describe: Describe,
    ) -> Computation<'c> {
        let (priority, after) = (Priority::LOWEST, Vec::new());
        Computation { store, name, place, claims, describe, priority, after, references: 0 }
    }

    /// Its priority. The computations and transfers before it inherit it.
    pub fn priority(mut self, priority: Priority) -> Computation<'c> {
        self.priority = priority;
        self
    }

    /// It also comes after this task, beside those whose results it uses.
    pub fn after(mut self, task: &Handle) -> Computation<'c> {
        self.after.push(task.clone());
        self
    }

    /// It has a reference, which [`Handle::release`] takes away: until then it does not start.
    pub fn held(mut self) -> Computation<'c> {
        self.references += 1;
        self
    }

    /// Submits it, with the transfers that it needs.
    pub fn submit(self) -> Result<Handle, Error> {
        let Computation { store, name, place, claims, describe, priority, after, references } = self;
        let submission = Submission { store, name, priority, place, claims: &claims, after: &after };
        if place == Location::Host {
            submission.refuse_aliases()?;
        }
        submission.submit(|addresses, keep| {
            let builder = describe.builder(store, name, addresses.to_vec(), keep);
            (0..references).fold(builder, |builder, _| builder.held())
        })
    }
}

impl Describe {
    /// The task, which keeps its memory.
    fn builder<'c>(self, store: &'c Store, name: &'c str, addresses: Vec<u64>, keep: Vec<Kept>) -> TaskBuilder<'c, 'c> {
        match self {
            Describe::Launch(describe) => {
                let mut launch = describe(addresses);
                store.tasks.kernel(name, move |lane: &mut Lane<'_>| {
                    let _keep = &keep;
                    launch.call(lane)
                })
            }
            Describe::Host(describe) => {
                let run = describe(addresses);
                store.tasks.host(name, move || {
                    let ended = run();
                    drop(keep);
                    ended
                })
            }
            Describe::Join => store.tasks.join(name),
        }
    }
}
