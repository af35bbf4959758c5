//! Kernels as Rust state machines, registered by name.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::model::{AddressSpace, Ns, Payload, Reach, Region};
use crate::parameters::Parameters;
use crate::raw::Span;
use crate::{builtin, copy_kernel};
use hal::Width;

/// The direction of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From host memory to device memory.
    HostToDevice,
    /// From device memory to host memory.
    DeviceToHost,
    /// From device memory to memory of the same device.
    OnDevice,
    /// From the memory of one device to that of another.
    Peer {
        /// The number of the device that the bytes come from.
        from: usize,
        /// The number of the device that they go to.
        to: usize,
    },
}

/// The next step of a kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// The kernel computes for this many nanoseconds before its next step.
    Busy(Ns),
    /// The kernel moves bytes over a link that it shares with the copy engine and other kernels.
    Move {
        /// The link.
        direction: Direction,
        /// The number of bytes.
        bytes: u64,
        /// Address of the first byte to write.
        target: u64,
        /// Address of the first byte to read.
        source: u64,
        /// The most that this launch can move, in GB/s.
        limit_gbps: f64,
    },
    /// As [`Step::Move`], but the kernel moves the bytes itself at its next step: for bytes that do not follow each
    /// other.
    Flow {
        /// The link.
        direction: Direction,
        /// The number of bytes.
        bytes: u64,
        /// The most that this launch can move, in GB/s.
        limit_gbps: f64,
    },
    /// The memory that the kernel waits for has not changed; it looks again after this many nanoseconds. A kernel
    /// that returns this must return it for ever while memory stays as it is: the proof of a deadlock rests on that.
    Poll(Ns),
    /// The kernel has ended.
    Done,
}

/// A running kernel.
pub trait Running: Send {
    /// Goes on after the last step is over.
    fn step(&mut self, io: &mut Io<'_>) -> Step;
}

/// The surroundings of a running kernel: its launch, the time and memory.
pub struct Io<'a> {
    pub(crate) now: Ns,
    pub(crate) parameters: &'a [Vec<u8>],
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) space: &'a AddressSpace,
    pub(crate) reach: Reach<'a>,
    pub(crate) constants: &'a Parameters,
    pub(crate) payload: Payload,
    pub(crate) stores: &'a mut u64,
    pub(crate) fault: &'a mut bool,
    /// Whether the kernel has looked at the host's memory.
    pub(crate) looked: &'a mut bool,
    /// The direction of bytes in flight that keep their link occupied, and for how long they do so.
    pub(crate) drains: &'a mut Option<(Direction, Ns)>,
}

impl<'a> Io<'a> {
    /// Virtual time in nanoseconds.
    #[must_use]
    pub fn now_ns(&self) -> Ns {
        self.now
    }

    /// Blocks of the launch.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        self.grid.iter().map(|&n| u64::from(n)).product()
    }

    /// Threads of a block.
    #[must_use]
    pub fn block_threads(&self) -> u64 {
        self.block.iter().map(|&n| u64::from(n)).product()
    }

    /// The bytes of a parameter, zero-extended.
    ///
    /// # Panics
    /// If the kernel was registered with fewer parameters.
    #[must_use]
    pub fn parameter(&self, index: usize) -> u64 {
        let bytes = &self.parameters[index];
        let mut wide = [0; 8];
        let length = bytes.len().min(8);
        wide[..length].copy_from_slice(&bytes[..length]);
        u64::from_le_bytes(wide)
    }

    /// The bytes of a parameter that is a structure.
    ///
    /// # Panics
    /// If the kernel was registered with fewer parameters.
    #[must_use]
    pub fn parameter_bytes(&self, index: usize) -> &[u8] {
        &self.parameters[index]
    }

    /// The memory of a range that the kernel may read, and write if it is to.
    fn span(&self, address: u64, bytes: u64, writes: bool) -> Option<(Span<'a>, &'a Region)> {
        self.reach.span(self.space, (address, bytes), writes)
    }

    /// A word that the kernel may read, and write if it is to.
    fn word(&self, address: u64, width: Width, writes: bool) -> Option<(Span<'a>, &'a Region)> {
        self.span(address, width.bytes(), writes).filter(|_| address.is_multiple_of(width.bytes()))
    }

    fn load(&mut self, address: u64, width: Width) -> u64 {
        match self.word(address, width, false) {
            Some((span, region)) => {
                *self.looked |= !region.is_device();
                span.load(0, width)
            }
            None => {
                *self.fault = true;
                0
            }
        }
    }

    fn store(&mut self, address: u64, width: Width, value: u64) {
        match self.word(address, width, true) {
            Some((span, _)) => {
                span.store(0, width, value);
                *self.stores += 1;
            }
            None => *self.fault = true,
        }
    }

    /// Reads 32 bits. A bad address reads 0 and ends the context with `ILLEGAL_ADDRESS` after this step.
    pub fn load32(&mut self, address: u64) -> u32 {
        self.load(address, Width::W32) as u32
    }

    /// The same, but not as a look of the kernel's: for a kernel that looks at a word of the host now and then, and
    /// must answer [`Step::Busy`] rather than [`Step::Poll`] if its next look will change something.
    pub fn peek32(&mut self, address: u64) -> u32 {
        let looked = *self.looked;
        let value = self.load32(address);
        *self.looked = looked;
        value
    }

    /// Reads 64 bits, with the same errors.
    pub fn load64(&mut self, address: u64) -> u64 {
        self.load(address, Width::W64)
    }

    /// Writes 32 bits, with the same errors.
    pub fn store32(&mut self, address: u64, value: u32) {
        self.store(address, Width::W32, u64::from(value));
    }

    /// Writes 64 bits, with the same errors.
    pub fn store64(&mut self, address: u64, value: u64) {
        self.store(address, Width::W64, value);
    }

    /// Adds to 32 bits and returns the old value, with the same errors.
    pub fn add32(&mut self, address: u64, value: u32) -> u32 {
        match self.word(address, Width::W32, true) {
            Some((span, _)) => {
                *self.stores += 1;
                span.add32(0, value)
            }
            None => {
                *self.fault = true;
                0
            }
        }
    }

    /// Reads bytes at once. A bad range reads zeroes, with the same errors. The kernel reports the time of it.
    pub fn read(&mut self, address: u64, bytes: u64) -> Vec<u8> {
        match self.span(address, bytes, false) {
            Some((span, region)) => {
                *self.looked |= !region.is_device();
                span.to_vec()
            }
            None => {
                *self.fault = true;
                vec![0; bytes as usize]
            }
        }
    }

    /// Writes bytes at once, with the same errors.
    pub fn write(&mut self, address: u64, bytes: &[u8]) {
        match self.span(address, bytes.len() as u64, true) {
            Some((span, _)) => {
                span.write(bytes);
                *self.stores += 1;
            }
            None => *self.fault = true,
        }
    }

    /// Copies bytes at once. The kernel reports the time that this takes, with [`Step::Busy`] or [`Step::Flow`].
    pub fn copy(&mut self, target: u64, source: u64, bytes: u64) {
        match (self.span(target, bytes, true), self.span(source, bytes, false)) {
            (Some((target, _)), Some((source, _))) => {
                if self.payload.copies(bytes) {
                    target.copy_from(source);
                }
                *self.stores += 1;
            }
            _ => *self.fault = true,
        }
    }

    /// Sets bytes at once. The kernel reports the time in the same way.
    pub fn fill(&mut self, target: u64, value: u8, bytes: u64) {
        match self.span(target, bytes, true) {
            Some((span, _)) => {
                span.fill(value);
                *self.stores += 1;
            }
            None => *self.fault = true,
        }
    }
}

/// Makes a kernel's state for a launch.
type Start = dyn Fn() -> Box<dyn Running> + Send + Sync;

/// A kernel as the model knows it.
#[derive(Clone)]
pub struct KernelSpec {
    pub(crate) parameter_bytes: Vec<u32>,
    pub(crate) blocks_per_multiprocessor: u32,
    start: Arc<Start>,
}

impl KernelSpec {
    /// A kernel with parameters of these sizes; `start` makes the state of each launch.
    pub fn new(parameter_bytes: &[u32], start: impl Fn() -> Box<dyn Running> + Send + Sync + 'static) -> KernelSpec {
        KernelSpec { parameter_bytes: parameter_bytes.to_vec(), blocks_per_multiprocessor: 16, start: Arc::new(start) }
    }

    /// A kernel that computes for the time that `cost` returns and then acts once, with `act`.
    pub fn once(
        parameter_bytes: &[u32],
        cost: impl Fn(&mut Io<'_>) -> Ns + Send + Sync + Clone + 'static,
        act: impl Fn(&mut Io<'_>) + Send + Sync + Clone + 'static,
    ) -> KernelSpec {
        KernelSpec::new(parameter_bytes, move || Box::new(Once { cost: cost.clone(), act: act.clone(), begun: false }))
    }

    /// The number of its blocks that fit on one multiprocessor; 16 by default.
    #[must_use]
    pub fn blocks_per_multiprocessor(mut self, blocks: u32) -> KernelSpec {
        self.blocks_per_multiprocessor = blocks.max(1);
        self
    }

    pub(crate) fn start(&self) -> Box<dyn Running> {
        (self.start)()
    }
}

impl std::fmt::Debug for KernelSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KernelSpec")
            .field("parameter_bytes", &self.parameter_bytes)
            .field("blocks_per_multiprocessor", &self.blocks_per_multiprocessor)
            .finish_non_exhaustive()
    }
}

struct Once<C, A> {
    cost: C,
    act: A,
    begun: bool,
}

impl<C: Fn(&mut Io<'_>) -> Ns + Send, A: Fn(&mut Io<'_>) + Send> Running for Once<C, A> {
    fn step(&mut self, io: &mut Io<'_>) -> Step {
        if !std::mem::replace(&mut self.begun, true) {
            return Step::Busy((self.cost)(io));
        }
        (self.act)(io);
        Step::Done
    }
}

/// Kernels by name.
#[derive(Clone, Debug)]
pub(crate) struct Registry {
    specs: BTreeMap<String, Arc<KernelSpec>>,
}

impl Default for Registry {
    fn default() -> Registry {
        let mut registry = Registry { specs: BTreeMap::new() };
        builtin::register(&mut |name, spec| registry.add(name, spec));
        copy_kernel::register(&mut |name, spec| registry.add(name, spec));
        registry
    }
}

impl Registry {
    pub(crate) fn add(&mut self, name: &str, spec: KernelSpec) {
        self.specs.insert(name.to_owned(), Arc::new(spec));
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Arc<KernelSpec>> {
        self.specs.get(name)
    }
}
