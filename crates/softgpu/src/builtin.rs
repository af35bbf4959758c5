//! The kernels that every software GPU knows.

use crate::kernel::KernelSpec;

/// PTX of the built-in kernels. A real driver compiles it; the software GPU knows its kernels by name.
pub const BUILTIN_PTX: &str = include_str!("builtin.ptx");

/// Nanoseconds of a kernel that does next to nothing, beyond its start.
const SHORT_NS: u64 = 500;

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
    // The library's own, for the emulation that counts on the device, does the same.
    add("overtake_add", atomic_add.clone());
    add("soft_atomic_add_u32", atomic_add);
    let store = KernelSpec::once(&[8, 4], |_| SHORT_NS, |io| io.store32(io.parameter(0), io.parameter(1) as u32));
    add("soft_store_u32", store);
}
