use std::sync::Mutex;

use driver::RealHost;

use hal::Context;

use super::*;

fn place(stream: u64, context: u64, is_blocking: bool) -> Place {
    Place { stream: Stream(stream), context: Context(context), is_blocking }
}

const TABLE: u64 = 0x100;

fn new() -> StreamLock {
    StreamLock::new(own::seats())
}

#[test]
fn the_legacy_stream_meets_blocking_streams_of_its_context_and_others_meet_themselves() {
    let (legacy, own) = (place(Stream::LEGACY.0, 1, true), place(Stream::PER_THREAD.0, 1, true));
    let (blocking, free) = (place(0x100, 1, true), place(0x200, 1, false));
    for (one, other, meets) in [
        (legacy, legacy, true),
        (legacy, blocking, true),
        (legacy, own, true),
        (legacy, free, false),
        (legacy, place(Stream::LEGACY.0, 2, true), false),
        (legacy, place(0x100, 2, true), false),
        (blocking, place(0x100, 2, true), true),
        (blocking, blocking, true),
        (blocking, place(0x180, 1, true), false),
        (blocking, free, false),
        (free, free, true),
        (own, own, false),
        (own, blocking, false),
    ] {
        assert_eq!((one.meets(&other), other.meets(&one)), (meets, meets), "{one:?} and {other:?}");
        // Of a thread inside a call less is known, so it may meet more.
        let may_meet =
            one.may_meet(other.stream.0, Within::default()) && other.may_meet(one.stream.0, Within::default());
        assert!(may_meet || !meets || one.stream == Stream::PER_THREAD, "{one:?} and {other:?}");
    }
    let any = Within::default();
    assert!(!free.may_meet(Stream::LEGACY.0, any) && !free.may_meet(OUTSIDE, any) && free.may_meet(SEVERAL, any));
    let elsewhere = Within::of(Context(2), None);
    assert!(!legacy.may_meet(Stream::LEGACY.0, elsewhere) && !legacy.may_meet(0x300, elsewhere));
    assert!(
        legacy.may_meet(0x300, Within::of(Context(1), None))
            && !legacy.may_meet(0x200, Within::of(Context(1), Some(&free)))
    );
    assert!(blocking.may_meet(0x100, elsewhere), "one stream, with another context current");
    assert_eq!(number(Stream::DEFAULT), Stream::LEGACY.0);
}

/// Two threads make a copy of two parts, and two others look at it: all see both parts or none.
#[test]
fn no_call_enters_between_the_parts_of_a_copy() {
    let rounds = if cfg!(miri) { 4 } else { 2_000 };
    let (lock, host, table) = (new(), RealHost::new(), [const { AtomicU64::new(0) }; 2]);
    let (lock, table) = (&lock, &table);
    let here = place(TABLE, 1, true);
    std::thread::scope(|scope| {
        for writer in 0..2 {
            let host = &host;
            scope.spawn(move || {
                for round in 0..rounds {
                    let version = writer * rounds + round;
                    // A thread inside may not leave in time on a loaded machine.
                    let Some(_closed) = lock.exclude(here, host) else { continue };
                    table[0].store(version, Ordering::SeqCst);
                    std::thread::yield_now();
                    table[1].store(version, Ordering::SeqCst);
                }
            });
        }
        for stream in [TABLE, Stream::LEGACY.0] {
            let host = &host;
            scope.spawn(move || {
                for _ in 0..rounds {
                    let _entered =
                        lock.share(Stream(stream), Within::default(), || (place(stream, 1, true), host as &dyn Host));
                    let seen = table.each_ref().map(|word| word.load(Ordering::SeqCst));
                    assert_eq!(seen[0], seen[1], "a part of a copy");
                }
            });
        }
    });
    assert_eq!((locks::lock(&lock.holders).len(), lock.held.load(Ordering::SeqCst)), (0, 0));
}

/// A thread that stays inside makes the closing thread give up, and others need not wait for either.
#[test]
fn a_thread_that_stays_inside_is_not_waited_for_for_ever() {
    let (lock, host) = (new(), RealHost::new());
    let here = place(TABLE, 1, false);
    let shared = lock.share(Stream(TABLE), Within::default(), || unreachable!("no stream is held"));
    std::thread::scope(|scope| {
        let closing = scope.spawn(|| lock.exclude(here, &host).is_some());
        assert!(!closing.join().unwrap(), "this thread is inside");
        let elsewhere = scope.spawn(|| lock.exclude(place(0x200, 1, false), &host).is_some());
        assert!(elsewhere.join().unwrap(), "another stream");
    });
    drop(shared);
    assert!(lock.exclude(here, &host).is_some(), "it has left");
}

/// A call that stays inside costs the threads that want the stream their patience once.
#[test]
fn one_long_call_is_not_waited_for_again_and_again() {
    let (lock, host) = (new(), RealHost::new());
    let _shared = lock.share(Stream(TABLE), Within::default(), || unreachable!("no stream is held"));
    std::thread::scope(|scope| {
        let tries = scope.spawn(|| {
            let began = host.now();
            assert!((0..40).all(|_| lock.exclude(place(TABLE, 1, false), &host).is_none()));
            host.now().since(began)
        });
        assert!(tries.join().unwrap().0 < 20 * PATIENCE.0);
    });
}

/// A host that does something in each wait, and then looks once.
struct Meanwhile(Mutex<Box<dyn FnMut() + Send>>);

impl Host for Meanwhile {
    fn now(&self) -> Nanos {
        Nanos::ZERO
    }
    fn sleep(&self, _span: Nanos) {}
    fn pause(&self) {}
    fn wait_until(&self, _deadline: Option<Nanos>, condition: &mut (dyn FnMut() -> bool + Send)) -> Wait {
        (locks::lock(&self.0))();
        if condition() { Wait::Met } else { Wait::Deadline }
    }
    fn announce(&self, _name: &str) -> hal::ThreadToken {
        hal::ThreadToken(0)
    }
    fn retract(&self, _token: hal::ThreadToken) {}
    fn enter(&self, _token: hal::ThreadToken) {}
    fn leave(&self) {}
    fn outside(&self, block: &mut dyn FnMut()) {
        block();
    }
    fn is_virtual(&self) -> bool {
        false
    }
}

/// A thread that makes one call after the other keeps nobody out, if it is in no other way.
#[test]
fn calls_that_come_later_are_not_waited_for() {
    let seats: &'static Seats = Box::leak(Box::default());
    let lock: &'static StreamLock = Box::leak(Box::new(StreamLock::new(seats)));
    let [own, others] = [(); 2].map(|()| seats.take().unwrap());
    let free = place(0x300, 1, false);
    let call = move || lock.share_at(Some(others), Stream(0x300), Within::default(), || (free, &*IDLE as &dyn Host));
    let mut inside = Some(call());
    let busy = Meanwhile(Mutex::new(Box::new(move || {
        drop(inside.take());
        inside.replace(call());
    })));
    let legacy = place(Stream::LEGACY.0, 1, true);
    assert!(lock.exclude_at(own, legacy, &busy).is_some(), "the call that was inside has ended");
    // The next one has begun, and stays.
    assert!(lock.exclude_at(own, legacy, &*IDLE).is_none());
}

static IDLE: std::sync::LazyLock<Meanwhile> = std::sync::LazyLock::new(|| Meanwhile(Mutex::new(Box::new(|| {}))));

/// A thread enters the stream that it has held itself, and a call that makes another one does not wait.
#[test]
fn a_thread_does_not_wait_for_itself() {
    let (lock, host) = (new(), RealHost::new());
    let here = place(TABLE, 1, true);
    let around = || (here, &host as &dyn Host);
    let held = lock.exclude(here, &host).unwrap();
    drop(lock.share(Stream(TABLE), Within::default(), around));
    std::thread::scope(|scope| {
        let nested = scope.spawn(|| {
            let _outer = lock.share(Stream(0x300), Within::default(), || (place(0x300, 1, false), &host as &dyn Host));
            drop(lock.share(Stream(TABLE), Within::default(), around));
            own::seat().map(|seat| seat.entering.load(Ordering::SeqCst))
        });
        assert_eq!(nested.join().unwrap(), Some(0x300), "the outer call goes on");
    });
    drop(held);
}

/// Threads that come and go share few seats.
#[test]
fn the_seat_of_an_ended_thread_is_given_to_another() {
    let seats: &'static Seats = Box::leak(Box::default());
    let first = seats.take().unwrap();
    assert!(!std::ptr::eq(first, seats.take().unwrap()));
    first.leave();
    assert!(std::ptr::eq(first, seats.take().unwrap()));
    let seen = Mutex::new(Vec::new());
    for _ in 0..100 {
        std::thread::scope(|scope| {
            let _ =
                scope.spawn(|| locks::lock(&seen).push(own::seat().map(std::ptr::from_ref).map(<*const Seat>::addr)));
        });
    }
    let mut seen = seen.into_inner().unwrap();
    seen.sort_unstable();
    seen.dedup();
    assert!(seen.len() < 50, "each thread left a seat behind");
}
