//! The records of data: for each object the uses of its bytes.

use std::ops::Range;

use super::access::{Access, DataId};
use super::spans::Spans;
use super::uses::Uses;
use crate::node::NodeId;

/// An object.
struct Entry {
    generation: u32,
    /// It has bytes, and const uses are seen.
    is_whole: bool,
    /// It has no bytes, and is used as a whole.
    is_token: bool,
    bytes: u64,
    uses: Spans<Uses>,
}

/// All records.
#[derive(Default)]
pub(crate) struct Records {
    entries: Vec<Entry>,
    free: Vec<u32>,
    /// The nodes that the node at hand comes after: empty between calls.
    pub found: Vec<NodeId>,
}

const FORGOTTEN: &str = "it uses data that has been forgotten: forget data after its last use is submitted";
const BEYOND: &str = "it uses bytes beyond the end of its data: check the range against the size";
const TOKEN: &str = "it uses bytes of a token, which has none: use it as a whole";

impl Records {
    /// A new object. A token is one byte, which is used as a whole.
    pub fn create(&mut self, bytes: Option<u64>, sees_const: bool) -> DataId {
        let (is_token, bytes) = (bytes.is_none(), bytes.unwrap_or(1));
        let (is_whole, uses) = (bytes > 0 && sees_const, Spans::new(bytes, Uses::new()));
        let mut entry = Entry { generation: 0, is_whole, is_token, bytes, uses };
        let Some(index) = self.free.pop() else {
            self.entries.push(entry);
            return DataId { index: self.entries.len() as u32 - 1, generation: 0 };
        };
        let free = &mut self.entries[index as usize];
        entry.generation = free.generation;
        *free = entry;
        DataId { index, generation: free.generation }
    }

    /// Forgets an object.
    pub fn forget(&mut self, data: DataId) -> Result<(), &'static str> {
        self.place(data, None)?;
        let entry = &mut self.entries[data.index()];
        entry.generation = entry.generation.wrapping_add(1);
        entry.uses = Spans::new(0, Uses::new());
        self.free.push(data.index);
        Ok(())
    }

    /// The uses of an object, and the bytes of an access to it.
    pub fn place(
        &mut self,
        data: DataId,
        range: Option<&Range<u64>>,
    ) -> Result<(&mut Spans<Uses>, Range<u64>), &'static str> {
        let entry = self.entries.get_mut(data.index()).filter(|entry| entry.generation == data.generation);
        let entry = entry.ok_or(FORGOTTEN)?;
        let Some(range) = range else { return Ok((&mut entry.uses, 0..entry.bytes)) };
        if entry.is_token {
            return Err(TOKEN);
        }
        if range.start > range.end || range.end > entry.bytes {
            return Err(BEYOND);
        }
        Ok((&mut entry.uses, range.clone()))
    }

    /// The uses of every byte of an object, if this is an access to all and they agree. It is the common case of
    /// [`Records::place`].
    #[inline]
    pub fn whole(&mut self, access: &Access) -> Option<&mut Uses> {
        let entry = self.entries.get_mut(access.data.index as usize)?;
        if entry.generation != access.data.generation || !entry.is_whole || access.range.is_some() {
            return None;
        }
        entry.uses.whole_mut()
    }

    /// How many parts the uses of an object have.
    pub fn parts(&self, data: DataId) -> usize {
        let entry = self.entries.get(data.index()).filter(|entry| entry.generation == data.generation);
        entry.map_or(0, |entry| entry.uses.count())
    }

    /// The uses of all records.
    pub fn all(&self) -> impl Iterator<Item = &Spans<Uses>> {
        self.entries.iter().map(|entry| &entry.uses)
    }
}
