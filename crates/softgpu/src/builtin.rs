//! The kernels that every software GPU knows.

use crate::kernel::{Io, KernelSpec, Running, Step};

/// PTX of the built-in kernels. A real driver compiles it; the software GPU knows its kernels by name.
pub const BUILTIN_PTX: &str = include_str!("builtin.ptx");

/// Nanoseconds of a kernel that does next to nothing, beyond its start.
const SHORT_NS: u64 = 500;

/// A waiting kernel looks at its word this often: a read over the link and back.
const LOOK_NS: u64 = 1_000;

/// Holds its multiprocessors until a word has a value.
struct WaitForWord;

impl Running for WaitForWord {
    fn step(&mut self, io: &mut Io<'_>) -> Step {
        match u64::from(io.load32(io.parameter(0))) == io.parameter(1) {
            true => Step::Done,
            false => Step::Poll(LOOK_NS),
        }
    }
}

pub(crate) fn register(add: &mut dyn FnMut(&str, KernelSpec)) {
    add("soft_noop", KernelSpec::once(&[], |_| SHORT_NS, |_| {}));
    add("soft_spin_ns", KernelSpec::once(&[8], |io| io.parameter(0), |_| {}));
    let atomic_add = KernelSpec::once(
        &[8, 4],
        |_| SHORT_NS,
        |io| {
            io.add32(io.parameter(0), io.parameter(1) as u32);
        },
    );
    // The library's own kernel, for the emulation that counts on the device, does the same.
    add("overtake_add", atomic_add.clone());
    add("soft_atomic_add_u32", atomic_add);
    let store = KernelSpec::once(&[8, 4], |_| SHORT_NS, |io| io.store32(io.parameter(0), io.parameter(1) as u32));
    add("soft_store_u32", store);
    add("soft_wait_u32", KernelSpec::new(&[8, 4], || Box::new(WaitForWord)));
}
