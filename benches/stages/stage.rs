//! The cost of acquire, commit, wait and release without contention, and of a stage on its way to another thread, each
//! beside channels.
//!
//! `cargo bench -p overtake-stages` prints times, and fails if a call allocates or is above its limit;
//! `cargo bench -p overtake-stages -- instructions` prints instructions. Times of the way between two threads depend on
//! the machine more than on the code: they have no limit.

use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use overtake_stages::{Member, Ring, Waited, Waiting, Watch};
use testkit::callgrind;

/// The most instructions and nanoseconds of a call, and the goal for each.
const INSTRUCTIONS: (u64, u64) = (200, 60);
const NANOSECONDS: (u64, u64) = (60, 15);
/// Rings that a call is timed on, one after the other: one call is too short for a clock.
const RINGS: usize = 64;
const ROUNDS: usize = 2_001;
const WARM_UP: usize = 100;
const COUNTED: u64 = 1_000;
const TRIPS: usize = 20_001;

/// Counts allocations.
struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: the system's allocator does the work.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A thread that looks again and again.
struct Spinning;

impl Waiting for Spinning {
    fn until(&self, _deadline_ns: Option<u64>, is_over: Watch<'_>) -> Waited {
        spin(|| is_over(None).then_some(()));
        Waited::Met
    }
}

/// Looks until there is an answer. A machine with one free processor needs the yield.
fn spin<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let mut looks = 0;
    loop {
        if let Some(answer) = look() {
            return answer;
        }
        looks += 1;
        if looks % 2_000 == 0 { std::thread::yield_now() } else { std::hint::spin_loop() }
    }
}

/// callgrind counts the calls of the functions of these names.
#[inline(never)]
fn counted_acquire(member: &mut Member) {
    black_box(member.acquire(&Spinning)).expect("it is free");
}

#[inline(never)]
fn counted_commit(member: &mut Member) {
    black_box(member.commit()).expect("it is acquired");
}

#[inline(never)]
fn counted_wait(member: &mut Member) {
    black_box(member.wait(&Spinning)).expect("it is full");
}

#[inline(never)]
fn counted_release(member: &mut Member) {
    black_box(member.release()).expect("it has been waited for");
}

type Call = fn(&mut Member);

const CALLS: [(&str, Call, bool); 4] = [
    ("acquire", counted_acquire, true),
    ("commit", counted_commit, true),
    ("wait", counted_wait, false),
    ("release", counted_release, false),
];

fn pair(stages: u8) -> [Member; 2] {
    let members = Ring::new(stages).and_then(|ring| ring.split(2, 1)).expect("one of each");
    members.try_into().expect("two")
}

/// A figure beside its limit and its goal. Returns whether it is within the limit.
fn print(name: &str, figure: f64, unit: &str, (limit, goal): (u64, u64)) -> bool {
    let verdict = match () {
        () if figure <= goal as f64 => "within the goal",
        () if figure <= limit as f64 => "within the limit",
        () => "ABOVE THE LIMIT",
    };
    println!("{name:<34}{figure:>8.1} {unit:<14}limit {limit:>4}, goal {goal:>3}: {verdict}");
    figure <= limit as f64
}

fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_unstable_by(f64::total_cmp);
    samples[samples.len() / 2]
}

/// Nanoseconds of a step on each of these, one after the other.
fn time<T>(all: &mut [T], step: impl Fn(&mut T)) -> f64 {
    let start = Instant::now();
    all.iter_mut().for_each(step);
    start.elapsed().as_nanos() as f64 / all.len() as f64
}

/// Prints the times of the four calls. Returns whether they are within the limits.
fn stages() -> bool {
    let mut rings: Vec<[Member; 2]> = (0..RINGS).map(|_| pair(2)).collect();
    let mut samples: [Vec<f64>; 4] = std::array::from_fn(|_| Vec::with_capacity(ROUNDS));
    let mut allocations = 0;
    for round in 0..ROUNDS + WARM_UP {
        for ((_, call, produces), samples) in CALLS.iter().zip(&mut samples) {
            let before = ALLOCATIONS.load(Ordering::Relaxed);
            let figure = time(&mut rings, |[producer, consumer]| call(if *produces { producer } else { consumer }));
            allocations += ALLOCATIONS.load(Ordering::Relaxed) - before;
            if round >= WARM_UP {
                samples.push(figure);
            }
        }
    }
    let mut is_within = allocations == 0;
    println!("{:<34}{allocations:>8} allocations", "all calls");
    for ((name, ..), samples) in CALLS.iter().zip(samples) {
        is_within &= print(name, median(samples), "ns", NANOSECONDS);
    }
    is_within
}

/// Prints the times of a channel's two calls.
fn channel<C>(name: &str, make: impl Fn() -> C, send: impl Fn(&mut C), receive: impl Fn(&mut C)) {
    let mut all: Vec<C> = (0..RINGS).map(|_| make()).collect();
    let (mut sends, mut receives) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS + WARM_UP {
        let (sent, received) = (time(&mut all, &send), time(&mut all, &receive));
        if round >= WARM_UP {
            sends.push(sent);
            receives.push(received);
        }
    }
    println!("{:<34}{:>8.1} ns to send, {:.1} ns to receive", name, median(sends), median(receives));
}

fn channels() {
    channel(
        "crossbeam's bounded channel",
        || crossbeam_channel::bounded::<u64>(2),
        |(sender, _)| sender.send(black_box(7)).expect("there is room"),
        |(_, receiver)| assert!(black_box(receiver.recv()).is_ok()),
    );
    channel(
        "rtrb",
        || rtrb::RingBuffer::<u64>::new(2),
        |(sender, _)| sender.push(black_box(7)).expect("there is room"),
        |(_, receiver)| assert!(black_box(receiver.pop()).is_ok()),
    );
    channel(
        "std's bounded channel",
        || std::sync::mpsc::sync_channel::<u64>(2),
        |(sender, _)| sender.send(black_box(7)).expect("there is room"),
        |(_, receiver)| assert!(black_box(receiver.recv()).is_ok()),
    );
}

/// Half the time of a trip to another thread and back, at the median. `here` and `there` send, then receive.
fn trip(name: &str, mut here: impl FnMut(), mut there: impl FnMut() + Send) {
    std::thread::scope(|scope| {
        scope.spawn(|| (0..TRIPS).for_each(|_| there()));
        let samples = (0..TRIPS).map(|_| {
            let start = Instant::now();
            here();
            start.elapsed().as_nanos() as f64 / 2.0
        });
        println!("{name:<34}{:>8.1} ns to another thread", median(samples.collect()));
    });
}

fn trips() {
    let ([mut to, mut at], [mut back, mut home]) = (pair(2), pair(2));
    let pass = |member: &mut Member| {
        counted_acquire(member);
        counted_commit(member);
    };
    let take = |member: &mut Member| {
        counted_wait(member);
        counted_release(member);
    };
    trip(
        "commit to the return of wait",
        || (pass(&mut to), take(&mut home)).0,
        move || {
            take(&mut at);
            pass(&mut back);
        },
    );
}

fn trips_of_channels() {
    let ((to, at), (back, home)) = (crossbeam_channel::bounded(2), crossbeam_channel::bounded(2));
    trip(
        "crossbeam's bounded channel",
        || {
            to.send(7_u64).expect("it is open");
            spin(|| home.try_recv().ok());
        },
        move || {
            spin(|| at.try_recv().ok());
            back.send(7_u64).expect("it is open");
        },
    );
    let ((mut to, mut at), (mut back, mut home)) = (rtrb::RingBuffer::new(2), rtrb::RingBuffer::new(2));
    trip(
        "rtrb",
        || {
            to.push(7_u64).expect("there is room");
            spin(|| home.pop().ok());
        },
        move || {
            spin(|| at.pop().ok());
            back.push(7_u64).expect("there is room");
        },
    );
    let ((to, at), (back, home)) = (std::sync::mpsc::sync_channel(2), std::sync::mpsc::sync_channel(2));
    trip(
        "std's bounded channel",
        || {
            to.send(7_u64).expect("it is open");
            spin(|| home.try_recv().ok());
        },
        move || {
            spin(|| at.try_recv().ok());
            back.send(7_u64).expect("it is open");
        },
    );
}

fn instructions() -> ExitCode {
    let mut is_within = true;
    for (name, ..) in CALLS {
        match callgrind::count(&format!("counted_{name}"), &["counted"]) {
            Ok(count) => is_within &= print(name, count as f64 / COUNTED as f64, "instructions", INSTRUCTIONS),
            Err(error) => {
                eprintln!("{error}");
                return ExitCode::FAILURE;
            }
        }
    }
    if is_within { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The part that runs under callgrind.
fn counted() -> ExitCode {
    let [mut producer, mut consumer] = pair(2);
    for _ in 0..COUNTED {
        for (_, call, produces) in CALLS {
            call(if produces { &mut producer } else { &mut consumer });
        }
    }
    ExitCode::SUCCESS
}

fn times() -> ExitCode {
    let is_within = stages();
    channels();
    trips();
    trips_of_channels();
    if is_within { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["instructions"] => instructions(),
        ["counted"] => counted(),
        _ => times(),
    }
}
