//! How many instructions a submission takes, counted by callgrind. `cargo bench --bench submit -- instructions` prints
//! them; it needs valgrind.
#![allow(unsafe_code)] // copies are unsafe: the memory is described where it is made

use std::process::{Command, ExitCode};
use std::sync::Arc;

use overtake::hal::{Device, DevicePtr, Driver, HostAllocFlags, Stream};
use overtake::{Direction, Options, Overtake, Priority, PriorityStream};

use crate::null::Null;

const BYTES: u64 = 64 << 10;
/// Copies before the counted ones: whatever happens once has happened.
const WARM_UP: u32 = 20;
const COPIES: u32 = 200;

/// What is counted: the name, the copies that a ticket serves, and whether their tickets stay out.
struct Way {
    name: &'static str,
    armed: bool,
    ticket_every: u32,
    withheld: bool,
}

const fn way(name: &'static str, armed: bool, ticket_every: u32, withheld: bool) -> Way {
    Way { name, armed, ticket_every, withheld }
}

const WAYS: [Way; 5] = [
    way("alone", false, 8, false),
    way("covered", true, u32::MAX, true),
    way("ridden", true, u32::MAX, false),
    way("with-a-ticket", true, 1, false),
    way("one-ticket-in-8", true, 8, false),
];
const DIRECTIONS: [Direction; 2] = [Direction::HostToDevice, Direction::DeviceToHost];

/// Pinned memory and device memory; lives as long as the process.
struct Pair {
    host: *mut u8,
    device: DevicePtr,
}

/// The calls that callgrind counts, by this name. The driver call alone, where no stream of ours is given.
#[inline(never)]
fn counted_copies(
    driver: &dyn Driver,
    raw: Stream,
    stream: Option<&PriorityStream>,
    pair: &Pair,
    direction: Direction,
) {
    for _ in 0..COPIES {
        one_copy(driver, raw, stream, pair, direction);
    }
}

#[inline(always)]
fn one_copy(driver: &dyn Driver, raw: Stream, stream: Option<&PriorityStream>, pair: &Pair, direction: Direction) {
    // SAFETY: both sides have BYTES and live as long as the process; nobody touches either.
    let submitted = unsafe {
        match (stream, direction) {
            (Some(stream), Direction::DeviceToHost) => {
                stream.memcpy_dtoh_async(pair.host, pair.device, BYTES).map(drop)
            }
            (Some(stream), _) => stream.memcpy_htod_async(pair.device, pair.host, BYTES).map(drop),
            (None, Direction::DeviceToHost) => driver.copy_dtoh_async(pair.host, pair.device, BYTES, raw),
            (None, _) => driver.copy_htod_async(pair.device, pair.host, BYTES, raw),
        }
    };
    submitted.expect("the copy is valid");
}

/// Runs under callgrind.
pub fn counted(name: &str, direction: &str) -> ExitCode {
    let direction = if direction == "d2h" { Direction::DeviceToHost } else { Direction::HostToDevice };
    let way = WAYS.iter().find(|way| way.name == name);
    let null = Null::new();
    let driver: Arc<dyn Driver> = Arc::clone(&null) as Arc<dyn Driver>;
    // Without channels no queue is probed, which would take callgrind minutes.
    let options =
        Options { ticket_every: way.map_or(8, |way| way.ticket_every), channels: false, ..Options::default() };
    let overtake = Overtake::open(&driver, Device(0), options).expect("the software GPU opens");
    let flags = HostAllocFlags::PORTABLE.and(HostAllocFlags::DEVICEMAP);
    let pair = Pair {
        host: driver.host_alloc(BYTES, flags).expect("there is pinned memory"),
        device: driver.mem_alloc(BYTES).expect("there is device memory"),
    };
    let _bulk = overtake.stream(Priority::LOWEST).expect("there is room for a stream");
    let armed = way.is_some_and(|way| way.armed);
    let priority = if armed { overtake.priorities().highest() } else { Priority::LOWEST };
    let urgent = overtake.stream(priority).expect("there is room for a stream");
    let stream = way.map(|_| &urgent);
    null.be_instant(true);
    null.withhold(way.is_some_and(|way| way.withheld));
    (0..WARM_UP).for_each(|_| one_copy(&*driver, urgent.raw(), stream, &pair, direction));
    counted_copies(&*driver, urgent.raw(), stream, &pair, direction);
    // The device is the software GPU again, which has nothing to do.
    null.be_instant(false);
    null.withhold(false);
    ExitCode::SUCCESS
}

/// Prints a row for each way and direction.
pub fn report() -> ExitCode {
    println!("instructions of the calling thread for one copy, on a driver whose calls do nothing");
    println!("{:<18}{:>8}{:>8}", "", "h2d", "d2h");
    for name in ["driver call"].into_iter().chain(WAYS.iter().map(|way| way.name)) {
        let counts = DIRECTIONS
            .map(|direction| callgrind(name, if direction == Direction::DeviceToHost { "d2h" } else { "h2d" }));
        let [Ok(to_device), Ok(to_host)] = counts else {
            eprintln!("{}", counts.into_iter().find_map(Result::err).unwrap_or_default());
            return ExitCode::FAILURE;
        };
        println!("{name:<18}{to_device:>8}{to_host:>8}");
    }
    ExitCode::SUCCESS
}

fn callgrind(name: &str, direction: &str) -> Result<u64, String> {
    let this = std::env::current_exe().map_err(|error| format!("where is this program: {error}"))?;
    let output = Command::new("valgrind")
        .args([
            "--tool=callgrind",
            "--fair-sched=try",
            "--toggle-collect=*counted_copies*",
            "--callgrind-out-file=/dev/null",
        ])
        .arg(this)
        .args(["counted", name, direction])
        .output()
        .map_err(|error| format!("valgrind does not run: {error}; install it"))?;
    let text = String::from_utf8_lossy(&output.stderr);
    let collected = text.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse::<u64>().ok());
    collected.map(|count| count / u64::from(COPIES)).ok_or_else(|| format!("callgrind counted nothing:\n{text}"))
}
