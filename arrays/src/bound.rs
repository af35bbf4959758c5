//! Launches of computations: functions and kernels that get the addresses of arrays, and keep their memory alive.
#![allow(unsafe_code)] // kernels use memory by its address

use hal::DevicePtr;
use overtake_tasks::task::{Kernel, Lane, Launches, More, Shape, WorkResult};
use overtake_tasks::within::OfUser;
use smallvec::SmallVec;

use crate::arguments::Packed;
use crate::places::Busy;
use crate::record::{FEW, Keeps, Memory};
use crate::times::Timer;

/// All that a computation has until it has ended, beside its addresses.
#[derive(Default)]
pub(super) struct Keep {
    _kept: Keeps,
    /// Its part of the load of a device.
    _busy: Option<Busy>,
    timer: Option<Box<Timer>>,
}

impl Keep {
    pub fn new(busy: Option<Busy>, timer: Option<Box<Timer>>) -> Keep {
        Keep { _kept: Keeps::new(), _busy: busy, timer }
    }

    /// The memory of the computation is known.
    fn and(self, kept: Keeps) -> Keep {
        Keep { _kept: kept, ..self }
    }

    /// Measures a launch, if that is asked for.
    #[inline]
    fn timed(
        &mut self,
        lane: &mut Lane<'_>,
        launch: impl FnOnce(&mut Lane<'_>) -> WorkResult<More>,
    ) -> WorkResult<More> {
        let Some(timer) = &mut self.timer else { return launch(lane) };
        timer.begin(lane);
        let more = launch(lane)?;
        if more == More::Done {
            timer.end(lane);
        }
        Ok(more)
    }
}

/// A launch that waits for its addresses: one piece of memory from its description to its end.
pub(super) trait Bind: Launches {
    /// It has them from now on.
    fn bind(&mut self, memory: Memory, keep: Keep);

    /// It has these in their place, on another device, and is not measured there.
    fn rebind(&mut self, addresses: &[u64]);
}

/// A function that gets addresses.
pub(super) struct Calls<F> {
    _of_user: OfUser,
    launch: F,
    addresses: SmallVec<[DevicePtr; FEW]>,
    keep: Keep,
}

impl<F> Calls<F> {
    pub fn new(launch: F) -> Calls<F> {
        Calls { _of_user: OfUser, launch, addresses: SmallVec::new(), keep: Keep::default() }
    }
}

impl<F> Launches for Calls<F>
where
    F: FnMut(&mut Lane<'_>, &[DevicePtr]) -> WorkResult<More> + Send + 'static,
{
    fn launch(&mut self, lane: &mut Lane<'_>) -> WorkResult<More> {
        let Calls { launch, addresses, keep, .. } = self;
        keep.timed(lane, |lane| launch(lane, addresses))
    }
}

impl<F> Bind for Calls<F>
where
    F: FnMut(&mut Lane<'_>, &[DevicePtr]) -> WorkResult<More> + Send + 'static,
{
    fn bind(&mut self, Memory { addresses, kept }: Memory, keep: Keep) {
        self.addresses = addresses.into_iter().map(DevicePtr).collect();
        self.keep = keep.and(kept);
    }

    fn rebind(&mut self, addresses: &[u64]) {
        self.addresses = addresses.iter().copied().map(DevicePtr).collect();
        self.keep.timer = None;
    }
}

/// A kernel whose arguments hold addresses.
pub(super) struct Runs {
    _of_user: OfUser,
    kernel: Kernel,
    shape: Shape,
    packed: Packed,
    keep: Keep,
}

impl Runs {
    pub fn new(kernel: Kernel, shape: Shape, packed: Packed) -> Runs {
        Runs { _of_user: OfUser, kernel, shape, packed, keep: Keep::default() }
    }
}

impl Launches for Runs {
    fn launch(&mut self, lane: &mut Lane<'_>) -> WorkResult<More> {
        let Runs { kernel, shape, packed, keep, .. } = self;
        keep.timed(lane, |lane| {
            // SAFETY: the caller of `compute` vouches for the kernel; its memory is kept here.
            unsafe { lane.launch_of(kernel, shape, packed.arguments())? };
            Ok(More::Done)
        })
    }
}

impl Bind for Runs {
    fn bind(&mut self, Memory { addresses, kept }: Memory, keep: Keep) {
        self.packed.set(&addresses);
        self.keep = keep.and(kept);
    }

    fn rebind(&mut self, addresses: &[u64]) {
        self.packed.set(addresses);
        self.keep.timer = None;
    }
}
