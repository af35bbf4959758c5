//! Common steps of several checks: options, opening, waiting.

use hal::{Nanos, Wait};
use overtake::options::{Emulation, GuardOptions, Profile, Transport, UrgentTransport};
use overtake::{Direction, Options, Overtake, Priorities, Priority};

use crate::failure::{Failure, Outcome};
use crate::rig::{Rig, span};

/// The semaphores of a device are one bank for each of these.
pub const DIRECTIONS: [Direction; 2] = [Direction::HostToDevice, Direction::DeviceToHost];

/// Options under which small copies take the ways that large ones take by default.
pub fn small_options() -> Options {
    Options { priorities: Priorities::new(3).expect("3 is a valid count"), ..Options::default() }.with_profile(
        |profile| {
            profile.chunk_max = Nanos::from_us(4);
            profile.gate_bytes_min = 8 << 10;
            profile.kernel_bytes_min = 48 << 10;
        },
    )
}

/// The same, for a machine with so many queues for copies.
pub fn with_queues(options: Options, copy_queues: u32) -> Options {
    let guard = GuardOptions { copy_queues: Some(copy_queues), ..options.guard };
    Options { guard, ..options }
}

/// The same options, with one transport for bulk.
pub fn transport(transport: Transport) -> Options {
    small_options().with_profile(|profile| {
        profile.transport = transport;
        profile.urgent_transport = UrgentTransport::Engine;
    })
}

/// The same options, with semaphores that the device keeps.
pub fn emulating(emulation: Emulation) -> Options {
    small_options().with_profile(|profile| {
        *profile = Profile { gate_bytes_min: profile.gate_bytes_min, ..Profile::emulating(emulation) };
    })
}

/// Opens the first device.
pub fn open(rig: &Rig, options: Options) -> Result<Overtake, Failure> {
    Ok(Overtake::open(rig.shared_driver(), hal::Device(0), options)?)
}

/// Waits until the condition holds.
#[track_caller]
pub fn eventually(rig: &Rig, what: &str, mut condition: impl FnMut() -> bool + Send) -> Outcome {
    let host = rig.driver().host();
    match host.wait_until(Some(host.now() + span(rig.driver())), &mut condition) {
        Wait::Met => Ok(()),
        end => Err(Failure::new(format_args!("{what}: it did not come to that ({end:?})"))),
    }
}

/// The number of copies that hold others back, on both engines.
pub fn raised(overtake: &Overtake) -> u32 {
    DIRECTIONS.into_iter().map(|direction| overtake.pending_above(direction, Priority::LOWEST)).sum()
}

/// Everything that was submitted has completed: no word is up and no fence is out.
#[track_caller]
pub fn at_rest(rig: &Rig, overtake: &Overtake) -> Outcome {
    eventually(rig, "semaphores go down", || raised(overtake) == 0)?;
    eventually(rig, "fences come back", || overtake.outstanding() == 0)
}
