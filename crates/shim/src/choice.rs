//! The priority of a copy. The program's own choice comes first, then rules, then the stream's CUDA priority, then the
//! automatic rule: size or demand.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use copies::Priority;
use copies::options::Automatic;
use doors::fault::Source;
use hal::locks;

use crate::call::Call;
use crate::context::Adopted;
use crate::demand::Rank;
use crate::process::Process;
use crate::rules::{Decision, Rules, Witness};
use crate::witness;

thread_local! {
    static THREAD_PRIORITY: Cell<u8> = const { Cell::new(0) };
}

impl Process {
    /// The priority of a call; `None` if the driver makes the copy.
    pub(crate) fn priority(&self, call: &Call<'_>, bytes: u64, adopted: &Adopted) -> Option<Priority> {
        let said = thread_priority().or_else(|| adopted.given());
        if said.is_some() {
            return said;
        }
        if self.has_rules.load(Ordering::Relaxed) {
            let rules = Arc::clone(&locks::read(&self.rules));
            match rules.decide(call, bytes, &Seen { call, adopted }) {
                Some(Decision::At(priority)) => return Some(priority),
                Some(Decision::Pass) => return None,
                None => {}
            }
        }
        adopted.own.or_else(|| self.automatic(bytes, adopted))
    }

    /// The priority of a copy to which nothing else gives one.
    fn automatic(&self, bytes: u64, adopted: &Adopted) -> Option<Priority> {
        let options = &self.settings.options;
        let rank = match options.automatic {
            Automatic::Off => return None,
            Automatic::Size if bytes >= options.bulk_bytes_min => Rank::Bulk,
            Automatic::Size => Rank::First,
            Automatic::Demand => {
                let rank = adopted.demand.charge(self.rule, adopted.copies.now(), bytes);
                self.ranked.of(rank).add(bytes);
                rank
            }
        };
        self.of_rank(rank)
    }

    /// The priority of copies of a rank.
    pub(crate) fn of_rank(&self, rank: Rank) -> Option<Priority> {
        match rank {
            Rank::Bulk => Some(Priority::LOWEST),
            Rank::First => Priority::new(2).map(|first| first.min(self.priorities().highest())),
        }
    }

    /// Replaces the rules by those of a TOML text.
    pub(crate) fn set_rules(&self, text: &str) -> std::result::Result<(), String> {
        let rules = Rules::read_all(&Source { origin: "the rules", text }, self.priorities());
        let rules = rules.map_err(|faults| faults.first().map_or_else(String::new, ToString::to_string))?;
        self.has_rules.store(!rules.is_empty(), Ordering::Relaxed);
        *locks::write(&self.rules) = Arc::new(rules);
        Ok(())
    }
}

/// The facts that rules may name.
struct Seen<'a> {
    call: &'a Call<'a>,
    adopted: &'a Adopted,
}

impl Witness for Seen<'_> {
    fn stream_priority(&self) -> Option<i32> {
        Some(self.adopted.cuda_priority.unwrap_or(0))
    }

    fn thread(&self) -> String {
        witness::thread_name()
    }

    fn library(&self) -> String {
        witness::library_of(self.call.caller)
    }
}

/// The priority that the calling thread has given its copies.
pub(crate) fn thread_priority() -> Option<Priority> {
    // A thread that is ending has lost its priority.
    THREAD_PRIORITY.try_with(Cell::get).ok().and_then(Priority::new)
}

/// Sets it, and returns the earlier one.
pub(crate) fn swap_thread_priority(priority: Option<Priority>) -> Option<Priority> {
    let number = priority.map_or(0, Priority::get);
    THREAD_PRIORITY.try_with(|cell| cell.replace(number)).ok().and_then(Priority::new)
}
