//! Binaries that several trials use: whoever needs one first builds it. Two that wrote one file at a time would have a
//! third start it before the linker has made it executable. Included by `#[path]` wherever tests build programs.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};

type Built = Result<PathBuf, String>;

/// The binaries, by what makes two of them the same.
pub struct Binaries<Key>(Mutex<BTreeMap<Key, Arc<OnceLock<Built>>>>);

impl<Key: Ord> Binaries<Key> {
    /// None yet.
    pub fn none() -> Binaries<Key> {
        Binaries(Mutex::default())
    }

    /// The binary of this key, or why it cannot be built.
    pub fn get(&self, key: Key, build: impl FnOnce() -> Built) -> Built {
        let cell = self.0.lock().expect("nobody panics here").entry(key).or_default().clone();
        cell.get_or_init(build).clone()
    }
}
