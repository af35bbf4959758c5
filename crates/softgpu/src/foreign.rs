//! Memory and semaphores of another API, in the manner of Vulkan: descriptors that the software GPU imports.
//!
//! Each is a memory file with a header, so a descriptor may come from another process, and one of a thing that is
//! neither is refused. The other side of both is here: the bytes and the values as the other API sees them.

use std::fmt;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use hal::{ExternalSemaphoreKind, Width};

use crate::mapping::{self, Mapping};
use crate::raw::Backing;

/// The header, and the place of a semaphore's word in it. Memory begins behind it.
pub(crate) const HEADER_BYTES: u64 = 4096;
pub(crate) const WORD_AT: u64 = 64;
const MAGIC: u64 = u64::from_le_bytes(*b"overtake");

/// The kind of a thing behind a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Thing {
    Memory,
    Semaphore(ExternalSemaphoreKind),
}

const THINGS: [Thing; 3] =
    [Thing::Memory, Thing::Semaphore(ExternalSemaphoreKind::Binary), Thing::Semaphore(ExternalSemaphoreKind::Timeline)];

fn create(thing: Thing, bytes: u64) -> io::Result<(File, Backing)> {
    let file = mapping::create(HEADER_BYTES.checked_add(bytes).ok_or(io::ErrorKind::InvalidInput)?)?;
    let number = THINGS.iter().position(|other| *other == thing).unwrap_or(0) as u64;
    file.write_all_at(&[MAGIC.to_le_bytes(), number.to_le_bytes()].concat(), 0)?;
    let mapping = Arc::new(Mapping::new(&file)?);
    let (start, bytes) = if bytes > 0 { (HEADER_BYTES, bytes) } else { (WORD_AT, 8) };
    Ok((file, Backing::mapped(&mapping, start, bytes)))
}

/// The mapping behind a descriptor of such a thing.
pub(crate) fn open(descriptor: OwnedFd, thing: Thing) -> Result<Arc<Mapping>, String> {
    let file = File::from(descriptor);
    let mut header = [0; 16];
    let unknown = |why: &dyn fmt::Display| format!("the descriptor is none of softgpu::foreign: {why}");
    file.read_exact_at(&mut header, 0).map_err(|error| unknown(&error))?;
    let (magic, number) = header.split_at(8);
    if magic != MAGIC.to_le_bytes() {
        return Err(unknown(&"it has another header"));
    }
    let found = THINGS.iter().enumerate().find(|(index, _)| number == (*index as u64).to_le_bytes());
    let found = found.map(|(_, thing)| *thing);
    if found != Some(thing) {
        return Err(format!("the descriptor is of {found:?}, and is imported as {thing:?}"));
    }
    Mapping::new(&file).map(Arc::new).map_err(|error| unknown(&error))
}

/// Memory of another API.
pub struct ForeignMemory {
    file: File,
    backing: Backing,
    bytes: u64,
}

impl ForeignMemory {
    /// So many zeros.
    ///
    /// # Errors
    /// The system has no memory or no descriptor, or `bytes` is 0.
    pub fn new(bytes: u64) -> io::Result<ForeignMemory> {
        if bytes == 0 {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let (file, backing) = create(Thing::Memory, bytes)?;
        Ok(ForeignMemory { file, backing, bytes })
    }

    /// A descriptor to import. Each call gives another one of the same memory.
    ///
    /// # Errors
    /// The system has no descriptor.
    pub fn export(&self) -> io::Result<OwnedFd> {
        self.file.try_clone().map(OwnedFd::from)
    }

    /// All bytes, as the other API sees them.
    #[must_use]
    pub fn read(&self) -> Vec<u8> {
        self.backing.span().to_vec()
    }

    /// Writes bytes from `offset` on.
    ///
    /// # Panics
    /// If they do not fit.
    pub fn write(&self, offset: u64, bytes: &[u8]) {
        self.backing.span().part(offset, bytes.len() as u64).write(bytes);
    }
}

impl fmt::Debug for ForeignMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ForeignMemory").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

/// A semaphore of another API.
pub struct ForeignSemaphore {
    file: File,
    word: Backing,
}

impl ForeignSemaphore {
    /// A semaphore that is not signalled: a timeline has the value 0.
    ///
    /// # Errors
    /// The system has no memory or no descriptor.
    pub fn new(kind: ExternalSemaphoreKind) -> io::Result<ForeignSemaphore> {
        let (file, word) = create(Thing::Semaphore(kind), 0)?;
        Ok(ForeignSemaphore { file, word })
    }

    /// A descriptor to import. Each call gives another one of the same semaphore.
    ///
    /// # Errors
    /// The system has no descriptor.
    pub fn export(&self) -> io::Result<OwnedFd> {
        self.file.try_clone().map(OwnedFd::from)
    }

    /// The value of a timeline; 1 or 0 for a binary semaphore that is signalled or not.
    #[must_use]
    pub fn value(&self) -> u64 {
        self.word.span().load(0, Width::W64)
    }

    /// Signals it as the other API does: a timeline with this value, a binary one with 1.
    pub fn signal(&self, value: u64) {
        self.word.span().store(0, Width::W64, value);
    }
}

impl fmt::Debug for ForeignSemaphore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ForeignSemaphore").field("value", &self.value()).finish_non_exhaustive()
    }
}
