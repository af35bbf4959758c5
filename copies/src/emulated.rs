//! The layer with semaphores that the device keeps, which `Profile::emulating` opens: the literal command sequence of
//! US 9,483,423 (`bracket`), and the same with atomic additions by kernels (`atomics`). It exists for comparison, and
//! nothing else depends on it: the profile sends every copy in chunks through a channel, and only this file sees which.
//!
//! ```text
//!                  bulk                     urgent
//! stream 1         ... event                                     streams of the program
//! stream 2                                  ... event
//! channel          wait for the event       wait for the event
//!                  wait for each word       wait for each word    of the priorities above, in ascending order
//!                  count in                 count in              bracket: write 1; atomics: a kernel adds 1
//!                  copy a chunk             copy
//!                  count out                count out             bracket: write 0; atomics: a kernel subtracts 1
//! ```
//!
//! `channels/src/bracket.rs` builds the commands, and `docs/decisions/patent-emulation.md` explains their defects: bulk
//! passes between two urgent copies, and only one copy of a channel counts. The layer normally uses words that the CPU
//! raises (`hold`) instead, which are not covered here.

use std::sync::Arc;

use channels::Adder;
use hal::{Code, DevicePtr, Result, Stream};
use semaphores::{Emulation, EmulationKind};

use crate::kernel::CopyKernel;
use options::Options;

/// The kernels that count in place of the CPU.
pub(crate) struct Counting(Option<Arc<CopyKernel>>);

/// The kernels that copy, and those that count. Where the device counts, none copies: a copy kernel gives way to words
/// that the CPU raises.
pub(crate) fn of_its_mode(options: &Options, kernel: Option<Arc<CopyKernel>>) -> (Option<Arc<CopyKernel>>, Counting) {
    match options.profile.emulation {
        EmulationKind::Hold => (kernel, Counting(None)),
        EmulationKind::Bracket | EmulationKind::Atomics => (None, Counting(kernel)),
    }
}

/// The operations by which copies on a channel count and wait.
pub(crate) fn operations(options: &Options) -> &'static dyn Emulation {
    semaphores::emulation(options.profile.emulation)
}

impl Adder for Counting {
    fn add(&self, stream: Stream, word: DevicePtr, value: i32) -> Result<()> {
        let Some(kernel) = &self.0 else {
            return Err(Code::NOT_SUPPORTED
                .at("overtake atomics")
                .because("the driver could not load the kernels; emulate with bracket"));
        };
        kernel.add(stream, word, value)
    }
}

#[cfg(test)]
mod tests {
    use options::Profile;
    use priority::Priority;

    use super::*;
    use crate::overtake::Overtake;

    #[test]
    fn no_copy_goes_by_kernel_where_the_device_counts() {
        let driver = crate::soft::driver();
        for emulation in EmulationKind::ALL {
            let options = Options { profile: Profile::emulating(emulation), ..Options::default() };
            let overtake = Overtake::attach(&driver, options).unwrap();
            let stream = overtake.stream(Priority::LOWEST).unwrap();
            let inner = &stream.state().inner;
            let kernels = (inner.kernel.is_some(), inner.counting.0.is_some());
            assert_eq!(kernels, (emulation == EmulationKind::Hold, emulation != EmulationKind::Hold), "{emulation:?}");
        }
    }
}
