//! The lock that orders submissions to arrays.

use std::sync::{Mutex, MutexGuard};

use overtake_tasks::task::Error;
use overtake_tasks::within::{Held, Level, Within, give_back, take};

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
        take(Level::Submissions);
        InOrder { guard: Some(hal::locks::lock(&self.0)) }
    }
}

impl InOrder<'_> {
    /// The dispatcher's lock with it.
    pub fn enter<'s>(&self, shared: Within<'s>) -> Result<Held<'s>, Error> {
        shared.enter_in_order()
    }
}

impl Drop for InOrder<'_> {
    fn drop(&mut self) {
        self.guard = None;
        give_back(Level::Submissions);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, mpsc};
    use std::time::Duration;

    use copies::{Options, Overtake};
    use overtake_tasks::dispatch::{DispatchOptions, Dispatcher};
    use overtake_tasks::task::{Lane, More};
    use overtake_tasks::within::leave;

    use crate::{ArrayOptions, Arrays, discard};

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
            leave(&arrays.store.tasks, left);
            arrays.launch("outer", (discard(&one),), |_, _| Ok(More::Done)).submit().unwrap();
            arrays.wait().unwrap();
            assert!(arrays.failure().is_none(), "{:?}", arrays.failure());
            done.send(()).unwrap();
        });
        assert_eq!(waits.recv_timeout(Duration::from_secs(60)), Ok(()), "it waits for itself, or has failed");
        submits.join().unwrap();
    }
}
