//! The records of data: for each object the uses of its bytes, which its views share.

use std::ops::Range;

use super::access::{Access, DataId};
use super::spans::Spans;
use super::uses::Uses;
use crate::node::NodeId;

/// An object or a view.
struct Entry {
    generation: u32,
    /// The entry that has the record: this one, or that of the object which it is a view of.
    of: u32,
    /// It is an object, and has bytes; and const uses are seen.
    is_whole: bool,
    /// It has no bytes, and is used as a whole.
    is_token: bool,
    /// Its bytes in the record.
    bytes: Range<u64>,
    /// The record, of an object. A view's is empty.
    uses: Spans<Uses>,
    /// Of an object, the entries that share its record, itself included.
    sharers: u32,
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
        let uses = Spans::new(bytes, Uses::new());
        let entry = Entry {
            generation: 0,
            of: 0,
            is_whole: bytes > 0 && sees_const,
            is_token,
            bytes: 0..bytes,
            uses,
            sharers: 1,
        };
        let data = self.enlist(entry);
        self.entries[data.index()].of = data.index;
        data
    }

    /// A view of these bytes of an object, or of a view.
    pub fn view(&mut self, of: DataId, range: &Range<u64>) -> Result<DataId, &'static str> {
        let (record, bytes) = self.place(of, Some(range))?;
        let is_token = self.entries[of.index()].is_token;
        self.entries[record as usize].sharers += 1;
        let uses = Spans::new(0, Uses::new());
        Ok(self.enlist(Entry { generation: 0, of: record, is_whole: false, is_token, bytes, uses, sharers: 0 }))
    }

    fn enlist(&mut self, mut entry: Entry) -> DataId {
        let Some(index) = self.free.pop() else {
            self.entries.push(entry);
            return DataId { index: self.entries.len() as u32 - 1, generation: 0 };
        };
        let free = &mut self.entries[index as usize];
        entry.generation = free.generation;
        *free = entry;
        DataId { index, generation: free.generation }
    }

    /// Forgets an object or a view. The record goes with the last of them.
    pub fn forget(&mut self, data: DataId) -> Result<(), &'static str> {
        self.place(data, None)?;
        let entry = &mut self.entries[data.index()];
        entry.generation = entry.generation.wrapping_add(1);
        let of = entry.of;
        if of != data.index {
            self.free.push(data.index);
        }
        let record = &mut self.entries[of as usize];
        record.sharers -= 1;
        if record.sharers == 0 {
            record.uses = Spans::new(0, Uses::new());
            self.free.push(of);
        }
        Ok(())
    }

    /// The entry whose record has these bytes of an object, and their place in it.
    pub fn place(&self, data: DataId, range: Option<&Range<u64>>) -> Result<(u32, Range<u64>), &'static str> {
        let entry = self.entries.get(data.index()).filter(|entry| entry.generation == data.generation);
        let entry = entry.ok_or(FORGOTTEN)?;
        let Some(range) = range else { return Ok((entry.of, entry.bytes.clone())) };
        if entry.is_token {
            return Err(TOKEN);
        }
        let bytes = entry.bytes.end - entry.bytes.start;
        if range.start > range.end || range.end > bytes {
            return Err(BEYOND);
        }
        Ok((entry.of, entry.bytes.start + range.start..entry.bytes.start + range.end))
    }

    /// The uses of every byte of an object, if this is an access to all and they agree. It is the common case of
    /// [`Records::place`] and [`Records::uses`].
    #[inline]
    pub fn whole(&mut self, access: &Access) -> Option<&mut Uses> {
        let entry = self.entries.get_mut(access.data.index as usize)?;
        if entry.generation != access.data.generation || !entry.is_whole || access.range.is_some() {
            return None;
        }
        entry.uses.whole_mut()
    }

    /// The uses of a record.
    pub fn uses(&mut self, record: u32) -> &mut Spans<Uses> {
        &mut self.entries[record as usize].uses
    }

    /// How many parts the uses of a record have.
    pub fn parts(&self, record: u32) -> usize {
        self.entries[record as usize].uses.count()
    }

    /// The uses of all records.
    pub fn all(&self) -> impl Iterator<Item = &Spans<Uses>> {
        self.entries.iter().map(|entry| &entry.uses)
    }
}
