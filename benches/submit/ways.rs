//! The measured ways of a copy, and the submission of one copy along one of them.
#![allow(unsafe_code)] // copies are unsafe: the memory is described where it is made

use std::sync::Arc;

use overtake::copy::{Look, Native, Reason, Request};
use overtake::hal::{Device, DevicePtr, Driver, HostAllocFlags};
use overtake::{Direction, Options, Overtake, Priority, PriorityStream};

use crate::null::Null;

const BYTES: u64 = 64 << 10;
/// Copies before the measured ones, so that one-time costs are not measured.
const WARM_UP: u32 = 20;

/// The name, the number of copies that share a fence, and whether their fences stay out.
struct Way {
    name: &'static str,
    armed: bool,
    fence_every: u32,
    withheld: bool,
    /// Whether the copy takes the way of a hook of the drop-in, and whether it finds a lull then.
    hook: Option<Lull>,
}

/// Whether urgent copies go natively while no bulk is under way.
#[derive(Clone, Copy, PartialEq)]
enum Lull {
    On,
    Off,
}

const fn way(name: &'static str, armed: bool, fence_every: u32, withheld: bool) -> Way {
    Way { name, armed, fence_every, withheld, hook: None }
}

const fn hooked(name: &'static str, armed: bool, lull: Lull) -> Way {
    Way { hook: Some(lull), ..way(name, armed, 8, false) }
}

/// The copy without overtake.
const DRIVER_CALL: &str = "driver call";

/// All ways through overtake.
const WAYS: [Way; 8] = [
    way("alone", false, 8, false),
    way("covered", true, u32::MAX, true),
    way("ridden", true, u32::MAX, false),
    way("with-a-ticket", true, 1, false),
    way("one-ticket-in-8", true, 8, false),
    hooked("hook-alone", false, Lull::On),
    hooked("hook-in-a-lull", true, Lull::On),
    hooked("hook-urgent", true, Lull::Off),
];

/// The directions, with their names.
pub const DIRECTIONS: [(Direction, &str); 2] = [(Direction::HostToDevice, "h2d"), (Direction::DeviceToHost, "d2h")];

/// The names of all measured ways.
pub fn names() -> impl Iterator<Item = &'static str> {
    [DRIVER_CALL].into_iter().chain(WAYS.iter().map(|way| way.name))
}

/// Prints a description of the numbers, above their columns.
pub fn print_head(what: &str) {
    println!("{what}\n{:<18}{:>8}{:>8}", "", DIRECTIONS[0].1, DIRECTIONS[1].1);
}

/// Prints the numbers of one way, in the order of the directions.
pub fn print_row(name: &str, numbers: [u64; 2]) {
    println!("{name:<18}{:>8}{:>8}", numbers[0], numbers[1]);
}

/// Two streams on a driver whose calls do nothing. One of them copies along a way.
pub struct Bench {
    null: Arc<Null>,
    /// Dropped before the overtake that it belongs to.
    urgent: PriorityStream,
    _bulk: PriorityStream,
    _overtake: Overtake,
    direction: Direction,
    through: bool,
    hooked: bool,
    /// Both sides have BYTES and live as long as the process.
    host: *mut u8,
    device: DevicePtr,
}

impl Bench {
    /// Prepares the way of this name, or else the driver call, and makes the warm-up copies.
    pub fn new(name: &str, direction: Direction) -> Bench {
        let way = WAYS.iter().find(|way| way.name == name);
        let null = Null::new();
        let driver: Arc<dyn Driver> = Arc::clone(&null) as Arc<dyn Driver>;
        // Without channels no queue is probed; a probe would take callgrind minutes.
        let options = Options::default().with_profile(|profile| {
            profile.fence_every = way.map_or(8, |way| way.fence_every);
            profile.channels = false;
            profile.lull = way.is_some_and(|way| way.hook == Some(Lull::On));
        });
        let overtake = Overtake::open(&driver, Device(0), options).expect("the software GPU opens");
        let flags = HostAllocFlags::PORTABLE.and(HostAllocFlags::DEVICEMAP);
        let armed = way.is_some_and(|way| way.armed);
        let priority = if armed { overtake.priorities().highest() } else { Priority::LOWEST };
        let bench = Bench {
            host: driver.host_alloc(BYTES, flags).expect("there is pinned memory"),
            device: driver.mem_alloc(BYTES).expect("there is device memory"),
            _bulk: overtake.stream(Priority::LOWEST).expect("there is room for a stream"),
            urgent: overtake.stream(priority).expect("there is room for a stream"),
            _overtake: overtake,
            null,
            direction,
            through: way.is_some(),
            hooked: way.is_some_and(|way| way.hook.is_some()),
        };
        bench.null.be_instant(true);
        bench.null.freeze(true);
        bench.null.withhold(way.is_some_and(|way| way.withheld));
        (0..WARM_UP).for_each(|_| bench.copy());
        bench
    }

    #[inline(always)]
    pub fn copy(&self) {
        if self.hooked {
            return self.copy_from_hook();
        }
        let (driver, stream, host, device) = (&*self.null, &self.urgent, self.host, self.device);
        // SAFETY: both sides have BYTES and live as long as the process; no thread touches either.
        let submitted = unsafe {
            match (self.through, self.direction) {
                (true, Direction::DeviceToHost) => stream.memcpy_dtoh_async(host, device, BYTES).map(drop),
                (true, _) => stream.memcpy_htod_async(device, host, BYTES).map(drop),
                (false, Direction::DeviceToHost) => driver.copy_dtoh_async(host, device, BYTES, stream.raw()),
                (false, _) => driver.copy_htod_async(device, host, BYTES, stream.raw()),
            }
        };
        submitted.expect("the copy is valid");
    }

    /// As `crates/shim/src/copies.rs` has it.
    #[inline(always)]
    fn copy_from_hook(&self) {
        let (driver, stream, host, device) = (&*self.null, &self.urgent, self.host, self.device);
        let to_host = self.direction == Direction::DeviceToHost;
        let call = || {
            // SAFETY: as in `copy`.
            let copied = unsafe {
                match to_host {
                    true => driver.copy_dtoh_async(host, device, BYTES, stream.raw()),
                    false => driver.copy_htod_async(device, host, BYTES, stream.raw()),
                }
            };
            copied.map_or_else(|error| error.code().get(), |()| 0)
        };
        let (native, priority) = (Native::asynchronous(&call), stream.priority());
        let request = match to_host {
            true => Request::dtoh(host, device, BYTES),
            false => Request::htod(device, host, BYTES),
        };
        let met = match stream.look(&request, priority) {
            Look::Alone => {
                return assert_eq!(stream.pass_on(Reason::Alone, request.direction(), BYTES, || native.answer()), 0);
            }
            Look::Met(met) => met,
        };
        native.without_captures();
        // SAFETY: as in `copy`; the call makes that copy.
        unsafe { stream.memcpy_met(&request.at(priority), &native, met) }.expect("the copy is valid");
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        // The device is the software GPU again, and idle.
        self.null.freeze(false);
        self.null.be_instant(false);
        self.null.withhold(false);
    }
}
