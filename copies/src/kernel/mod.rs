//! The host side of the copy kernel: loads it, and launches it on descriptors.
//!
//! nvcc compiles `copy.cu` to `copy.ptx`, and the driver compiles the PTX when it loads it. If the driver is too old
//! for it, loading fails and the copy engine makes all copies.
#![allow(unsafe_code)] // a launch is unsafe: the parameters are described here, next to their C declarations

pub(crate) mod handshake;

use std::ffi::c_void;
use std::sync::{Arc, Mutex};

use channels::{Adder, Shape};
use hal::{DevicePtr, Driver, Function, Launch, Module, Nanos, Result, Stream, StreamFlags};

use hal::locks::lock;
use handshake::Handshake;
pub use options::{BLOCK_WARPS_MAX, Workers};

/// The PTX of `copy.cu`.
const COPY_PTX: &str = include_str!("copy.ptx");

/// The version of its PTX, and the CUDA that brought it.
#[doc(hidden)] // for the command
pub const NEEDS: &str = "PTX 8.1 of CUDA 12.1 (driver 530)";

/// Loads the kernel into the current context, and drops it.
#[doc(hidden)] // for the command
pub fn check(driver: &Arc<dyn Driver>) -> Result<()> {
    CopyKernel::load(driver).map(drop)
}

/// Descriptors that fit one launch by value; `Inline` in `copy.cu`.
pub(crate) const INLINE_DESCRIPTORS: usize = 8;

/// Descriptors that fit one guarded launch by value; `InlineMany` in `copy.cu`.
pub(crate) const GUARDED_DESCRIPTORS: usize = 64;

/// Threads of a warp.
const WARP_THREADS: u32 = 32;

/// Launches that may be in flight at once before a mirror slot is used again. Launches with one slot share a mirror
/// word, so there are more slots than launches in a device's queues.
const SLOTS: u64 = 4096;
const SLOT_BYTES: u64 = 256;

/// `Descriptor` in `copy.cu`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Descriptor {
    target: u64,
    source: u64,
    width_bytes: u64,
    rows: u64,
    target_pitch_bytes: u64,
    source_pitch_bytes: u64,
    kind: u32,
    value: u32,
    reserved: u64,
}

impl Descriptor {
    /// A copy of one or two dimensions.
    pub(crate) fn copy(shape: &Shape) -> Descriptor {
        debug_assert_eq!(shape.depth, 1, "boxes are cut into slices first");
        Descriptor {
            target: shape.target.address,
            source: shape.source.address,
            width_bytes: shape.width_bytes,
            rows: shape.rows,
            target_pitch_bytes: shape.target.row_pitch_bytes,
            source_pitch_bytes: shape.source.row_pitch_bytes,
            ..Descriptor::default()
        }
    }
}

/// `Gate` in `gate.cuh`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Gate {
    host: u64,
    mirror: u64,
    finished: u64,
    wait_ns_max: u64,
    lift: u64,
}

fn block(workers: Workers) -> [u32; 3] {
    assert!((1..=BLOCK_WARPS_MAX).contains(&workers.warps), "a block has 1 to {BLOCK_WARPS_MAX} warps");
    [workers.warps * WARP_THREADS, 1, 1]
}

/// A word that the device sees and a launch yields to, with the longest wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Yield {
    /// The word; the kernel stands still while it is not 0.
    pub(crate) word: DevicePtr,
    /// The word of the copy itself, if it has one ([`semaphores::Bank::lift_address`]). While it is not 0, the word of
    /// a higher priority counts in place of the first.
    pub(crate) lift: Option<DevicePtr>,
    /// The bound of all waits of one warp together.
    pub(crate) wait_max: Nanos,
}

/// The terms of a launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    pub(crate) workers: Workers,
    /// The word that it yields to, if it does. One more block mirrors that.
    pub(crate) yields: Option<Yield>,
    /// The words by which it asks the host whether to copy, if it is guarded.
    pub(crate) handshake: Option<Handshake>,
    pub(crate) stream: Stream,
}

/// The descriptors, padded for a launch that takes them by value.
fn table<const COUNT: usize>(descriptors: &[Descriptor]) -> [Descriptor; COUNT] {
    assert!(descriptors.len() <= COUNT, "a launch takes {COUNT} descriptors");
    let mut table = [Descriptor::default(); COUNT];
    table[..descriptors.len()].copy_from_slice(descriptors);
    table
}

/// The loaded kernels of one context.
pub(crate) struct CopyKernel {
    driver: Arc<dyn Driver>,
    module: Module,
    copy: Function,
    guarded: Function,
    add: Function,
    slots: DevicePtr,
    next_slot: Mutex<u64>,
}

impl CopyKernel {
    /// Loads the kernels into the current context.
    pub(crate) fn load(driver: &Arc<dyn Driver>) -> Result<CopyKernel> {
        let module = driver.module_load(COPY_PTX.as_bytes())?;
        let parts = || -> Result<([Function; 3], DevicePtr)> {
            let copy = driver.module_function(module, "overtake_copy")?;
            let guarded = driver.module_function(module, "overtake_copy_guarded")?;
            let add = driver.module_function(module, "overtake_add")?;
            Ok(([copy, guarded, add], driver.mem_alloc(SLOTS * SLOT_BYTES)?))
        };
        let ([copy, guarded, add], slots) = parts().inspect_err(|_| drop(driver.module_unload(module)))?;
        let kernel =
            CopyKernel { driver: Arc::clone(driver), module, copy, guarded, add, slots, next_slot: Mutex::new(0) };
        kernel.warm_up()?;
        Ok(kernel)
    }

    /// Launches each kernel once, except those that carriers try out. If the driver loads modules lazily, a first
    /// launch may wait for all work in the context; later a stream of ours may wait for a word there, and an
    /// asynchronous copy must not wait. The launches go in a stream that is then destroyed. The per-thread default
    /// stream would stay, and take up room that the application's streams need.
    fn warm_up(&self) -> Result<()> {
        let stream = self.driver.stream_create(StreamFlags::NON_BLOCKING, 0)?;
        let launched = self.launch_each(stream).and_then(|()| self.driver.stream_synchronize(stream));
        launched.and(self.driver.stream_destroy(stream))
    }

    fn launch_each(&self, stream: Stream) -> Result<()> {
        self.driver.memset_d8_async(self.slots, 0, SLOTS * SLOT_BYTES, stream)?;
        self.add(stream, self.slots, 0)?;
        self.launch_nothing(stream)
    }

    /// Launches a kernel that copies nothing.
    pub(crate) fn launch_nothing(&self, stream: Stream) -> Result<()> {
        let terms = Terms { workers: Workers { blocks: 1, warps: 1 }, yields: None, handshake: None, stream };
        // SAFETY: there are no ranges and no words.
        unsafe { self.launch(&[], terms) }
    }

    /// Launches a copy of up to [`INLINE_DESCRIPTORS`] descriptors, and with a guard of [`GUARDED_DESCRIPTORS`].
    ///
    /// # Safety
    /// Every range of the descriptors is visible to the device and stays valid until the launch has completed; the
    /// words of the handshake live as long.
    pub(crate) unsafe fn launch(&self, descriptors: &[Descriptor], terms: Terms) -> Result<()> {
        let mut count = descriptors.len() as u32;
        let count = (&raw mut count).cast();
        // SAFETY: `overtake_copy` declares an `Inline` of 8 descriptors, `overtake_copy_guarded` an `InlineMany` of 64,
        // and both a u32; the caller vouches for ranges and words.
        unsafe {
            match terms.handshake {
                None => {
                    let mut table: [_; INLINE_DESCRIPTORS] = table(descriptors);
                    self.launch_as(self.copy, [table.as_mut_ptr().cast(), count], terms)
                }
                Some(_) => {
                    let mut table: [_; GUARDED_DESCRIPTORS] = table(descriptors);
                    self.launch_as(self.guarded, [table.as_mut_ptr().cast(), count], terms)
                }
            }
        }
    }

    /// Launches a kernel of the layer's. Once a guarded one has all its multiprocessors, it asks the host whether to
    /// copy.
    ///
    /// # Safety
    /// The kernel declares the two parameters that these pointers lead to, with the layouts of the C declarations, a
    /// `Gate`, and a `Guard` if it is guarded. The caller vouches for the bytes that it moves, as for
    /// [`CopyKernel::launch`].
    pub(crate) unsafe fn launch_as(&self, kernel: Function, what: [*mut c_void; 2], terms: Terms) -> Result<()> {
        let Terms { workers, yields, handshake, stream } = terms;
        let (mut gate, mut guard) = (self.gate(yields), handshake);
        let guard = guard.as_mut().map_or(std::ptr::null_mut(), |guard| std::ptr::from_mut(guard).cast());
        let parameters = [what[0], what[1], (&raw mut gate).cast(), guard];
        let launch = Launch {
            function: kernel,
            grid: [workers.blocks + u32::from(yields.is_some()), 1, 1],
            block: block(workers),
            shared_bytes: 0,
            stream,
            parameters: &parameters[..3 + usize::from(handshake.is_some())],
        };
        // SAFETY: passed on to the caller; a `Gate` and a `Guard` have the layouts of the C declarations.
        unsafe { self.driver.launch(&launch) }
    }

    /// Makes `number` that of the next launch.
    pub(crate) fn skip_to(&self, number: u32) {
        *lock(&self.next_slot) = number.into();
    }

    /// The words of a launch that yields to `yields`.
    fn gate(&self, yields: Option<Yield>) -> Gate {
        let Some(yields) = yields else { return Gate { host: 0, mirror: 0, finished: 0, wait_ns_max: 0, lift: 0 } };
        let mut next = lock(&self.next_slot);
        let slot = self.slots.offset(*next % SLOTS * SLOT_BYTES);
        *next += 1;
        let lift = yields.lift.map_or(0, |word| word.0);
        let (mirror, finished) = (slot.0, slot.offset(128).0);
        Gate { host: yields.word.0, mirror, finished, wait_ns_max: yields.wait_max.0, lift }
    }
}

impl Adder for CopyKernel {
    fn add(&self, stream: Stream, word: DevicePtr, value: i32) -> Result<()> {
        let (mut word, mut value) = (word.0, value);
        let parameters: [*mut c_void; 2] = [(&raw mut word).cast(), (&raw mut value).cast()];
        let launch = Launch {
            function: self.add,
            grid: [1, 1, 1],
            block: [1, 1, 1],
            shared_bytes: 0,
            stream,
            parameters: &parameters,
        };
        // SAFETY: `overtake_add` declares a pointer and an int; the word belongs to a bank that outlives its channels.
        unsafe { self.driver.launch(&launch) }
    }
}

impl Drop for CopyKernel {
    fn drop(&mut self) {
        // An error means that the context is gone, and its memory with it.
        let _ = self.driver.mem_free(self.slots);
        let _ = self.driver.module_unload(self.module);
    }
}
