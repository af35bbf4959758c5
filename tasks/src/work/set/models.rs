//! Loom models of the count of a set's tasks, and of its first failure.

use std::sync::atomic::AtomicBool as Seen;

use loom::thread;

use super::*;
use crate::work::fault::Reason;

/// A set is idle after its last task, in all orders of the ends, and its failure is seen by then.
#[test]
fn an_idle_set_tells_of_its_failure() {
    static IS_SEEN_IDLE: Seen = Seen::new(false);
    loom::model(|| {
        // Tasks end with the dispatcher's lock held.
        let (set, dispatcher) = (Arc::new(Set::new("", SetId::NONE)), Arc::new(Mutex::new(())));
        set.begun();
        set.begun();
        let end = |failure: Option<Arc<Fault>>| {
            let (set, dispatcher) = (Arc::clone(&set), Arc::clone(&dispatcher));
            thread::spawn(move || {
                let _held = lock(&dispatcher);
                set.failed(failure);
                set.ended(1);
            })
        };
        let ends = [end(Some(Arc::new(Fault { task: "one".to_owned(), reason: Reason::Closed }))), end(None)];
        // A thread of its own: where the one that had spawned the others asked, no run of loom's found the set idle.
        let its = Arc::clone(&set);
        let asks = thread::spawn(move || {
            if its.is_idle() {
                IS_SEEN_IDLE.store(true, Ordering::Relaxed);
                assert!(its.failure().is_some(), "it is idle, and one has failed");
            }
        });
        ends.into_iter().chain([asks]).for_each(|thread| thread.join().unwrap());
        assert!(set.is_idle() && set.failure().is_some());
    });
    assert!(IS_SEEN_IDLE.load(Ordering::Relaxed), "no order has shown it idle");
}
