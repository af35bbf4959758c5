//! Tests of the book by itself: the copies that it forgets, takes, finds overdue and gives to the rescuer.

use std::sync::Arc;

use channels::Shape;
use semaphores::Words;

use super::super::callers::Callers;
use super::*;
use crate::kernel::handshake::WORDS;

const STREAM: Stream = Stream(7);
const TARGET: u64 = 0x1_0000;
const SOURCE: u64 = 0x9_0000;
const BYTES: u64 = 0x100;

/// Launch `number`. Its event has the same number, and its memory lies behind that of earlier launches.
fn carried(number: u32) -> Carried {
    let at = u64::from(number) * BYTES;
    Carried {
        number,
        ready: Event(u64::from(number)),
        ready_since: None,
        load: Load::Shapes { shapes: vec![Shape::linear(TARGET + at, SOURCE + at, BYTES)], descriptors: Vec::new() },
        direction: Direction::HostToDevice,
        workers: Workers { blocks: 1, warps: 1 },
        maker: Maker::Kernel,
        fence: Fence::of(number),
    }
}

/// A book of copies of one stream; the last launch is `last`.
fn book(numbers: std::ops::RangeInclusive<u32>) -> Book {
    let last = *numbers.end();
    let mut book = Book { last, copies: numbers.map(carried).collect(), ..Book::default() };
    book.stream = Some(STREAM);
    book
}

fn makers(book: &Book) -> Vec<Maker> {
    book.copies.iter().map(|copy| copy.maker).collect()
}

#[test]
fn a_copy_that_is_done_is_forgotten_with_its_stream() {
    let mut book = book(4..=6);
    assert_eq!((book.tidy(3), book.done()), (vec![], 3));
    assert_eq!((book.tidy(5), book.done()), (vec![Event(4), Event(5)], 5));
    assert!(book.is_of(STREAM));
    assert_eq!((book.tidy(6), book.done(), book.stream), (vec![Event(6)], 6, None));
    let mut wrapping = Book { copies: [u32::MAX, 0, 1].map(carried).into(), last: 1, ..Book::default() };
    assert_eq!(wrapping.done(), u32::MAX - 1);
    assert_eq!((wrapping.tidy(0).len(), wrapping.done()), (2, 0));
}

#[test]
fn it_takes_copies_of_one_stream_while_nothing_is_wrong() {
    let mut book = book(1..=1);
    let other = Stream(8);
    assert!(book.takes(STREAM) && !book.takes(other));
    assert!(Book::default().takes(other), "no stream has it");
    book.taken_over = true;
    assert!(!book.takes(STREAM) && !Book { taken_over: true, ..Book::default() }.takes(other));
    assert!(!Book { closed: true, ..Book::default() }.takes(other));
    let full = Book { copies: (0..COPIES_MAX as u32).map(carried).collect(), ..Book::default() };
    assert!(!full.takes(other), "there is room for no more");
}

#[test]
fn a_stream_that_has_gone_has_no_copies() {
    let mut book = book(1..=1);
    book.forget(Stream(8));
    assert!(book.is_of(STREAM));
    book.forget(STREAM);
    assert!(!book.is_of(STREAM) && !book.takes(STREAM), "its copies go on, and the handle may mean another stream");
}

#[test]
fn per_thread_streams_of_two_threads_are_two_streams() {
    let mut book = Book::default();
    book.add(Stream::PER_THREAD, carried(1));
    assert!(book.is_of(Stream::PER_THREAD) && book.last == 1);
    std::thread::scope(|scope| {
        scope.spawn(|| assert!(!book.is_of(Stream::PER_THREAD) && !book.takes(Stream::PER_THREAD)));
    });
    let mut book = Book::default();
    book.add(STREAM, carried(1));
    std::thread::scope(|scope| {
        scope.spawn(|| assert!(book.is_of(STREAM), "any other stream is the same everywhere"));
    });
}

#[test]
fn the_first_is_overdue_when_it_could_have_begun_so_long_ago() {
    let (mut book, patience) = (book(1..=2), Nanos(100));
    assert!(!book.is_overdue(0, Nanos(999), patience), "it has not been seen that it could begin");
    book.copies[0].ready_since = Some(Nanos(50));
    assert!(!book.is_overdue(0, Nanos(149), patience) && book.is_overdue(0, Nanos(150), patience));
    assert!(!book.is_overdue(1, Nanos(150), patience), "it has begun");
    book.copies[0].maker = Maker::Written;
    assert!(!book.is_overdue(0, Nanos(150), patience), "the rescuer has it");
    assert!(!Book::default().is_overdue(0, Nanos(150), patience));
}

#[test]
fn a_copy_that_has_not_begun_matters_where_it_touches_the_memory() {
    let mut book = book(1..=3);
    let mut first =
        |started, memory: Option<Range<u64>>| book.first_to_begin(started, memory.as_ref()).map(|copy| copy.number);
    assert_eq!([0, 1, 3].map(|started| first(started, None)), [Some(1), Some(2), None]);
    let of = |base: u64, number: u64| Some(base + number * BYTES..base + (number + 1) * BYTES);
    for base in [TARGET, SOURCE] {
        assert_eq!(first(0, of(base, 3)), Some(1), "those before it have to begin first");
        assert_eq!(first(2, of(base, 3)), Some(3));
        assert_eq!((first(2, of(base, 2)), first(0, of(base, 4))), (None, None), "it has begun; no copy touches that");
    }
}

#[test]
fn a_copy_is_being_made_once_its_kernel_has_begun() {
    let mut book = book(4..=5);
    assert_eq!([3, 4].map(|started| book.copies_now(started)), [false, true]);
    book.copies[0].maker = Maker::Joined;
    assert!(!book.copies_now(4), "the rescuer makes it");
    assert!(!Book::default().copies_now(4));
}

#[test]
fn a_take_over_cancels_all_and_finds_their_makers() {
    let words = Arc::new(Words::new(&crate::soft::driver(), WORDS).unwrap());
    let line = Line::new(&words, 0);
    let taken = |outcome| {
        let mut book = book(4..=6);
        book.take_over(&line, Takeover::insist(&Arc::new(Callers::default())));
        assert!(book.taken_over && book.takeover.is_some() && words.load(1) == 6);
        assert_eq!(makers(&book), [Maker::Asked; 3]);
        let settled = book.settle(4, outcome);
        (settled, makers(&book), book.is_settled())
    };
    assert_eq!(taken(7), ((false, 0), vec![Maker::Asked; 3], false), "the kernel has not said what it does");
    assert_eq!(taken(8), ((true, 2), vec![Maker::Kernel, Maker::Rescuer, Maker::Rescuer], false), "it copies");
    assert_eq!(taken(9), ((true, 3), vec![Maker::Rescuer; 3], false), "it does not");
}

#[test]
fn nothing_is_asked_twice() {
    let mut book = book(4..=5);
    assert_eq!((book.settle(4, 8), book.is_settled()), ((true, 0), true), "nothing was taken over");
    book.copies[0].maker = Maker::Rescuer;
    assert_eq!((book.settle(4, 9), makers(&book)), ((true, 0), vec![Maker::Rescuer, Maker::Kernel]));
    for (maker, settled) in [(Maker::Joined, false), (Maker::Copied, false), (Maker::Written, true)] {
        book.copies[0].maker = maker;
        assert_eq!(book.is_settled(), settled, "{maker:?}");
    }
    assert_eq!(Book::default().settle(0, 0), (true, 0));
}
