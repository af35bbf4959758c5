//! The one file that touches memory by address: the backing of allocations, and moves between them.
//!
//! A [`Span`] is a range of this process's memory that is valid for reads and writes while it is used. There are
//! four ways to one: from [`Backing`] that we own; from a [`Mapping`], which a backing keeps; from the promise of the
//! caller of an `unsafe` driver method, which [`Backing::promised`] holds as long as the promise holds; and as a part
//! of another span. The rest of this file follows from that invariant.
#![allow(unsafe_code)]

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use hal::Width;

use crate::mapping::Mapping;

const PAGE_BYTES: usize = 4096;

/// Memory behind an allocation or a registration.
pub(crate) struct Backing {
    start: NonNull<u8>,
    bytes: u64,
    kept: Kept,
}

/// The reason why the memory is there.
enum Kept {
    Promised,
    Allocated(NonNull<u8>, Layout),
    Mapped { _mapping: Arc<Mapping> },
}

// SAFETY: the pointers name memory that is not tied to a thread: the heap's, a mapping, or the caller's by a promise
// that names no thread. All access goes through `Span`, whose methods document concurrent access.
unsafe impl Send for Backing {}

impl Backing {
    /// Zeroed, page-aligned memory. Its pages come into being when they are touched; `None` if the system lacks
    /// memory.
    pub(crate) fn zeroed(bytes: u64) -> Option<Backing> {
        // The allocator zeroes lazily at its own alignment only, so the page alignment is made here.
        let total = usize::try_from(bytes).ok()?.checked_add(PAGE_BYTES)?;
        let layout = Layout::from_size_align(total, 16).ok()?;
        // SAFETY: the layout's size is at least PAGE_BYTES, so it is not zero.
        let base = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        let skip = base.as_ptr().align_offset(PAGE_BYTES);
        // SAFETY: `skip < PAGE_BYTES` and the block is PAGE_BYTES longer than `bytes`, so this stays inside it.
        let start = unsafe { base.add(skip) };
        Some(Backing { start, bytes, kept: Kept::Allocated(base, layout) })
    }

    /// Memory of the caller.
    ///
    /// # Safety
    /// The range is mapped for reads and writes until this value is dropped.
    pub(crate) unsafe fn promised(start: NonNull<u8>, bytes: u64) -> Backing {
        Backing { start, bytes, kept: Kept::Promised }
    }

    /// A part of mapped memory, which stays mapped as long as this lives.
    ///
    /// # Panics
    /// If the part is not inside.
    pub(crate) fn mapped(mapping: &Arc<Mapping>, offset: u64, bytes: u64) -> Backing {
        let inside = offset.checked_add(bytes).is_some_and(|end| end <= mapping.bytes());
        assert!(inside, "a part lies inside its mapping");
        // SAFETY: `offset` is inside the mapping, as asserted just above.
        let start = unsafe { mapping.start().add(offset as usize) };
        Backing { start, bytes, kept: Kept::Mapped { _mapping: Arc::clone(mapping) } }
    }

    pub(crate) fn address(&self) -> u64 {
        self.start.as_ptr() as u64
    }

    pub(crate) fn pointer(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// All of it.
    pub(crate) fn span(&self) -> Span<'_> {
        Span { start: self.start, bytes: self.bytes, backing: std::marker::PhantomData }
    }
}

impl Drop for Backing {
    fn drop(&mut self) {
        if let Kept::Allocated(base, layout) = self.kept {
            // SAFETY: `base` came from `alloc_zeroed` with this very layout, and spans do not outlive the backing.
            unsafe { dealloc(base.as_ptr(), layout) }
        }
    }
}

/// A range of memory that is valid while it is borrowed.
#[derive(Clone, Copy)]
pub(crate) struct Span<'a> {
    start: NonNull<u8>,
    bytes: u64,
    backing: std::marker::PhantomData<&'a Backing>,
}

impl<'a> Span<'a> {
    /// A part.
    ///
    /// # Panics
    /// If the part is not inside: the caller has checked bounds against the same allocation.
    pub(crate) fn part(self, offset: u64, bytes: u64) -> Span<'a> {
        assert!(offset.checked_add(bytes).is_some_and(|end| end <= self.bytes), "a part lies inside its span");
        // SAFETY: `offset` is at most `self.bytes`, so the result is inside the span or one past its end.
        let start = unsafe { self.start.add(offset as usize) };
        Span { start, bytes, ..self }
    }

    /// Fills it with bytes.
    pub(crate) fn fill(self, value: u8) {
        // SAFETY: the span is valid for writes of its whole length (module invariant).
        unsafe { self.start.as_ptr().write_bytes(value, self.bytes as usize) }
    }

    /// Fills it with words.
    pub(crate) fn fill32(self, value: u32) {
        let words = self.bytes / 4;
        for word in 0..words {
            // SAFETY: word `word` of `words` lies inside the span; the write needs no alignment.
            unsafe { self.start.as_ptr().add(word as usize * 4).cast::<u32>().write_unaligned(value) }
        }
    }

    /// Copies `source`, which has the same length; both may overlap. Four and eight aligned bytes go in one piece,
    /// because such copies are completion words that a CPU polls.
    pub(crate) fn copy_from(self, source: Span<'_>) {
        assert_eq!(self.bytes, source.bytes, "both sides of a move are equally long");
        let aligned = (self.start.as_ptr() as u64 | source.start.as_ptr() as u64).is_multiple_of(self.bytes.max(1));
        match self.bytes {
            4 if aligned => self.store(0, Width::W32, source.load(0, Width::W32)),
            8 if aligned => self.store(0, Width::W64, source.load(0, Width::W64)),
            // SAFETY: both spans are valid for their length (module invariant), and `copy` allows overlap. The driver's
            // contract forbids the host to touch either side while a copy is under way.
            _ => unsafe { std::ptr::copy(source.start.as_ptr(), self.start.as_ptr(), self.bytes as usize) },
        }
    }

    /// The bytes, copied out.
    pub(crate) fn to_vec(self) -> Vec<u8> {
        let mut bytes = vec![0; self.bytes as usize];
        // SAFETY: the span is valid for reads of its length, and the vector was made as long.
        unsafe { std::ptr::copy_nonoverlapping(self.start.as_ptr(), bytes.as_mut_ptr(), bytes.len()) }
        bytes
    }

    /// Writes bytes that are as long as the span.
    pub(crate) fn write(self, bytes: &[u8]) {
        assert_eq!(self.bytes, bytes.len() as u64, "both sides of a move are equally long");
        // SAFETY: the span is valid for writes of its length, which is the slice's.
        unsafe { std::ptr::copy(bytes.as_ptr(), self.start.as_ptr(), bytes.len()) }
    }

    fn word(self, offset: u64, width: Width) -> NonNull<u8> {
        let word = self.part(offset, width.bytes()).start;
        assert_eq!(word.as_ptr() as u64 % width.bytes(), 0, "words are aligned");
        word
    }

    /// Reads a word that CPU threads and the device share.
    pub(crate) fn load(self, offset: u64, width: Width) -> u64 {
        let word = self.word(offset, width).as_ptr();
        match width {
            // SAFETY: `word` checked that four aligned bytes of the span lie there; they stay valid for this call.
            Width::W32 => u64::from(unsafe { AtomicU32::from_ptr(word.cast()) }.load(Ordering::Acquire)),
            // SAFETY: as above, with eight bytes.
            Width::W64 => unsafe { AtomicU64::from_ptr(word.cast()) }.load(Ordering::Acquire),
        }
    }

    /// Writes a word that CPU threads and the device share. All bytes moved before are visible with it.
    pub(crate) fn store(self, offset: u64, width: Width, value: u64) {
        let word = self.word(offset, width).as_ptr();
        match width {
            // SAFETY: `word` checked that four aligned bytes of the span lie there; they stay valid for this call.
            Width::W32 => unsafe { AtomicU32::from_ptr(word.cast()) }.store(value as u32, Ordering::Release),
            // SAFETY: as above, with eight bytes.
            Width::W64 => unsafe { AtomicU64::from_ptr(word.cast()) }.store(value, Ordering::Release),
        }
    }

    /// Adds to a 32-bit word atomically and returns the old value.
    pub(crate) fn add32(self, offset: u64, value: u32) -> u32 {
        let word = self.word(offset, Width::W32).as_ptr();
        // SAFETY: `word` checked that four aligned bytes of the span lie there; they stay valid for this call.
        unsafe { AtomicU32::from_ptr(word.cast()) }.fetch_add(value, Ordering::AcqRel)
    }
}

/// A range of pageable memory that the caller of a driver method lends for the length of the call.
#[derive(Clone, Copy)]
pub(crate) struct Lent {
    start: u64,
    bytes: u64,
}

impl Lent {
    /// # Safety
    /// The range stays valid until the call returns, for reads where the driver reads and for writes where it writes.
    /// For the planted bug of a late read it stays valid until the copy has executed.
    pub(crate) unsafe fn for_call(start: u64, bytes: u64) -> Lent {
        Lent { start, bytes }
    }

    /// A part, which the caller has checked to be inside.
    pub(crate) fn part(self, offset: u64, bytes: u64) -> Lent {
        Lent { start: self.start + offset, bytes }
    }

    pub(crate) fn start(self) -> u64 {
        self.start
    }

    /// Reads a part of the range. The caller has checked that `offset + bytes` is inside.
    pub(crate) fn read(self, offset: u64, bytes: u64) -> Vec<u8> {
        match self.span(offset, bytes) {
            Some(span) => span.to_vec(),
            None => Vec::new(),
        }
    }

    /// Writes part of it.
    pub(crate) fn write(self, offset: u64, bytes: &[u8]) {
        if let Some(span) = self.span(offset, bytes.len() as u64) {
            span.write(bytes);
        }
    }

    fn span(&self, offset: u64, bytes: u64) -> Option<Span<'_>> {
        let whole =
            Span { start: NonNull::new(self.start as *mut u8)?, bytes: self.bytes, backing: std::marker::PhantomData };
        Some(whole.part(offset, bytes))
    }
}

/// Reads the parameters of a launch, each by its declared size.
///
/// # Safety
/// Every pointer is null or names as many readable bytes as the size at its place says.
pub(crate) unsafe fn read_parameters(pointers: &[*mut c_void], sizes: &[u32]) -> Option<Vec<Vec<u8>>> {
    if pointers.len() != sizes.len() || pointers.iter().any(|p| p.is_null()) {
        return None;
    }
    let read = |(pointer, size): (&*mut c_void, &u32)| {
        let mut bytes = vec![0; *size as usize];
        // SAFETY: not null (checked), and the caller promises that `size` bytes are readable there.
        unsafe { std::ptr::copy_nonoverlapping(pointer.cast::<u8>(), bytes.as_mut_ptr(), bytes.len()) }
        bytes
    };
    Some(pointers.iter().zip(sizes).map(read).collect())
}
