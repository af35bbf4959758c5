//! The priority of a copy: first the program's own choice, then rules, then the stream's CUDA priority, then the
//! automatic rule (size or demand).

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use copies::Priority;
use copies::options::Automatic;
use hal::locks;
use os::fault::Source;

use crate::call::Call;
use crate::context::Adopted;
use crate::demand::Rank;
use crate::process::Process;
use crate::rules::{Decision, Rules, Witness};
use crate::witness;

thread_local! {
    static THREAD_PRIORITY: Cell<u8> = const { Cell::new(0) };
}

/// Whether any thread has given its copies a priority. Before that no copy looks for that of its thread: in a library
/// the look is a call of the loader.
static ANY_THREAD_PRIORITY: AtomicBool = AtomicBool::new(false);

impl Process {
    /// The priority of a call; `None` if the driver makes the copy.
    #[inline(always)] // each copy asks
    pub(crate) fn priority(&self, call: &Call<'_>, bytes: u64, adopted: &Adopted) -> Option<Priority> {
        for said in [thread_priority(), adopted.given()] {
            if said.is_some() {
                return said;
            }
        }
        if self.has_rules.load(Ordering::Relaxed) {
            match self.decide_by_rules(call, bytes, adopted.cuda_priority) {
                Some(Decision::At(priority)) => return Some(priority),
                Some(Decision::Pass) => return None,
                None => {}
            }
        }
        if adopted.own.is_some() {
            return adopted.own;
        }
        self.automatic(bytes, adopted)
    }

    #[inline(never)] // most programs have no rules
    pub(crate) fn decide_by_rules(&self, call: &Call<'_>, bytes: u64, cuda_priority: Option<i32>) -> Option<Decision> {
        let rules = Arc::clone(&locks::read(&self.rules));
        rules.decide(call, bytes, &Seen { call, cuda_priority })
    }

    /// The priority of a copy to which nothing else gives one.
    #[inline(always)] // as above
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
    cuda_priority: Option<i32>,
}

impl Witness for Seen<'_> {
    fn stream_priority(&self) -> Option<i32> {
        Some(self.cuda_priority.unwrap_or(0))
    }

    fn thread(&self) -> String {
        witness::thread_name()
    }

    fn library(&self) -> String {
        witness::library_of(self.call.caller)
    }
}

/// The priority that the calling thread has given its copies.
#[inline]
pub(crate) fn thread_priority() -> Option<Priority> {
    // A thread that has set one sees its own store.
    if ANY_THREAD_PRIORITY.load(Ordering::Relaxed) { own_priority() } else { None }
}

#[inline(never)] // else the compiler looks its address up before the question whether there is any
fn own_priority() -> Option<Priority> {
    // A thread that is ending has lost its priority.
    THREAD_PRIORITY.try_with(Cell::get).ok().and_then(Priority::new)
}

/// Sets it, and returns the earlier one.
pub(crate) fn swap_thread_priority(priority: Option<Priority>) -> Option<Priority> {
    let number = priority.map_or(0, Priority::get);
    if number > 0 {
        ANY_THREAD_PRIORITY.store(true, Ordering::Relaxed);
    }
    THREAD_PRIORITY.try_with(|cell| cell.replace(number)).ok().and_then(Priority::new)
}
