//! A kernel whose blocks note their times (`crates/profile/src/overtake_profile.cuh`), and its twin.
#![allow(unsafe_code)] // a launch is unsafe: the parameters are described here, next to their C declarations

use std::ffi::c_void;

use hal::{DevicePtr, Driver, Function, Launch, Module, Result, Stream};
use softgpu::{Builder, Io, KernelSpec, Running, Step};

const PTX: &str = include_str!("profiled.ptx");
const NAME: &str = "work_profiled";
const THREADS: u32 = 32;

/// Multiprocessors, and blocks on each at once: those of the software GPU.
const MULTIPROCESSORS: u64 = 132;
const BLOCKS_EACH: u64 = 16;

/// The kernel, loaded into the context that is current.
#[derive(Clone, Copy, Debug)]
pub struct Profiled {
    module: Module,
    function: Function,
}

impl Profiled {
    /// Loads it. On the software GPU this needs [`crate::register`].
    pub fn load(driver: &dyn Driver) -> Result<Profiled> {
        let module = driver.module_load(PTX.as_bytes())?;
        Ok(Profiled { module, function: driver.module_function(module, NAME)? })
    }

    /// The module, which the owner unloads.
    #[must_use]
    pub fn module(&self) -> Module {
        self.module
    }

    /// Launches so many blocks, each for `span_ns`. They note their times in `buffer`, which is null or that of a
    /// recording, as those of this kernel.
    ///
    /// # Safety
    /// The buffer is null, or that of a recording which lives until this returns.
    pub unsafe fn launch(
        &self,
        driver: &dyn Driver,
        buffer: DevicePtr,
        kernel: u32,
        span_ns: u64,
        blocks: u32,
        stream: Stream,
    ) -> Result<()> {
        let (mut buffer, mut kernel, mut span_ns) = (buffer.0, kernel, span_ns);
        let parameters: [*mut c_void; 3] =
            [(&raw mut buffer).cast(), (&raw mut kernel).cast(), (&raw mut span_ns).cast()];
        let (grid, block) = ([blocks, 1, 1], [THREADS, 1, 1]);
        let launch = Launch { function: self.function, grid, block, shared_bytes: 0, stream, parameters: &parameters };
        // SAFETY: the kernel declares a pointer, a u32 and a u64, which the three pointers lead to; the caller vouches
        // for the buffer, which its recording keeps until the work behind it has completed.
        unsafe { driver.launch(&launch) }
    }
}

/// A software GPU that knows the kernel.
pub(crate) fn register(builder: Builder) -> Builder {
    builder.kernel(NAME, KernelSpec::new(&[8, 4, 8], || Box::new(Twin { began_ns: None })))
}

struct Twin {
    began_ns: Option<u64>,
}

impl Running for Twin {
    fn step(&mut self, io: &mut Io<'_>) -> Step {
        let span_ns = io.parameter(2);
        let waves = io.blocks().div_ceil(MULTIPROCESSORS * BLOCKS_EACH);
        match self.began_ns {
            None => {
                self.began_ns = Some(io.now_ns());
                Step::Busy(span_ns * waves)
            }
            Some(began_ns) => {
                (0..io.blocks()).for_each(|block| note(io, block, began_ns, span_ns));
                Step::Done
            }
        }
    }
}

/// `overtake_begin` and `overtake_end` of a block.
fn note(io: &mut Io<'_>, block: u64, began_ns: u64, span_ns: u64) {
    let (buffer, kernel) = (io.parameter(0), io.parameter(1));
    if buffer == 0 {
        return;
    }
    let capacity = io.load32(buffer + 4);
    if io.load32(buffer) >= capacity {
        io.add32(buffer + 8, 1);
        return;
    }
    let place = u64::from(io.add32(buffer, 1));
    let at = buffer + 32 + 32 * place;
    let begin_ns = began_ns + block / (MULTIPROCESSORS * BLOCKS_EACH) * span_ns;
    io.store64(at, begin_ns);
    io.store64(at + 8, begin_ns + span_ns);
    io.store32(at + 16, block as u32);
    io.store32(at + 20, kernel as u32);
    io.store32(at + 24, (block % MULTIPROCESSORS) as u32);
}
