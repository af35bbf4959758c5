//! The life of each context, as the program's calls show it: created, retained or released, about to end.

use std::collections::HashMap;

use hal::locks::lock;
use hal::{Context, Device};

use crate::process::{Process, process};

/// The uses of contexts that the driver counts.
#[derive(Default)]
pub(crate) struct Uses {
    /// Primary contexts, by device.
    primaries: HashMap<Device, Primary>,
    /// The calls that have attached to a context, beyond its making.
    attached: HashMap<Context, u64>,
}

struct Primary {
    /// None from a reset until the next call that retains it.
    context: Option<Context>,
    retained: u64,
}

impl Process {
    /// The program has just made a context. No work is under way in it yet. A layer that is open there is that of an
    /// earlier context, which has ended unseen.
    pub(crate) fn made(&self, context: Context) {
        lock(&self.contexts.uses).attached.remove(&context);
        self.leave_stale(context);
        self.open(context);
    }

    /// The program is about to destroy a context. The driver destroys no primary context.
    pub(crate) fn going(&self, context: Context) {
        let mut uses = lock(&self.contexts.uses);
        if uses.primaries.values().any(|primary| primary.context == Some(context)) {
            return;
        }
        uses.attached.remove(&context);
        drop(uses);
        self.close(context);
    }

    /// The program has counted one more use of a context.
    pub(crate) fn attached(&self, context: Context) {
        *lock(&self.contexts.uses).attached.entry(context).or_default() += 1;
    }

    /// The program is about to count one use less. The last one ends the context. The driver refuses the call where the
    /// context is not current.
    pub(crate) fn detaching(&self, context: Context) {
        if self.current_context() != Some(context) {
            return;
        }
        let mut uses = lock(&self.contexts.uses);
        if let Some(more) = uses.attached.get_mut(&context).filter(|more| **more > 0) {
            *more -= 1;
            return;
        }
        drop(uses);
        self.going(context);
    }

    /// The program has retained a primary context, which the driver has made if there was none. Only a new one has no
    /// work under way. A thread that comes second waits for the one that opens there.
    pub(crate) fn retained(&self, device: Device, context: Context) {
        let mut uses = lock(&self.contexts.uses);
        let primary = uses.primaries.entry(device).or_insert(Primary { context: None, retained: 0 });
        let is_new = primary.context.replace(context) != Some(context);
        primary.retained += 1;
        drop(uses);
        if is_new {
            self.open(context);
        } else {
            self.await_opening(context);
        }
    }

    /// The program is about to release a primary context once.
    pub(crate) fn releasing(&self, device: Device) {
        let mut uses = lock(&self.contexts.uses);
        let Some(primary) = uses.primaries.get_mut(&device) else { return };
        primary.retained = primary.retained.saturating_sub(1);
        let (context, is_last) = (primary.context, primary.retained == 0);
        if is_last {
            uses.primaries.remove(&device);
        }
        drop(uses);
        if is_last {
            context.into_iter().for_each(|context| self.close(context));
        }
    }

    /// The program is about to reset a primary context. The references stay, and the next one makes it again.
    pub(crate) fn resetting(&self, device: Device) {
        let context = lock(&self.contexts.uses).primaries.get_mut(&device).and_then(|primary| primary.context.take());
        context.into_iter().for_each(|context| self.close(context));
    }
}

/// The program has just made a context. No work is under way in it yet.
pub fn context_made(context: Context) {
    process().into_iter().for_each(|process| process.made(context));
}

/// The program is about to destroy a context.
pub fn context_going(context: Context) {
    process().into_iter().for_each(|process| process.going(context));
}

/// The program has attached to a context.
pub fn context_attached(context: Context) {
    process().into_iter().for_each(|process| process.attached(context));
}

/// The program is about to detach from a context.
pub fn context_detaching(context: Context) {
    process().into_iter().for_each(|process| process.detaching(context));
}

/// The program has retained a primary context.
pub fn primary_retained(device: Device, context: Context) {
    process().into_iter().for_each(|process| process.retained(device, context));
}

/// The program is about to release a primary context once.
pub fn primary_releasing(device: Device) {
    process().into_iter().for_each(|process| process.releasing(device));
}

/// The program is about to reset a primary context.
pub fn primary_resetting(device: Device) {
    process().into_iter().for_each(|process| process.resetting(device));
}
