//! The functions of a template, and one replay of them with its arguments.

use std::sync::Arc;

use crate::work::function::{More, Steps, WorkResult};
use crate::work::lane::Lane;
use crate::work::levels::OfUser;

/// A function that submits work to the device, with the arguments of a replay.
pub(crate) type Submits<A> = dyn Fn(&mut Lane<'_>, &A) -> WorkResult<More> + Send + Sync;

/// A function of the host, with the arguments of a replay.
pub(crate) type Runs<A> = dyn Fn(&A) -> WorkResult<()> + Send + Sync;

/// The function of a task of a template.
pub(crate) enum Does<A> {
    Launch(Box<Submits<A>>),
    Function(Box<Runs<A>>),
    /// None: the task only joins others.
    Nothing,
}

/// One replay.
pub(crate) struct Run<A> {
    _of_user: OfUser,
    does: Arc<[Does<A>]>,
    arguments: A,
}

impl<A> Run<A> {
    pub fn new(does: Arc<[Does<A>]>, arguments: A) -> Run<A> {
        Run { _of_user: OfUser, does, arguments }
    }
}

impl<A: Send + Sync> Steps for Run<A> {
    #[inline]
    fn launch(&self, step: u32, lane: &mut Lane<'_>) -> WorkResult<More> {
        match self.does.get(step as usize) {
            Some(Does::Launch(launch)) => launch(lane, &self.arguments),
            _ => Ok(More::Done),
        }
    }

    fn run(&self, step: u32) -> WorkResult<()> {
        match self.does.get(step as usize) {
            Some(Does::Function(run)) => run(&self.arguments),
            _ => Ok(()),
        }
    }
}
