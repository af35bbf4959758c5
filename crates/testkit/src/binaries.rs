//! Binaries that several trials use: the first trial that needs one builds it. If two trials wrote one file at the
//! same time, a third could start it before the linker has made it executable.
#![allow(clippy::disallowed_methods)] // tests are no guests

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};

type Built = Result<PathBuf, String>;

/// The binaries, by a key that is equal for equal ones.
pub struct Binaries<Key>(Mutex<BTreeMap<Key, Arc<OnceLock<Built>>>>);

impl<Key: Ord> Binaries<Key> {
    /// No binary yet.
    pub fn none() -> Binaries<Key> {
        Binaries(Mutex::default())
    }

    /// The binary of this key, or the reason why it cannot be built.
    pub fn get(&self, key: Key, build: impl FnOnce() -> Built) -> Built {
        let cell = self.0.lock().expect("no thread panics here").entry(key).or_default().clone();
        cell.get_or_init(build).clone()
    }
}
