//! The waits of an end as futures, which may be polled and dropped in the child of a fork.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::fault::Error;
use crate::shared::Shared;

/// A wait that is refused in the child of a fork, where another thread of the parent may have held its lock. There it
/// is leaked when this is dropped, because its place in the line is the parent's.
pub(crate) struct Here<'s, B, F> {
    shared: &'s Shared<B>,
    /// None when it is leaked.
    wait: Option<F>,
}

impl<'s, B, F> Here<'s, B, F> {
    pub fn new(shared: &'s Shared<B>, wait: F) -> Here<'s, B, F> {
        Here { shared, wait: Some(wait) }
    }
}

impl<B, F: Future + Unpin> Future for Here<'_, B, F> {
    type Output = Result<F::Output, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if let Err(forked) = self.shared.may_enter() {
            return Poll::Ready(Err(forked.into()));
        }
        let wait = self.wait.as_mut().expect("it is there until this is dropped");
        Pin::new(wait).poll(context).map(Ok)
    }
}

impl<B, F> Drop for Here<'_, B, F> {
    fn drop(&mut self) {
        if self.shared.may_enter().is_err() {
            std::mem::forget(self.wait.take());
        }
    }
}
