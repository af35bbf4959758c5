//! The dispatcher that a thing belongs to, and whether it is open.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use hal::locks::lock;

/// The dispatcher that a set, a task or an array belongs to.
#[derive(Clone, Copy, Debug)]
pub struct Home {
    /// Never used again, and odd if its copies go through the drop-in, which sees all copies of the process.
    number: u64,
    /// Has the number while the dispatcher is open.
    place: &'static AtomicU64,
}

/// Places without a dispatcher. So there are no more than dispatchers that were open at the same time.
static SPARE: Mutex<Vec<&'static AtomicU64>> = Mutex::new(Vec::new());

impl Home {
    /// That of a new dispatcher.
    pub fn open(is_relayed: bool) -> Home {
        static COUNT: AtomicU64 = AtomicU64::new(1);
        let number = COUNT.fetch_add(1, Ordering::Relaxed) << 1 | u64::from(is_relayed);
        let place = lock(&SPARE).pop().unwrap_or_else(|| Box::leak(Box::default()));
        place.store(number, Ordering::Release);
        Home { number, place }
    }

    /// From now on no thing of the dispatcher gets a handle. Called once.
    pub fn close(self) {
        self.place.store(0, Ordering::Release);
        lock(&SPARE).push(self.place);
    }

    /// Whether the dispatcher has not been closed.
    pub fn is_open(self) -> bool {
        self.place.load(Ordering::Acquire) == self.number
    }

    /// Whether its copies go through the drop-in.
    pub fn is_relayed(self) -> bool {
        self.number % 2 == 1
    }
}

impl PartialEq for Home {
    fn eq(&self, other: &Home) -> bool {
        self.number == other.number
    }
}

impl Eq for Home {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_that_is_used_again_means_its_new_dispatcher_only() {
        let (first, other) = (Home::open(false), Home::open(true));
        assert!(first.is_open() && other.is_open() && first != other);
        assert_eq!((first.is_relayed(), other.is_relayed()), (false, true));
        first.close();
        let next = Home::open(false);
        assert!(std::ptr::eq(first.place, next.place) && !first.is_open() && next.is_open() && other.is_open());
        next.close();
        other.close();
    }
}
