//! The lock that orders submissions to arrays.

use std::sync::{Arc, Mutex, MutexGuard};

use crate::dispatch::shared::{Held, Shared};
use crate::work::fault::Error;
use crate::work::levels::{self, Level};

/// The lock that is held while a task is appended with its transfers: taken before the dispatcher's and those of
/// records. The thread that has it takes no step of the dispatcher, and drops nothing of the user's.
#[derive(Default)]
pub(super) struct Order(Mutex<()>);

/// That order, held.
pub(super) struct InOrder<'o> {
    guard: Option<MutexGuard<'o, ()>>,
}

impl Order {
    pub fn take(&self) -> InOrder<'_> {
        levels::take(Level::Submissions);
        InOrder { guard: Some(hal::locks::lock(&self.0)) }
    }
}

impl InOrder<'_> {
    /// The dispatcher's lock with it.
    pub fn enter<'s>(&self, shared: &'s Arc<Shared>) -> Result<Held<'s>, Error> {
        shared.enter_in_order()
    }
}

impl Drop for InOrder<'_> {
    fn drop(&mut self) {
        self.guard = None;
        levels::give_back(Level::Submissions);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use graph::{Kind, Priority};

    use super::*;
    use crate::data::{ArrayOptions, Arrays, discard};
    use crate::dispatch::arrivals::Arrival;
    use crate::dispatch::body::Character;
    use crate::dispatch::{DispatchOptions, Dispatcher};
    use crate::task::{Lane, More};
    use crate::work::function::Launch;
    use crate::{Options, Overtake};

    /// Leaves a task for the thread with the turn, and there is none: as a thread does that has seen one.
    fn leave(arrays: &Arrays, work: Launch) {
        let tasks = &arrays.store.tasks;
        let index = tasks.shared().intake.own().0;
        tasks.shared().intake.post(index);
        // Its desk has numbers from now on.
        tasks.shared().look_in();
        let (index, mut desk) = tasks.shared().intake.own();
        let (node, _) = desk.store.pop().expect("there are some");
        let (kind, priority, set) = (Kind::Kernel, Priority::LOWEST, tasks.set().id());
        let character = Character::new(kind, priority, 0, false);
        desk.batch.submit(Arrival { node, after: None, set, kind, device: 0, priority, character, work }, "left");
        drop(desk);
        assert!(tasks.shared().intake.post(index), "no thread has the turn");
    }

    /// The thread that submits a computation takes a task that was left, and launches it behind the order: the launch
    /// submits a computation too.
    #[test]
    fn no_step_is_taken_with_it() {
        let (done, waits) = mpsc::channel();
        let submits = std::thread::spawn(move || {
            let driver: Arc<dyn hal::Driver> = Arc::new(softgpu::SoftGpu::builder().build());
            let overtake = Arc::new(Overtake::open(&driver, hal::Device(0), Options::default()).unwrap());
            let dispatcher = Dispatcher::open(&overtake, DispatchOptions::default()).unwrap();
            let arrays = Arrays::open(&dispatcher, ArrayOptions::default()).unwrap();
            let [one, other] = [(); 2].map(|()| arrays.array::<u8>(&[8]).unwrap());
            let inner = arrays.clone();
            let left = move |_: &mut Lane<'_>| {
                inner.launch("inner", (discard(&other),), |_, _| Ok(More::Done)).submit()?;
                Ok(More::Done)
            };
            leave(&arrays, Launch::own(left));
            arrays.launch("outer", (discard(&one),), |_, _| Ok(More::Done)).submit().unwrap();
            arrays.wait().unwrap();
            assert!(arrays.failure().is_none(), "{:?}", arrays.failure());
            done.send(()).unwrap();
        });
        assert_eq!(waits.recv_timeout(Duration::from_secs(60)), Ok(()), "it waits for itself, or has failed");
        submits.join().unwrap();
    }
}
