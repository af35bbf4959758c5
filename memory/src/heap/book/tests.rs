//! Random programs against a simple model: a list of the blocks that are out.

use std::collections::BTreeMap;

use hal::DevicePtr;
use proptest::prelude::*;

use super::*;

const PAGE_BYTES: u64 = 64 << 10;
const OWNERS: [&str; 3] = ["frames", "scratch", "descriptors"];

#[derive(Clone, Debug)]
enum Step {
    Take { bytes: u64, align_bytes: u64, owner: usize },
    Give(usize),
    Trim(u64),
    Settle,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let bytes = prop_oneof![1..1024_u64, 1..PAGE_BYTES, PAGE_BYTES..4 * PAGE_BYTES];
    let step = prop_oneof![
        6 => (bytes, 0..17_u32, 0..OWNERS.len())
            .prop_map(|(bytes, align, owner)| Step::Take { bytes, align_bytes: 1 << align, owner }),
        4 => any::<usize>().prop_map(Step::Give),
        1 => (0..8 * PAGE_BYTES).prop_map(Step::Trim),
        1 => Just(Step::Settle),
    ];
    proptest::collection::vec(step, 1..200)
}

struct Out {
    place: Place,
    start: u64,
    bytes: u64,
    align_bytes: u64,
    owner: usize,
}

struct Rig {
    book: Book,
    /// The pages, by their first byte. They lie apart, at addresses that only the least alignment divides.
    pages: BTreeMap<u64, u64>,
    next_start: u64,
    out: Vec<Out>,
    peak_bytes: u64,
}

impl Rig {
    fn new(options: HeapOptions) -> Rig {
        let book = Book::new(Space::Device, options);
        Rig { book, pages: BTreeMap::new(), next_start: 1 << 20, out: Vec::new(), peak_bytes: 0 }
    }

    fn grow(&mut self, bytes: u64) {
        let start = self.next_start + UNIT_BYTES;
        self.next_start = start + bytes;
        self.pages.insert(start, bytes);
        self.book.add(Memory { start, bytes, device_start: Some(DevicePtr(start + 7)), is_ordered: false });
    }

    fn take(&mut self, bytes: u64, align_bytes: u64, owner: usize) {
        let request = Request { bytes, align_bytes, owner: OWNERS[owner] };
        request.check().unwrap();
        let taken = self.book.take(&request).or_else(|| {
            let before_bytes = self.book.statistics().reserved_bytes;
            let Ok(page_bytes) = self.book.admit(&request, true) else {
                let page_bytes = self.book.options.page_bytes_for(bytes + align_bytes).unwrap();
                assert!(before_bytes + page_bytes > self.book.options.max_bytes);
                return None;
            };
            self.grow(page_bytes);
            Some(self.book.take(&request).expect("a page that was made for a block has room for it"))
        });
        let Some(Taken { place, start, device_start }) = taken else { return };
        assert_eq!(device_start, Some(DevicePtr(start + 7)));
        self.out.push(Out { place, start, bytes, align_bytes, owner });
    }

    fn step(&mut self, step: &Step) {
        let pick = |index: &usize, rig: &Rig| (!rig.out.is_empty()).then(|| index % rig.out.len());
        match step {
            Step::Take { bytes, align_bytes, owner } => self.take(*bytes, *align_bytes, *owner),
            Step::Give(index) => {
                let Some(index) = pick(index, self) else { return };
                let out = self.out.swap_remove(index);
                assert!(self.book.give(&out.place).is_none(), "an open heap keeps its pages");
            }
            Step::Trim(keep_bytes) => {
                while let Some(memory) = self.book.trim(*keep_bytes) {
                    self.forget(&memory);
                }
            }
            Step::Settle => self.book.pauses = 0,
        }
    }

    fn forget(&mut self, memory: &Memory) {
        assert_eq!(self.pages.remove(&memory.start), Some(memory.bytes));
    }

    /// Blocks are aligned, lie in pages, and do not touch each other; the counts are those of the model.
    fn check(&mut self) {
        let mut sorted: Vec<_> = self.out.iter().collect();
        sorted.sort_by_key(|out| out.start);
        for out in &sorted {
            assert!(out.start.is_multiple_of(out.align_bytes) && out.start.is_multiple_of(UNIT_BYTES));
            let (page, page_bytes) = self.pages.range(..=out.start).next_back().expect("a page before it");
            assert!(out.start + out.bytes <= page + page_bytes, "it ends in its page");
        }
        assert!(sorted.windows(2).all(|pair| pair[0].start + pair[0].bytes <= pair[1].start), "blocks are disjoint");

        let seen = self.book.statistics();
        let used_bytes = self.out.iter().map(|out| out.bytes).sum::<u64>();
        self.peak_bytes = self.peak_bytes.max(used_bytes);
        assert_eq!((seen.blocks, seen.used_bytes), (self.out.len() as u64, used_bytes));
        assert_eq!(seen.used_bytes_max, self.peak_bytes);
        assert_eq!((seen.pages, seen.reserved_bytes), (self.pages.len() as u64, self.pages.values().sum()));
        assert_eq!(seen.pages_made - seen.pages_freed, seen.pages);
        assert!(seen.reserved_bytes <= seen.max_bytes);
        for owner in &seen.owners {
            let own = || self.out.iter().filter(|out| OWNERS[out.owner] == owner.owner);
            assert_eq!(owner.blocks, own().count() as u64);
            assert_eq!(owner.bytes, own().map(|out| out.bytes).sum::<u64>());
        }
    }

    /// Closes the books with the blocks that are out, and gives those back afterwards.
    fn close(mut self) {
        let (empty, closed) = self.book.close();
        empty.iter().for_each(|memory| self.forget(memory));
        assert_eq!(closed.leaks.iter().map(|leak| leak.blocks).sum::<u64>(), self.out.len() as u64);
        assert_eq!(closed.left_bytes, self.pages.values().sum::<u64>());
        assert_eq!(closed.is_clean(), self.out.is_empty());
        for out in std::mem::take(&mut self.out) {
            if let Some(memory) = self.book.give(&out.place) {
                self.forget(&memory);
            }
        }
        assert!(self.pages.is_empty(), "the last block of a page takes it along");
    }
}

proptest! {
    #[test]
    fn blocks_are_disjoint_and_counted(steps in steps(), pages_max in 1..40_u64) {
        let max_bytes = pages_max * PAGE_BYTES;
        let mut rig = Rig::new(HeapOptions { page_bytes: PAGE_BYTES, reserve_bytes: 0, max_bytes });
        for step in &steps {
            rig.step(step);
            rig.check();
        }
        rig.close();
    }
}

#[test]
fn a_page_takes_blocks_until_it_is_full_and_gives_one_piece_back() {
    let mut rig = Rig::new(HeapOptions { page_bytes: PAGE_BYTES, reserve_bytes: 0, max_bytes: PAGE_BYTES });
    for _ in 0..4 {
        while rig.out.len() < (PAGE_BYTES / 512) as usize {
            rig.take(512, 1, 0);
        }
        rig.check();
        let full = rig.book.admit(&Request { bytes: 1, align_bytes: 1, owner: "late" }, true).unwrap_err();
        let text = full.to_string();
        assert!(text.contains("max_bytes = 65536") && text.contains("frames has 128 blocks of 65536 bytes"), "{text}");
        while !rig.out.is_empty() {
            rig.step(&Step::Give(7));
        }
        rig.take(PAGE_BYTES, 1, 1);
        assert_eq!(rig.out.len(), 1, "the page is one piece again");
        rig.step(&Step::Give(0));
    }
    rig.close();
}

#[test]
fn requests_that_make_no_sense_are_refused() {
    let plain = Request { bytes: 1, align_bytes: 1, owner: "any" };
    for (request, text) in [
        (Request { bytes: 0, ..plain }, "at least one byte"),
        (Request { align_bytes: 0, ..plain }, "power of two"),
        (Request { align_bytes: 768, ..plain }, "power of two"),
    ] {
        assert!(request.check().unwrap_err().to_string().contains(text), "{request:?}");
    }
    let mut rig = Rig::new(HeapOptions::default());
    let huge = Request { bytes: u64::MAX, align_bytes: 1 << 40, ..plain };
    assert!(rig.book.admit(&huge, true).unwrap_err().to_string().contains("no page holds"));
    assert_eq!(rig.book.statistics().reserved_bytes, 0);
}

#[test]
fn pages_in_reserve_are_few_and_enough() {
    let mut rig = Rig::new(HeapOptions { page_bytes: PAGE_BYTES, ..HeapOptions::default() });
    let bytes = 1000 * PAGE_BYTES + 1;
    while let Some(page_bytes) = rig.book.admit_reserve(bytes, true).unwrap() {
        rig.grow(page_bytes);
    }
    let seen = rig.book.statistics();
    assert!((bytes..bytes + PAGE_BYTES).contains(&seen.reserved_bytes) && seen.pages < 10, "{seen:?}");
    rig.close();
}

#[test]
fn settled_pinned_memory_grows_in_a_pause_only() {
    let mut book = Book::new(Space::Pinned, HeapOptions::default());
    let request = Request { bytes: 5, align_bytes: 1, owner: "late" };
    book.pauses = 0;
    let refused = book.admit(&request, false).unwrap_err();
    assert!(refused.to_string().contains("Heap::pause"), "{refused}");
    book.pauses = 1;
    assert_eq!(book.admit(&request, false), Ok(2 << 20));
}
