//! Model checks of the count of a set's tasks, and of its first failure.

use loom::thread;

use super::*;
use crate::work::fault::Reason;

/// A set is idle after its last task, in all orders of the ends, and its failure is seen by then.
#[test]
fn an_idle_set_tells_of_its_failure() {
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
        if set.is_idle() {
            assert!(set.failure().is_some(), "it is idle, and one has failed");
        }
        ends.into_iter().for_each(|end| end.join().unwrap());
        assert!(set.is_idle() && set.failure().is_some());
    });
}
