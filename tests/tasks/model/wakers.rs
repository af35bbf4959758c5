//! The waker of a future is code of others.

use std::future::Future;
use std::sync::Arc;
use std::task::{Context, Wake, Waker};

use crate::bed;
use crate::failure::{Outcome, ensure};
use crate::model::on;

/// A waker that panics.
struct Thrower;

impl Wake for Thrower {
    fn wake(self: Arc<Thrower>) {
        panic!("a waker that panics");
    }
}

/// A waker that panics concerns no other task.
pub fn may_panic() -> Outcome {
    on(|rig| {
        let bed = bed::open(rig)?;
        let first = bed.tasks.join("first").held().submit()?;
        let task = bed.tasks.light("task", || Ok(())).after(&first).submit()?;
        let next = bed.tasks.light("next", || Ok(())).after(&first).submit()?;
        let waker = Waker::from(Arc::new(Thrower));
        let mut future = Box::pin(task);
        ensure!(future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending(), "it is held");
        // One thread takes both steps, and the waker panics between them.
        first.release()?;
        Ok(next.wait()?)
    })
}
