//! The slots of the nodes, and their names.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::ops::{Index, IndexMut};

use hashbrown::HashTable;

use crate::list::NONE;
use crate::node::{NodeId, Slot, Stage};

/// All slots. Those that are free are a list.
pub(crate) struct Nodes {
    slots: Vec<Slot>,
    /// The names of the nodes in these slots. Their memory is used again.
    names: Vec<String>,
    /// The nodes to which others refer by name.
    named: HashTable<u32>,
    hasher: BuildHasherDefault<DefaultHasher>,
    free: u32,
    live: u32,
}

impl Nodes {
    pub fn new() -> Nodes {
        let (hasher, named) = (BuildHasherDefault::new(), HashTable::new());
        Nodes { slots: Vec::new(), names: Vec::new(), named, hasher, free: NONE, live: 0 }
    }

    /// How many slots are not free.
    #[inline]
    pub fn live(&self) -> u32 {
        self.live
    }

    /// A slot for a new node.
    #[inline]
    pub fn take(&mut self, name: &str) -> u32 {
        if self.free == NONE {
            self.grow();
        }
        let index = self.free;
        let slot = &mut self.slots[index as usize];
        self.free = slot.next;
        slot.begin();
        if slot.has_name || !name.is_empty() {
            slot.has_name = !name.is_empty();
            self.set_name(index, name);
        }
        self.live += 1;
        index
    }

    /// The slot is free, and its node's id is one of no node.
    #[inline]
    pub fn give_back(&mut self, index: u32) {
        if self.slots[index as usize].is_named {
            self.withdraw_name(index);
        }
        let slot = &mut self.slots[index as usize];
        slot.generation = slot.generation.wrapping_add(1);
        slot.next = self.free;
        self.free = index;
        self.live -= 1;
    }

    /// One more slot, which is free.
    #[cold]
    fn grow(&mut self) {
        self.slots.push(Slot::EMPTY);
        self.names.push(String::new());
        self.free = self.slots.len() as u32 - 1;
    }

    #[inline(never)]
    fn set_name(&mut self, index: u32, name: &str) {
        let kept = &mut self.names[index as usize];
        kept.clear();
        kept.push_str(name);
    }

    #[inline(never)]
    fn withdraw_name(&mut self, index: u32) {
        let hash = self.hasher.hash_one(&self.names[index as usize]);
        if let Ok(entry) = self.named.find_entry(hash, |&other| other == index) {
            entry.remove();
        }
    }

    /// The slot of a node, unless it is no longer its.
    #[inline]
    pub fn find(&self, id: NodeId) -> Option<u32> {
        let slot = self.slots.get(id.index as usize)?;
        (slot.generation == id.generation).then_some(id.index)
    }

    #[inline]
    pub fn id(&self, index: u32) -> NodeId {
        NodeId { index, generation: self[index].generation }
    }

    pub fn name(&self, index: u32) -> &str {
        &self.names[index as usize]
    }

    /// The name of a node, also after it has left, until its slot is another node's.
    pub fn name_of(&self, id: NodeId) -> &str {
        let Some(slot) = self.slots.get(id.index as usize) else { return "" };
        let is_last = slot.stage == Stage::Ended && slot.generation == id.generation.wrapping_add(1);
        if is_last || slot.generation == id.generation { self.name(id.index) } else { "" }
    }

    /// The node to which others refer by this name.
    pub fn named(&self, name: &str) -> Option<u32> {
        let hash = self.hasher.hash_one(name);
        self.named.find(hash, |&index| self.names[index as usize] == name).copied()
    }

    /// From now on others refer to the node by its name.
    pub fn publish_name(&mut self, index: u32) {
        let (names, hasher) = (&self.names, &self.hasher);
        let hash = |&index: &u32| hasher.hash_one(&names[index as usize]);
        self.named.insert_unique(hash(&index), index, hash);
        self.slots[index as usize].is_named = true;
    }
}

impl Index<u32> for Nodes {
    type Output = Slot;

    #[inline]
    fn index(&self, index: u32) -> &Slot {
        &self.slots[index as usize]
    }
}

impl IndexMut<u32> for Nodes {
    #[inline]
    fn index_mut(&mut self, index: u32) -> &mut Slot {
        &mut self.slots[index as usize]
    }
}
