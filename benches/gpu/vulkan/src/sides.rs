//! Both sides of a round, and the way of its bytes.

use std::error::Error;
use std::fmt;
use std::os::fd::OwnedFd;

use overtake::hal::ExternalSemaphoreKind;

pub type Outcome<T> = Result<T, Box<dyn Error>>;

/// Where a side waits for the other one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Before it touches the bytes: right.
    Before,
    /// Behind that. The semaphore is used as often, and orders nothing.
    Behind,
}

/// Memory and semaphores that the other API has exported.
pub struct Exported {
    pub memory: OwnedFd,
    /// As it was allocated, which can be more than is used.
    pub memory_bytes: u64,
    pub is_dedicated: bool,
    pub kind: ExternalSemaphoreKind,
    /// It says that their bytes are there.
    pub theirs: OwnedFd,
    /// It says that our bytes are there.
    pub ours: OwnedFd,
}

/// The other API. In a round it writes, and reads the bytes that our side has written in their place.
pub trait Theirs {
    fn export(&self) -> Outcome<Exported>;
    /// Submits: write `word` everywhere, slowly, then signal.
    fn write(&mut self, round: Round) -> Outcome<()>;
    /// Submits: wait, then read.
    fn read(&mut self, round: Round, wait: Wait) -> Outcome<()>;
    /// Waits for both. Returns the bytes that it has read.
    fn seen(&mut self) -> Outcome<Vec<u8>>;
}

/// Our side, between their two steps.
pub trait Ours {
    /// Writes the bytes of the round on the host, before the other side begins: the work between the two sides'
    /// submissions has to be short, or a wait that is missing changes nothing.
    fn prepare(&mut self, round: Round);
    /// Submits: wait, read all bytes, write others in their place, signal.
    fn exchange(&mut self, round: Round, wait: Wait) -> Outcome<()>;
    /// Waits for that. Returns the bytes that it has read.
    fn seen(&mut self) -> Outcome<Vec<u8>>;
    /// The ways that its copies went, for the table.
    fn ways(&self) -> String {
        String::new()
    }
}

/// A round, counted from 1: no word of it is that of another one.
#[derive(Clone, Copy, Debug)]
pub struct Round(pub u64);

impl Round {
    /// The value of a semaphore: timelines have the round's number.
    pub fn value(self, kind: ExternalSemaphoreKind) -> u64 {
        match kind {
            ExternalSemaphoreKind::Binary => 0,
            ExternalSemaphoreKind::Timeline => self.0,
        }
    }

    /// The word that the other side writes everywhere.
    pub fn their_word(self) -> u32 {
        0x8000_0000 | (self.0 as u32).wrapping_mul(0x0085_EBCA)
    }

    pub fn their_bytes(self, bytes: usize) -> Vec<u8> {
        self.their_word().to_ne_bytes().repeat(bytes / 4)
    }

    /// The bytes that our side writes: another word at each place.
    pub fn our_bytes(self, bytes: usize) -> Vec<u8> {
        let first = (self.0 as u32).wrapping_mul(0x9E37_79B9);
        (0..bytes as u32 / 4).flat_map(|index| (first.wrapping_add(index) & 0x7FFF_FFFF).to_ne_bytes()).collect()
    }
}

/// A sentence for a person.
#[derive(Debug)]
pub struct Sentence(pub String);

impl fmt::Display for Sentence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Sentence {}
