//! Storage with generation-tagged keys: a stale key is noticed, and memory is reused.

use std::fmt;
use std::marker::PhantomData;

/// The place of a value in a [`Slab`], and its generation there.
pub(crate) struct Key<T> {
    index: u32,
    generation: u32,
    kind: PhantomData<fn() -> T>,
}

/// Generations fit into a handle beside the kind (8 bits) and the index (32 bits).
const GENERATIONS: u32 = 1 << 24;

impl<T> Key<T> {
    /// Position in the slab: unique among the living.
    pub(crate) fn index(self) -> usize {
        self.index as usize
    }

    /// The key as a handle of the driver. It is tagged with its kind, so that an event is never taken for a stream.
    pub(crate) fn handle(self, kind: u8) -> u64 {
        (u64::from(kind) << 56) | (u64::from(self.generation) << 32) | u64::from(self.index)
    }

    /// The key in a handle, if the handle is of that kind.
    pub(crate) fn from_handle(handle: u64, kind: u8) -> Option<Key<T>> {
        let generation = ((handle >> 32) as u32) & (GENERATIONS - 1);
        ((handle >> 56) as u8 == kind).then_some(Key { index: handle as u32, generation, kind: PhantomData })
    }
}

impl<T> Clone for Key<T> {
    fn clone(&self) -> Key<T> {
        *self
    }
}
impl<T> Copy for Key<T> {}
impl<T> PartialEq for Key<T> {
    fn eq(&self, other: &Key<T>) -> bool {
        (self.index, self.generation) == (other.index, other.generation)
    }
}
impl<T> Eq for Key<T> {}
impl<T> PartialOrd for Key<T> {
    fn partial_cmp(&self, other: &Key<T>) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl<T> Ord for Key<T> {
    fn cmp(&self, other: &Key<T>) -> std::cmp::Ordering {
        (self.index, self.generation).cmp(&(other.index, other.generation))
    }
}
impl<T> fmt::Debug for Key<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}.{}", self.index, self.generation)
    }
}

struct Slot<T> {
    generation: u32,
    value: Option<T>,
}

/// Values by key. Free places are reused under a new generation.
pub(crate) struct Slab<T> {
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
    /// Whether a new value's handle may be that of a removed one.
    reuses_handles: bool,
}

impl<T> Default for Slab<T> {
    fn default() -> Slab<T> {
        Slab { slots: Vec::new(), free: Vec::new(), reuses_handles: false }
    }
}

impl<T> Slab<T> {
    /// From here on the next value has the handle of the one removed last, as an address comes again.
    pub(crate) fn reuse_handles(&mut self) {
        self.reuses_handles = true;
    }

    /// The handle of a live key.
    pub(crate) fn handle(&self, key: Key<T>, kind: u8) -> u64 {
        Key::<T> { generation: if self.reuses_handles { 0 } else { key.generation }, ..key }.handle(kind)
    }

    /// Adds a value, and returns its handle.
    pub(crate) fn insert_as(&mut self, value: T, kind: u8) -> u64 {
        let key = self.insert(value);
        self.handle(key, kind)
    }

    /// The key in a handle, if the handle is of that kind. Where handles are reused, it is that of the live value.
    pub(crate) fn key(&self, handle: u64, kind: u8) -> Option<Key<T>> {
        let key = Key::from_handle(handle, kind)?;
        if !self.reuses_handles {
            return Some(key);
        }
        self.slots.get(key.index()).map(|slot| Key { generation: slot.generation, ..key })
    }

    pub(crate) fn insert(&mut self, value: T) -> Key<T> {
        let index = match self.free.pop() {
            Some(index) => index,
            None => {
                self.slots.push(Slot { generation: 0, value: None });
                u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 live values")
            }
        };
        let slot = &mut self.slots[index as usize];
        slot.value = Some(value);
        Key { index, generation: slot.generation, kind: PhantomData }
    }

    pub(crate) fn remove(&mut self, key: Key<T>) -> Option<T> {
        let slot = self.slots.get_mut(key.index()).filter(|slot| slot.generation == key.generation)?;
        let value = slot.value.take()?;
        slot.generation = (slot.generation + 1) % GENERATIONS;
        self.free.push(key.index);
        Some(value)
    }

    pub(crate) fn get(&self, key: Key<T>) -> Option<&T> {
        self.slots.get(key.index()).filter(|slot| slot.generation == key.generation)?.value.as_ref()
    }

    pub(crate) fn get_mut(&mut self, key: Key<T>) -> Option<&mut T> {
        self.slots.get_mut(key.index()).filter(|slot| slot.generation == key.generation)?.value.as_mut()
    }

    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// The live values, in order of their place.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Key<T>, &T)> {
        self.slots.iter().enumerate().filter_map(|(index, slot)| {
            let key = Key { index: index as u32, generation: slot.generation, kind: PhantomData };
            slot.value.as_ref().map(|value| (key, value))
        })
    }

    /// The same values, to change them.
    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.slots.iter_mut().filter_map(|slot| slot.value.as_mut())
    }

    /// The keys of live values that satisfy a condition.
    pub(crate) fn keys_where(&self, mut wanted: impl FnMut(&T) -> bool) -> Vec<Key<T>> {
        self.iter().filter(|(_, value)| wanted(value)).map(|(key, _)| key).collect()
    }
}

impl<T> std::ops::Index<Key<T>> for Slab<T> {
    type Output = T;
    fn index(&self, key: Key<T>) -> &T {
        self.get(key).expect("a key held by the model is live")
    }
}

impl<T> std::ops::IndexMut<Key<T>> for Slab<T> {
    fn index_mut(&mut self, key: Key<T>) -> &mut T {
        self.get_mut(key).expect("a key held by the model is live")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stale_key_finds_nothing() {
        let mut slab = Slab::default();
        let first = slab.insert('a');
        assert_eq!(slab.remove(first), Some('a'));
        let second = slab.insert('b');
        assert_eq!((second.index(), slab.get(first), slab.get(second)), (first.index(), None, Some(&'b')));
        assert_eq!((slab.remove(first), slab.len()), (None, 1));
    }

    #[test]
    fn a_reused_handle_names_the_new_value_and_no_key_does() {
        let mut slab = Slab::default();
        slab.reuse_handles();
        let handle = slab.insert_as('a', 7);
        let first = slab.key(handle, 7).unwrap();
        slab.remove(first);
        assert_eq!(slab.key(handle, 7).and_then(|key| slab.get(key)), None);
        assert_eq!(slab.insert_as('b', 7), handle);
        assert_eq!(slab.key(handle, 7).and_then(|key| slab.get(key)), Some(&'b'));
        assert_eq!((slab.get(first), slab.key(handle, 8)), (None, None));
    }

    #[test]
    fn a_handle_keeps_kind_and_generation() {
        let mut slab = Slab::default();
        let stale = slab.insert(1);
        slab.remove(stale);
        let key = slab.insert(2);
        assert_eq!(Key::from_handle(key.handle(7), 7), Some(key));
        assert_eq!(Key::<i32>::from_handle(key.handle(7), 8), None);
        assert_ne!(stale.handle(7), key.handle(7));
    }
}
