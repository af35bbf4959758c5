//! First launches. By default the driver loads kernels lazily, so the first launch of a kernel may load it. If the
//! driver needs memory for that, it waits for everything in the context, and keeps all other threads out meanwhile. If
//! the device then waits for a copy that only the rescuer can make, the program hangs. So the layer is told of the
//! first launch of every kernel and graph, as of a load.
//!
//! The call itself hardly waits. But everything submitted after it, in any stream, starts only when everything
//! submitted before it has ended, in every stream (`reports/driver`, `first-launches`). So an urgent copy waits once
//! for the bulk in flight, and the layer cannot reorder that. A report counts such launches.
#![allow(unsafe_code)] // the prototypes are the driver's
#![allow(non_snake_case)]

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use abi::types::*;

use crate::hooks::Hook;
use crate::life::loads;

/// Slots for the kernels and graphs that have been launched.
const SLOTS: usize = 1 << 14;

/// The number of slots, from its own on, that a handle may lie in.
const REACH: usize = 8;

/// Marks a handle whose attributes were asked for. It is known apart from the launched handle, because the question
/// need not load the whole kernel. Handles are addresses, so their last bit is free.
const ASKED: usize = 1;

/// The handles that have been launched. A handle lies in one of [`REACH`] slots; 0 is an empty slot. Where other
/// handles have taken all of them, a handle counts as known, and the layer does not hear of its first launch.
struct Known([AtomicUsize; SLOTS]);

static KNOWN: Known = Known([const { AtomicUsize::new(0) }; SLOTS]);

impl Known {
    fn slots(&self, handle: usize) -> impl Iterator<Item = &AtomicUsize> {
        // Handles are aligned; the upper half of a product depends on all bits of its factors.
        let mixed = (handle as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        (0..REACH).map(move |step| &self.0[(mixed as usize + step) % SLOTS])
    }

    #[inline]
    fn has(&self, handle: usize) -> bool {
        let mut has_room = false;
        for slot in self.slots(handle) {
            match slot.load(Ordering::Relaxed) {
                0 => has_room = true,
                known if known == handle => return true,
                _ => {}
            }
        }
        !has_room
    }

    fn add(&self, handle: usize) {
        let taken = |slot: &AtomicUsize| {
            let before = slot.compare_exchange(0, handle, Ordering::Relaxed, Ordering::Relaxed);
            before.is_ok() || before == Err(handle)
        };
        let _ = self.slots(handle).any(taken);
    }

    /// Forgets one handle.
    fn remove(&self, handle: usize) {
        for slot in self.slots(handle) {
            let _ = slot.compare_exchange(handle, 0, Ordering::Relaxed, Ordering::Relaxed);
        }
    }

    fn clear(&self) {
        // Pages that were never written are not touched.
        let used = self.0.iter().filter(|slot| slot.load(Ordering::Relaxed) != 0);
        used.for_each(|slot| slot.store(0, Ordering::Relaxed));
    }
}

/// Whether the program may have launched anything.
struct Begun(AtomicBool);

static BEGUN: Begun = Begun(AtomicBool::new(false));

impl Begun {
    /// A handle is about to be used for the first time.
    fn coming(&self, handle: usize) {
        if handle & ASKED == 0 {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

/// No kernel and no graph has been launched in this process.
pub fn none_yet() -> bool {
    !BEGUN.0.load(Ordering::Relaxed)
}

/// Forgets all handles: kernels were unloaded, and their handles may come to mean other kernels.
pub fn forget() {
    KNOWN.clear();
}

/// A kernel is loaded already, so its first launch is as any other, and is not heard of.
pub fn know(handle: usize) {
    BEGUN.coming(handle);
    KNOWN.add(handle);
}

/// Makes the real call, and announces it unless `handle` is known. The handle is known once the call succeeds.
#[inline]
fn first(hook: Hook, native: impl Fn() -> CUresult, handle: usize) -> CUresult {
    if KNOWN.has(handle) {
        hook.passed_on();
        return native();
    }
    BEGUN.coming(handle);
    let result = loads(hook, native);
    if result == CUresult::CUDA_SUCCESS {
        KNOWN.add(handle);
    }
    result
}

macro_rules! launches {
    ($($symbol:ident $key:expr, $handle:ident ($($argument:ident: $type:ty),*);)*) => {
        $(
            #[allow(clippy::too_many_arguments)] // the prototypes are the driver's
            pub unsafe fn $symbol(hook: Hook, native: impl Fn() -> CUresult, $($argument: $type),*) -> CUresult {
                first(hook, native, $handle.addr() | $key)
            }
        )*
    };
}

launches! {
    cuLaunchKernel 0, function (
        function: CUfunction, _grid_x: c_uint, _grid_y: c_uint, _grid_z: c_uint, _block_x: c_uint, _block_y: c_uint,
        _block_z: c_uint, _shared_bytes: c_uint, _stream: CUstream, _parameters: *mut *mut c_void,
        _extra: *mut *mut c_void
    );
    cuLaunchKernelEx 0, function (
        _config: *const CUlaunchConfig, function: CUfunction, _parameters: *mut *mut c_void, _extra: *mut *mut c_void
    );
    cuLaunchCooperativeKernel 0, function (
        function: CUfunction, _grid_x: c_uint, _grid_y: c_uint, _grid_z: c_uint, _block_x: c_uint, _block_y: c_uint,
        _block_z: c_uint, _shared_bytes: c_uint, _stream: CUstream, _parameters: *mut *mut c_void
    );
    cuLaunch 0, function (function: CUfunction);
    cuLaunchGrid 0, function (function: CUfunction, _grid_width: c_int, _grid_height: c_int);
    cuLaunchGridAsync 0, function (
        function: CUfunction, _grid_width: c_int, _grid_height: c_int, _stream: CUstream
    );
    cuGraphLaunch 0, graph (graph: CUgraphExec, _stream: CUstream);
    cuFuncGetAttribute ASKED, function (_value: *mut c_int, _attribute: CUfunction_attribute, function: CUfunction);
    cuFuncSetAttribute ASKED, function (function: CUfunction, _attribute: CUfunction_attribute, _value: c_int);
    cuOccupancyMaxActiveBlocksPerMultiprocessor ASKED, function (
        _blocks: *mut c_int, function: CUfunction, _block_size: c_int, _shared_bytes: usize
    );
}

/// The handle may come to mean another graph.
pub unsafe fn cuGraphExecDestroy(hook: Hook, native: impl Fn() -> CUresult, graph: CUgraphExec) -> CUresult {
    hook.intercepted();
    KNOWN.remove(graph.addr());
    native()
}

#[cfg(test)]
mod tests {
    use std::ptr::{null_mut, without_provenance_mut};

    use super::*;
    use crate::life;
    use abi::Flavour;

    const HOOK: Hook = Hook { number: 0, flavour: Flavour::Plain, caller: 0 };

    fn succeeds() -> CUresult {
        CUresult::CUDA_SUCCESS
    }

    /// A graph that is made where one was destroyed is launched for the first time again, and so is a kernel that is
    /// loaded where others were unloaded.
    #[test]
    fn handles_that_come_to_mean_others_are_forgotten() {
        let [graph, other] = [0x7700_0040_usize, 0x7700_0080];
        let launch = |graph: usize| {
            // SAFETY: no pointer is followed.
            unsafe { cuGraphLaunch(HOOK, succeeds, without_provenance_mut(graph), null_mut()) };
        };
        [graph, other].into_iter().for_each(launch);
        assert!(KNOWN.has(graph) && KNOWN.has(other));
        // SAFETY: no pointer is followed.
        unsafe { cuGraphExecDestroy(HOOK, succeeds, without_provenance_mut(graph)) };
        assert!(!KNOWN.has(graph) && KNOWN.has(other));
        type Ends = (&'static str, fn() -> CUresult);
        let ends: [Ends; 6] = [
            // SAFETY: no pointer is followed.
            ("a module", || unsafe { life::cuModuleUnload(HOOK, succeeds, null_mut()) }),
            // SAFETY: no pointer is followed.
            ("a library", || unsafe { life::cuLibraryUnload(HOOK, succeeds, null_mut()) }),
            // SAFETY: no pointer is followed.
            ("a context", || unsafe { life::cuCtxDestroy_v2(HOOK, succeeds, null_mut()) }),
            // SAFETY: no pointer is followed.
            ("an attached context", || unsafe { life::cuCtxDetach(HOOK, succeeds, null_mut()) }),
            // SAFETY: no pointer is followed.
            ("a retained context", || unsafe { life::cuDevicePrimaryCtxRelease_v2(HOOK, succeeds, 0) }),
            // SAFETY: no pointer is followed.
            ("a context by a reset", || unsafe { life::cuDevicePrimaryCtxReset_v2(HOOK, succeeds, 0) }),
        ];
        for (what, end) in ends {
            launch(other);
            assert!(KNOWN.has(other));
            end();
            assert!(!KNOWN.has(other), "{what} ends");
        }
    }

    #[test]
    fn a_handle_is_known_once_it_was_added_and_until_all_are_forgotten() {
        let known = Box::new(Known([const { AtomicUsize::new(0) }; SLOTS]));
        let handles: Vec<usize> = (1..=2_000).map(|index| 0x5500_0000 + index * 0x40).collect();
        assert!(handles.iter().all(|handle| !known.has(*handle)));
        handles.iter().for_each(|handle| known.add(*handle));
        assert!(handles.iter().all(|handle| known.has(*handle)));
        assert!(!known.has(0x5500_0000 | ASKED), "asked for is not launched");
        known.add(handles[0]);
        known.clear();
        assert!(handles.iter().all(|handle| !known.has(*handle)));
    }

    #[test]
    fn a_handle_takes_one_slot_and_leaves_room_for_those_beside_it() {
        let known = Box::new(Known([const { AtomicUsize::new(0) }; SLOTS]));
        let slot = |handle: usize| known.slots(handle).next().map(std::ptr::from_ref);
        let handles = (1..).map(|index| 0x5500_0000 + index * 0x40);
        let first = slot(0x5500_0000);
        let beside: Vec<usize> = handles.filter(|handle| slot(*handle) == first).take(REACH).collect();
        for handle in beside {
            assert!(!known.has(handle), "{handle:#x} has not been launched");
            known.add(handle);
            known.add(handle);
            assert!(known.has(handle));
        }
    }

    #[test]
    fn a_launch_is_remembered_and_a_question_is_none() {
        let begun = Begun(AtomicBool::new(false));
        begun.coming(0x5500_0000 | ASKED);
        assert!(!begun.0.load(Ordering::Relaxed));
        begun.coming(0x5500_0000);
        begun.coming(0x5500_0000 | ASKED);
        assert!(begun.0.load(Ordering::Relaxed));
    }

    #[test]
    fn where_there_is_no_room_a_handle_counts_as_known() {
        let known = Box::new(Known([const { AtomicUsize::new(0) }; SLOTS]));
        (1..=SLOTS * 4).for_each(|handle| known.add(handle << 4));
        assert!(known.has(usize::MAX & !0xf));
    }
}
