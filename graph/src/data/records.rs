//! The records of data: for each object the uses of its bytes, which its views share (T28).

use std::ops::Range;

use super::access::{Access, DataId};
use super::spans::Spans;
use super::uses::Uses;
use crate::node::NodeId;

/// An object or a view, as its users name it.
struct Entry {
    generation: u32,
    /// Its record, while it is not forgotten.
    record: Option<u32>,
    /// Its bytes in the record.
    bytes: Range<u64>,
    /// It has no bytes, and is used as a whole.
    is_token: bool,
}

/// The uses of an object, and the number of entries that share them.
struct Record {
    uses: Spans<Uses>,
    entries: u32,
}

/// All records.
#[derive(Default)]
pub(crate) struct Records {
    entries: Vec<Entry>,
    free_entries: Vec<u32>,
    records: Vec<Record>,
    free_records: Vec<u32>,
    /// A node that has failed, or will, and one that it came after and that may not have ended: it is mentioned in
    /// the other one's place.
    pub heirs: Vec<(NodeId, NodeId)>,
    /// So many are worth a look at which have ended.
    pub heirs_many: usize,
    /// The nodes that the node at hand comes after: empty between calls.
    pub found: Vec<NodeId>,
}

const FORGOTTEN: &str = "it uses data that has been forgotten: forget data after its last use is submitted";
const BEYOND: &str = "it uses bytes beyond the end of its data: check the range against the size";
const TOKEN: &str = "it uses bytes of a token, which has none: use it as a whole";

impl Records {
    /// Whether there is any data.
    pub fn is_used(&self) -> bool {
        !self.entries.is_empty()
    }

    /// A new object. A token is one byte, which is used as a whole.
    pub fn create(&mut self, bytes: Option<u64>) -> DataId {
        let is_token = bytes.is_none();
        let bytes = bytes.unwrap_or(1);
        let record = Record { uses: Spans::new(bytes, Uses::new()), entries: 0 };
        let index = match self.free_records.pop() {
            Some(index) => {
                self.records[index as usize] = record;
                index
            }
            None => {
                self.records.push(record);
                self.records.len() as u32 - 1
            }
        };
        self.enlist(index, 0..bytes, is_token)
    }

    /// A view of these bytes of an object, or of a view.
    pub fn view(&mut self, of: DataId, range: &Range<u64>) -> Result<DataId, &'static str> {
        let (record, range) = self.place(of, range)?;
        let is_token = self.entries[of.index as usize].is_token;
        Ok(self.enlist(record, range, is_token))
    }

    fn enlist(&mut self, record: u32, bytes: Range<u64>, is_token: bool) -> DataId {
        self.records[record as usize].entries += 1;
        let Some(index) = self.free_entries.pop() else {
            self.entries.push(Entry { generation: 0, record: Some(record), bytes, is_token });
            return DataId { index: self.entries.len() as u32 - 1, generation: 0 };
        };
        let entry = &mut self.entries[index as usize];
        let generation = entry.generation;
        *entry = Entry { generation, record: Some(record), bytes, is_token };
        DataId { index, generation }
    }

    /// Forgets an object or a view. The record goes with the last of them.
    pub fn forget(&mut self, data: DataId) -> Result<(), &'static str> {
        let entry = self.entries.get_mut(data.index as usize).filter(|entry| entry.generation == data.generation);
        let Some((entry, record)) = entry.and_then(|entry| entry.record.take().map(|record| (entry, record))) else {
            return Err(FORGOTTEN);
        };
        entry.generation = entry.generation.wrapping_add(1);
        self.free_entries.push(data.index);
        let left = &mut self.records[record as usize];
        left.entries -= 1;
        if left.entries == 0 {
            left.uses = Spans::new(0, Uses::new());
            self.free_records.push(record);
        }
        Ok(())
    }

    /// The record of these bytes of an object, and their place in it.
    #[inline]
    pub fn place(&self, data: DataId, range: &Range<u64>) -> Result<(u32, Range<u64>), &'static str> {
        let entry = self.entries.get(data.index as usize).filter(|entry| entry.generation == data.generation);
        let Some((entry, record)) = entry.and_then(|entry| entry.record.map(|record| (entry, record))) else {
            return Err(FORGOTTEN);
        };
        if *range == Access::ALL {
            return Ok((record, entry.bytes.clone()));
        }
        if entry.is_token {
            return Err(TOKEN);
        }
        let bytes = entry.bytes.end - entry.bytes.start;
        if range.start > range.end || range.end > bytes {
            return Err(BEYOND);
        }
        Ok((record, entry.bytes.start + range.start..entry.bytes.start + range.end))
    }

    /// The uses of a record.
    #[inline]
    pub fn uses(&mut self, record: u32) -> &mut Spans<Uses> {
        &mut self.records[record as usize].uses
    }

    /// How many parts the uses of a record have.
    pub fn parts(&self, record: u32) -> usize {
        self.records[record as usize].uses.count()
    }

    /// The uses of all records.
    pub fn all(&self) -> impl Iterator<Item = &Spans<Uses>> {
        self.records.iter().map(|record| &record.uses)
    }
}
