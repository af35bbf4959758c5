//! The slots of the nodes, and their names.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::ops::{Index, IndexMut};

use hashbrown::HashTable;
use priority::Priority;

use crate::list::NONE;
use crate::node::{NodeId, Slot, Spec, Stage};

/// All slots. Those that are free are a list.
pub(crate) struct Nodes {
    slots: Vec<Slot>,
    /// The names of the nodes in these slots, of those that have one. Their memory is used again.
    names: Vec<String>,
    /// The nodes to which others refer by name.
    named: HashTable<u32>,
    hasher: BuildHasherDefault<DefaultHasher>,
    free: u32,
    made: u64,
    /// How many nodes more there may be.
    room: u32,
}

impl Nodes {
    /// No node, and room for so many.
    pub fn new(room: u32) -> Nodes {
        let (hasher, named) = (BuildHasherDefault::new(), HashTable::new());
        Nodes { slots: Vec::new(), names: Vec::new(), named, hasher, free: NONE, made: 0, room }
    }

    /// How many nodes more there may be.
    #[inline]
    pub fn room(&self) -> u32 {
        self.room
    }

    /// All slots. A function that looks at several takes them once: then each is checked once.
    #[inline]
    pub fn slots(&mut self) -> &mut [Slot] {
        &mut self.slots
    }

    #[inline]
    pub fn all(&self) -> &[Slot] {
        &self.slots
    }

    /// The place in memory of a slot, if there is one of this number.
    #[inline]
    pub fn place(&self, slot: usize) -> *const u8 {
        self.slots.as_ptr().wrapping_add(slot).cast()
    }

    /// A slot for a new node, for which there is room.
    #[inline(always)] // a call would be a third of it
    pub fn take(&mut self, spec: &Spec<'_>, effective: Priority) -> u32 {
        self.take_and(spec, effective, |_| {})
    }

    /// The same for a node that is handed out by the call that appends it.
    #[inline(always)] // as `take`
    pub fn take_running(&mut self, spec: &Spec<'_>) -> u32 {
        self.take_and(spec, spec.priority, |slot| slot.run(spec.priority))
    }

    #[inline(always)] // as `take`
    fn take_and(&mut self, spec: &Spec<'_>, effective: Priority, and: impl FnOnce(&mut Slot)) -> u32 {
        if self.free == NONE {
            self.grow();
        }
        let index = self.free;
        let slot = &mut self.slots[index as usize];
        slot.begin(spec, effective);
        and(slot);
        let next = slot.next;
        slot.number = self.made;
        self.took(index, next, spec.name);
        index
    }

    /// The free slot is a node's; `next` is the next that is free.
    #[inline(always)] // as `Slot::begin`
    fn took(&mut self, index: u32, next: u32, name: &str) {
        self.made += 1;
        self.free = next;
        self.room -= 1;
        if !name.is_empty() {
            self.set_name(index, name);
        }
    }

    /// The description of a node that was taken without one. It counts as made now.
    pub fn describe(&mut self, index: u32, spec: &Spec<'_>) {
        let slot = &mut self.slots[index as usize];
        (slot.number, slot.is_absent) = (self.made, false);
        self.made += 1;
        (slot.kind, slot.own, slot.device) = (spec.kind, spec.priority, spec.device);
        slot.has_name |= !spec.name.is_empty();
        if !spec.name.is_empty() {
            self.set_name(index, spec.name);
        }
    }

    /// The slot is free, and its node's id is one of no node.
    #[inline]
    pub fn give_back(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        slot.generation = slot.generation.wrapping_add(1);
        slot.next = self.free;
        self.free = index;
        self.room += 1;
        if slot.is_kept {
            self.withdraw(index);
        }
    }

    /// Others do not refer to the node by its name any more. Errors still do.
    pub fn withdraw_name(&mut self, index: u32) {
        if std::mem::take(&mut self.slots[index as usize].is_kept) {
            self.withdraw(index);
        }
    }

    /// One more slot.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let index = self.slots.len();
        let mut slot = Slot::EMPTY;
        slot.edge.to = index as u32;
        self.slots.push(slot);
        self.names.push(String::new());
        self.free = index as u32;
    }

    /// The name of a node whose slot says that it has one.
    #[inline]
    fn set_name(&mut self, index: u32, name: &str) {
        let own = &mut self.names[index as usize];
        own.clear();
        own.push_str(name);
    }

    #[inline(never)]
    fn withdraw(&mut self, index: u32) {
        self.slots[index as usize].rank = 0;
        let hash = self.hasher.hash_one(self.names[index as usize].as_str());
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

    /// The same, itself.
    #[inline]
    pub fn slot(&self, id: NodeId) -> Option<&Slot> {
        self.slots.get(id.index as usize).filter(|slot| slot.generation == id.generation)
    }

    /// Whether a node has not ended.
    pub fn is_live(&self, id: NodeId) -> bool {
        self.slot(id).is_some_and(|slot| slot.stage != Stage::Ended && !slot.is_left)
    }

    /// The same, or it stays in the order.
    pub fn is_in_order(&self, id: NodeId) -> bool {
        self.slot(id).is_some_and(|slot| slot.stage != Stage::Ended)
    }

    #[inline]
    pub fn id(&self, index: u32) -> NodeId {
        NodeId { index, generation: self[index].generation }
    }

    pub fn name(&self, index: u32) -> &str {
        if self[index].has_name { self.names[index as usize].as_str() } else { "" }
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
        self.named.find(hash, |&index| self.names[index as usize].as_str() == name).copied()
    }

    /// From now on others refer to the node by its name.
    pub fn publish_name(&mut self, index: u32) {
        if !self.slots[index as usize].has_name {
            self.names[index as usize].clear();
        }
        let (names, hasher) = (&self.names, &self.hasher);
        let hash = |&index: &u32| hasher.hash_one(names[index as usize].as_str());
        self.named.insert_unique(hash(&index), index, hash);
        self.slots[index as usize].is_kept = true;
    }
}

/// Two slots at once. A function that looks at both takes them so: then each is checked once.
#[inline(always)]
pub(crate) fn two(slots: &mut [Slot], one: u32, other: u32) -> [&mut Slot; 2] {
    slots.get_disjoint_mut([one, other].map(|it| it as usize)).expect("they are two nodes")
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
