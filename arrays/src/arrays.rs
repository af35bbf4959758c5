//! The entry point: a set of arrays.
#![allow(unsafe_code)] // a kernel uses memory by its address; the caller vouches for it

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytemuck::Pod;
use graph::Location;
use hal::DevicePtr;
use overtake_memory::buffer::PinnedBuffer;
use overtake_tasks::dispatch::Dispatcher;
use overtake_tasks::task::{Error, Kernel, Lane, More, Shape, Tasks, WorkResult};

use crate::arguments::{HostUses, KernelArguments, Rights};
use crate::array::Array;
use crate::computation::{Computation, Describe, Where};
use crate::memory::HostMemory;
use crate::options::ArrayOptions;
use crate::record::{Adopted, Record};
use crate::statistics::DataStatistics;
use crate::store::Store;
use crate::times::Measured;

/// A set of arrays, and the computations that use them. Clones are the same set.
///
/// Dropping the last clone waits for the computations and transfers that can end. Those that only a caller could start,
/// by [`Handle::release`] or by dropping a guard, fail. Adopted memory then contains its results. In a
/// task's function dropping does not wait. [`Arrays::finish`] does the same, and returns errors, which dropping only
/// logs.
///
/// [`Handle::release`]: overtake_tasks::task::Handle::release
#[derive(Clone)]
pub struct Arrays {
    pub(super) store: Arc<Store>,
    /// None for those of a section, which waits for nothing.
    door: Option<Arc<Door>>,
}

/// The part that clones of `Arrays` share, and arrays do not.
struct Door {
    store: Arc<Store>,
    /// No clone is left, and its end has been told.
    has_finished: bool,
}

impl Drop for Door {
    fn drop(&mut self) {
        if !self.has_finished && !self.store.is_inside() {
            log_end(self.store.drain());
        }
    }
}

fn log_end(ended: Result<(), Error>) {
    match ended {
        Ok(()) | Err(Error::Forked) => {}
        Err(error) => log::warn!("arrays have not ended well, and adopted memory may lack results: {error}"),
    }
}

impl Arrays {
    /// Arrays on the host and on the devices of this dispatcher.
    pub fn open(dispatcher: &Dispatcher, options: ArrayOptions) -> Result<Arrays, Error> {
        Arrays::of(Tasks::new(dispatcher), options)
    }

    /// The same, with computations and transfers as tasks of this set.
    pub fn of(set: Tasks, options: ArrayOptions) -> Result<Arrays, Error> {
        set.within().may_enter()?;
        let store = Arc::new(Store::open(set, &options)?);
        let door = Door { store: Arc::clone(&store), has_finished: false };
        Ok(Arrays { door: Some(Arc::new(door)), store })
    }

    /// Those of a section.
    pub(super) fn inner(store: Store) -> Arrays {
        Arrays { store: Arc::new(store), door: None }
    }

    /// Ends the set, as dropping the last clone does, and returns the first error: of a computation whose results
    /// should be in adopted memory and are lost, of a copy there, of an access that keeps results from there and whose
    /// elements the calling thread has asked for last, or of a task that does not end. All other results are there
    /// nevertheless. Clones remain usable, but their tasks that only a caller could start have failed, and so have
    /// accesses that had not had their elements and that others waited for. It does nothing for the arrays of a
    /// section, which end with the section. It is refused in a task's function.
    pub fn finish(mut self) -> Result<(), Error> {
        self.end()
    }

    /// The same as dropping the last clone does it, though others may live.
    pub(crate) fn end_and_log(&mut self) {
        if !self.store.is_inside() {
            log_end(self.end());
        }
    }

    pub(crate) fn end(&mut self) -> Result<(), Error> {
        let Some(door) = &mut self.door else { return Ok(()) };
        let ended = door.store.drain();
        if let Some(last) = Arc::get_mut(door) {
            last.has_finished = true;
        }
        ended
    }

    /// An array that has not been written. It has no memory yet.
    pub fn array<T: Pod>(&self, shape: &[usize]) -> Result<Array<T>, Error> {
        Array::new(&self.store, shape, None)
    }

    /// A token: an array without elements or memory, for an order that concerns something other than memory, such as a
    /// file or a library. Computations use it like any array: those that `read` it are not ordered with each other, and
    /// one that writes comes between them. It counts as written. A function gets an empty slice for it, or an address
    /// that must not be used, and a kernel no argument. It cannot be reduced to, or lent to a section.
    ///
    /// ```
    /// # use overtake::{Options, Overtake, data::{ArrayOptions, Arrays}, dispatch::{DispatchOptions, Dispatcher}};
    /// # use std::sync::{Arc, Mutex};
    /// # let driver: Arc<dyn overtake::hal::Driver> = Arc::new(softgpu::SoftGpu::builder().build());
    /// # let overtake = Arc::new(Overtake::open(&driver, overtake::hal::Device(0), Options::default())?);
    /// # let dispatcher = Dispatcher::open(&overtake, DispatchOptions::default())?;
    /// use overtake::data::{read, write};
    /// let (arrays, lines) = (Arrays::open(&dispatcher, ArrayOptions::default())?, Arc::new(Mutex::new(Vec::new())));
    /// let log = arrays.token()?;
    /// for number in 0..3 {
    ///     let lines = Arc::clone(&lines);
    ///     let append = move |(_,): (&mut [u8],)| Ok(lines.lock().unwrap().push(number));
    ///     arrays.host("append", (write(&log),), append).submit()?;
    /// }
    /// arrays.host("look", (read(&log),), |_| Ok(())).submit()?.wait()?;
    /// assert_eq!(*lines.lock().unwrap(), [0, 1, 2]);
    /// # Ok::<(), overtake::task::Error>(())
    /// ```
    pub fn token(&self) -> Result<Array<u8>, Error> {
        Ok(Array::of(Record::token(&self.store)?, vec![0]))
    }

    /// A one-dimensional array with a copy of these contents.
    pub fn array_of<T: Pod>(&self, contents: &[T]) -> Result<Array<T>, Error> {
        let array = self.array(&[contents.len()])?;
        array.overwrite()?.copy_from_slice(contents);
        Ok(array)
    }

    /// A one-dimensional array in this memory, with its contents. [`Array::release`] returns the memory.
    pub fn adopt<T: Pod + Send + Sync>(&self, memory: PinnedBuffer<T>) -> Result<Array<T>, Error> {
        let shape = [memory.len()];
        Array::new(&self.store, &shape, Some(Adopted::Host(HostMemory::lent(memory))))
    }

    /// A computation by a kernel, on one of the devices on which it is loaded. `arguments` is a tuple of uses
    /// ([`crate::read`] and the like) and numbers, in the kernel's order. The kernel gets the address of the
    /// first element of each use.
    ///
    /// # Safety
    /// With these arguments and this shape, the kernel accesses only the elements of the uses, and only as they say.
    pub unsafe fn compute<'c>(
        &'c self,
        name: &'c str,
        kernel: &Kernel,
        shape: Shape,
        arguments: impl KernelArguments,
    ) -> Computation<'c> {
        let (claims, packed) = (arguments.claims(), arguments.packed());
        let among = Where::Chosen(kernel.devices());
        let describe = Describe::kernel(kernel.clone(), shape, packed);
        Computation::new(&self.store, name, among, claims, describe).measured_as(kernel.name())
    }

    /// A computation by a function that submits device work to the lane, such as library calls. It gets the address of
    /// the first element of each use; [`Lane::device`] says which device was chosen.
    pub fn launch<'c>(
        &'c self,
        name: &'c str,
        uses: impl KernelArguments,
        launch: impl FnMut(&mut Lane<'_>, &[DevicePtr]) -> WorkResult<More> + Send + 'static,
    ) -> Computation<'c> {
        Computation::new(&self.store, name, Where::Chosen(u8::MAX), uses.claims(), Describe::launch(launch))
    }

    /// A computation on the host, run by a worker thread of the dispatcher. `uses` is a tuple of uses, and `run` gets a
    /// tuple with a slice for each of them, `&[T]` or `&mut [T]`.
    pub fn host<'c, U: HostUses>(
        &'c self,
        name: &'c str,
        uses: U,
        run: impl for<'v> FnOnce(<U::Rights as Rights>::Views<'v>) -> WorkResult<()> + Send + 'static,
    ) -> Computation<'c> {
        let describe = Describe::host::<U::Rights>(uses.elements(), run);
        Computation::new(&self.store, name, Where::At(Location::Host), uses.claims(), describe)
    }

    /// The device that a computation with these uses would get now, for work that is not a computation, such as the
    /// replay of a template ([`Replay::on`]). It transfers nothing, and counts as a turn for round-robin
    /// selection.
    ///
    /// [`Replay::on`]: overtake_tasks::task::Replay::on
    pub fn choose(&self, uses: impl KernelArguments) -> Result<u8, Error> {
        self.store.choose(u8::MAX, &uses.claims())
    }

    /// Waits until all computations and transfers have ended, including those that open guards hold back. Functions of
    /// tasks must not call this, nor may a thread with an open guard that computations wait for.
    pub fn wait(&self) -> Result<(), Error> {
        self.store.tasks.wait()
    }

    /// The same with a timeout in the host's time. Returns `None` if it expires.
    pub fn wait_for(&self, span: Duration) -> Result<Option<()>, Error> {
        self.store.tasks.wait_for(span)
    }

    /// The counters so far.
    #[must_use]
    pub fn statistics(&self) -> DataStatistics {
        match self.store.may_enter() {
            Ok(()) => *hal::locks::lock(&self.store.counts),
            Err(_) => DataStatistics::default(),
        }
    }

    /// The measured times of device computations that have ended, by kernel, bytes and device, if
    /// [`ArrayOptions::measures`] or the selection asks for them. They are kept for the 1024 kernels and sizes measured
    /// last, and for up to as many before them.
    #[must_use]
    pub fn times(&self) -> Vec<Measured> {
        let times = self.store.times.as_ref().filter(|_| self.store.may_enter().is_ok());
        times.map(|times| times.all()).unwrap_or_default()
    }

    /// The first failure of a computation or a transfer.
    #[must_use]
    pub fn failure(&self) -> Option<Arc<overtake_tasks::task::Fault>> {
        self.store.tasks.failure()
    }
}

impl fmt::Debug for Arrays {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Arrays").field("statistics", &self.statistics()).finish_non_exhaustive()
    }
}
