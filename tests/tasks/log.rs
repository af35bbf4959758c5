//! The names of tasks, in the order in which they were launched or run.

use std::sync::{Arc, Mutex};

use hal::locks::lock;
use overtake::task::{Lane, More, WorkResult};

use crate::failure::{Outcome, same};

/// The names of tasks, and the lanes of those of the device.
#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<Vec<Entry>>>);

type Entry = (String, Option<u8>);

impl Log {
    /// A launch that notes the name.
    pub fn launch(&self, name: &'static str) -> impl FnMut(&mut Lane<'_>) -> WorkResult<More> + use<> {
        self.turns(name, 1)
    }

    /// Several launches, each noted with its number.
    pub fn turns(&self, name: &'static str, turns: u32) -> impl FnMut(&mut Lane<'_>) -> WorkResult<More> + use<> {
        let log = self.clone();
        move |lane| {
            let label = if turns == 1 { name.to_owned() } else { format!("{name}{}", lane.turn()) };
            lock(&log.0).push((label, Some(lane.number())));
            Ok(if lane.turn() + 1 < turns { More::Again } else { More::Done })
        }
    }

    /// A function that notes the name.
    pub fn function(&self, name: &'static str) -> impl FnOnce() -> WorkResult<()> + use<> {
        let log = self.clone();
        move || {
            lock(&log.0).push((name.to_owned(), None));
            Ok(())
        }
    }

    /// The names so far.
    #[track_caller]
    pub fn is(&self, expected: &[&str]) -> Outcome {
        let names: Vec<String> = lock(&self.0).iter().map(|(name, _)| name.clone()).collect();
        same("tasks in order", &names.iter().map(String::as_str).collect::<Vec<_>>(), &expected.to_vec())
    }

    /// The lane of a launch.
    pub fn lane(&self, name: &str) -> Option<u8> {
        lock(&self.0).iter().find(|(label, _)| label == name).and_then(|(_, lane)| *lane)
    }
}
