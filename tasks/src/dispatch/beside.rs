//! How a thread leaves entries in the mailboxes while another thread has the turn.

use std::sync::Arc;

use graph::NodeId;
use hal::Nanos;
use hal::primitive::MutexGuard;

use crate::dispatch::arrivals::{Mail, Number};
use crate::dispatch::inside::is_inside;
use crate::dispatch::mailboxes::Mailbox;
use crate::dispatch::shared::Shared;

/// A thread waits so long for numbers, before it takes the lock.
const STORE_SPAN: Nanos = Nanos::from_us(50);
/// Pauses between two looks at the store.
const PAUSES: u32 = 16;

/// A mailbox, and a number for a task that is left there.
type Numbered<'s> = (usize, MutexGuard<'s, Mailbox<Mail, Number>>, Number);

impl Shared {
    /// Leaves a node that the calling thread waits for to the thread with the turn. `false` if no thread has it.
    pub fn leave_want(self: &Arc<Shared>, node: NodeId) -> bool {
        if !(self.process.is_this() && self.mailboxes.is_attended()) {
            return false;
        }
        let (index, mut mailbox) = self.mailboxes.own();
        mailbox.mail.want(node);
        drop(mailbox);
        if self.mailboxes.post(index) {
            self.look_in();
        }
        true
    }

    /// A number from the store of the calling thread's mailbox, if the thread may leave a task there. If there is none
    /// it waits a little for the thread with the turn, which fills the store: that takes less than the lock.
    pub fn number(self: &Arc<Shared>, may_leave: impl Fn(&Mailbox<Mail, Number>) -> bool) -> Option<Numbered<'_>> {
        let mut until = None;
        loop {
            let (index, mut mailbox) = self.mailboxes.own();
            if !may_leave(&mailbox) {
                return None;
            }
            if let Some(number) = mailbox.store.pop() {
                return Some((index, mailbox, number));
            }
            drop(mailbox);
            let host = self.driver.host();
            let is_served = !self.mailboxes.post(index) && !host.is_virtual() && !is_inside(Arc::as_ptr(self).addr());
            if !is_served || host.now() >= *until.get_or_insert_with(|| host.now() + STORE_SPAN) {
                return None;
            }
            (0..PAUSES).for_each(|_| host.pause());
        }
    }
}
