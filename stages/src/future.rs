//! The waits of a member as futures.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use crate::cursor::Stage;
use crate::member::Member;
use crate::patience::Goal;
use crate::refused::Error;

/// The side that a future waits at.
#[derive(Clone, Copy, Debug)]
enum Aim {
    Free,
    Full,
}

/// The next stage of a member. Dropping it changes nothing.
#[derive(Debug)]
#[must_use = "futures do nothing until they are awaited"]
pub struct Next<'m> {
    member: &'m mut Member,
    aim: Aim,
    registered: Option<Waker>,
}

impl Member {
    /// [`Member::acquire`] as a future.
    pub fn acquire_async(&mut self) -> Next<'_> {
        Next { member: self, aim: Aim::Free, registered: None }
    }

    /// [`Member::wait`] as a future.
    pub fn wait_async(&mut self) -> Next<'_> {
        Next { member: self, aim: Aim::Full, registered: None }
    }
}

impl Next<'_> {
    fn attempt(&mut self) -> Result<Option<Stage>, Error> {
        match self.aim {
            Aim::Free => self.member.try_acquire(),
            Aim::Full => self.member.try_wait(),
        }
    }

    fn goal(&self) -> Goal<'_> {
        match self.aim {
            Aim::Free => self.member.free_goal(),
            Aim::Full => self.member.full_goal(),
        }
    }

    /// Another waker comes, or none is needed any more.
    fn forget(&mut self) {
        if let Some(waker) = self.registered.take() {
            let Goal { side, stage, .. } = self.goal();
            side.forget(stage, &waker);
        }
    }
}

impl Future for Next<'_> {
    type Output = Result<Stage, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let waker = context.waker();
        if self.registered.as_ref().is_some_and(|other| !other.will_wake(waker)) {
            self.forget();
        }
        loop {
            match self.attempt().transpose() {
                Some(answer) => return Poll::Ready(answer),
                None if self.goal().poll(waker).is_pending() => {
                    self.registered.get_or_insert_with(|| waker.clone());
                    return Poll::Pending;
                }
                // It has changed in between.
                None => {}
            }
        }
    }
}

impl Drop for Next<'_> {
    fn drop(&mut self) {
        self.forget();
    }
}
