//! Mailboxes: tasks that threads leave for the thread with the turn, instead of waiting for the lock.
//!
//! A thread that submits while another one takes steps would have to wait for the lock, and then pull the whole state
//! from the other processor's cache to its own, and back. So it leaves the task in a *mailbox*, and the thread with the
//! turn takes whole mailboxes. Each mailbox has a few task numbers in store, so a task has a number before it is in the
//! graph.
//!
//! No entry is lost: a thread leaves it, and then checks whether a thread has the turn; that thread first gives the
//! turn back, and then checks for entries. `tasks/src/dispatch/models.rs` verifies this.

use std::sync::Arc;

use hal::primitive::{AtomicBool, AtomicU64, Mutex, MutexGuard, Ordering, fence, lock};

use crate::dispatch::seat::seat;

/// The mailboxes: threads that share one disturb each other.
const MAILBOXES: usize = if cfg!(loom) { 2 } else { 16 };
/// So many numbers of tasks are in store in a mailbox.
pub(crate) const STORE: usize = 128;

/// The entries that threads have left in a mailbox, and the numbers that are in store for further ones.
#[derive(Debug)]
#[repr(align(128))] // two cache lines, which processors fetch together
pub(crate) struct Mailbox<B, N> {
    pub mail: B,
    pub store: Vec<N>,
    /// Callers leave no entries here.
    pub is_closed: bool,
}

/// The one that takes entries, with the dispatcher's lock held.
pub(crate) trait Takes<B, N> {
    /// Takes all entries of a mail.
    fn take(&mut self, mail: &mut B);

    /// Puts so many numbers into a store, or fewer.
    fn refill(&mut self, store: &mut Vec<N>, missing: usize);
}

/// The mailboxes of a dispatcher, and one more for its own threads.
#[derive(Debug)]
pub(crate) struct Mailboxes<B, N> {
    mailboxes: Vec<Mutex<Mailbox<B, N>>>,
    /// A bit for each mailbox that a thread is to look at.
    news: AtomicU64,
    /// A thread has the turn: it looks for news before it gives that back, and behind that.
    is_attended: Arc<AtomicBool>,
}

impl<B: Default, N> Mailboxes<B, N> {
    /// `is_attended` is the sign of the turn.
    pub fn new(is_attended: Arc<AtomicBool>) -> Mailboxes<B, N> {
        let mailbox = || Mutex::new(Mailbox { mail: B::default(), store: Vec::new(), is_closed: false });
        Mailboxes { mailboxes: (0..=MAILBOXES).map(|_| mailbox()).collect(), news: AtomicU64::new(0), is_attended }
    }

    /// Whether a thread has the turn, so that it is worth while to leave it an entry.
    #[inline]
    pub fn is_attended(&self) -> bool {
        self.is_attended.load(Ordering::Relaxed)
    }

    /// The mailbox of the calling thread.
    pub fn own(&self) -> (usize, MutexGuard<'_, Mailbox<B, N>>) {
        self.mailbox(seat() % MAILBOXES)
    }

    /// The mailbox of the dispatcher's own threads.
    pub fn inner(&self) -> (usize, MutexGuard<'_, Mailbox<B, N>>) {
        self.mailbox(MAILBOXES)
    }

    fn mailbox(&self, index: usize) -> (usize, MutexGuard<'_, Mailbox<B, N>>) {
        (index, lock(&self.mailboxes[index]))
    }

    /// The mailbox has been changed, and let go of. Returns whether the calling thread has to look at it itself: no
    /// thread may have the turn.
    pub fn post(&self, mailbox: usize) -> bool {
        let bit = 1 << mailbox;
        // A thread that has taken the bit away and not come to the mailbox yet finds the entry there. If it had come
        // there before, this one sees that the bit is gone.
        if self.news.load(Ordering::Relaxed) & bit == 0 {
            self.news.fetch_or(bit, Ordering::Release);
        }
        fence(Ordering::SeqCst);
        !self.is_attended.load(Ordering::Relaxed)
    }

    /// Whether there is news.
    #[inline]
    pub fn has_news(&self) -> bool {
        self.news.load(Ordering::Relaxed) != 0
    }

    /// Whether there is news of this mailbox.
    pub fn has_news_of(&self, mailbox: usize) -> bool {
        self.news.load(Ordering::Relaxed) & 1 << mailbox != 0
    }

    /// The same for a thread that has given the turn back: it sees all that was left to it.
    #[inline]
    pub fn has_late_news(&self) -> bool {
        fence(Ordering::SeqCst);
        self.has_news()
    }

    /// Has the entries of the mailboxes with news taken, or of all, and their stores filled. `mail` is empty, before
    /// and behind it.
    pub fn take(&self, all: bool, mail: &mut B, taker: &mut impl Takes<B, N>) {
        let news = self.news.swap(0, Ordering::Acquire);
        for (index, mailbox) in self.mailboxes.iter().enumerate().filter(|(index, _)| all || news & 1 << index != 0) {
            let mut held = lock(mailbox);
            std::mem::swap(&mut held.mail, mail);
            let missing = STORE - held.store.len().min(STORE);
            drop(held);
            taker.take(mail);
            if index < MAILBOXES && news & 1 << index != 0 && missing > STORE / 2 {
                let mut more = Vec::with_capacity(missing);
                taker.refill(&mut more, missing);
                lock(mailbox).store.append(&mut more);
            }
        }
    }

    /// Callers leave no entries from now on: they wait for the lock.
    pub fn close(&self) {
        self.mailboxes.iter().for_each(|mailbox| lock(mailbox).is_closed = true);
    }
}

#[cfg(all(test, loom))]
mod models;

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Taken {
        entries: Vec<u32>,
        stores: u32,
    }

    impl Takes<Vec<u32>, u32> for Taken {
        fn take(&mut self, mail: &mut Vec<u32>) {
            self.entries.append(mail);
        }

        fn refill(&mut self, store: &mut Vec<u32>, missing: usize) {
            self.stores += 1;
            store.extend(0..missing as u32);
        }
    }

    #[test]
    fn mailboxes_with_news_are_emptied_and_their_stores_filled() {
        let (sign, mut taken) = (Arc::new(AtomicBool::new(true)), Taken::default());
        let mailboxes: Mailboxes<Vec<u32>, u32> = Mailboxes::new(Arc::clone(&sign));
        let (own, mut mailbox) = mailboxes.own();
        mailbox.mail.push(1);
        drop(mailbox);
        assert!(!mailboxes.post(own) && mailboxes.has_news_of(own), "the thread with the turn looks at it");
        mailboxes.take(false, &mut Vec::new(), &mut taken);
        assert_eq!((&taken.entries[..], taken.stores, mailboxes.own().1.store.len()), (&[1][..], 1, STORE));
        assert!(!mailboxes.has_news(), "it has been heard");
        let (inner, mut mailbox) = mailboxes.inner();
        mailbox.mail.push(2);
        drop(mailbox);
        mailboxes.take(false, &mut Vec::new(), &mut taken);
        assert_eq!(taken.entries, [1], "it was not told of");
        mailboxes.take(true, &mut Vec::new(), &mut taken);
        assert_eq!((&taken.entries[..], taken.stores), (&[1, 2][..], 1), "a full store is left, and that of no thread");
        sign.store(false, Ordering::Relaxed);
        assert!(mailboxes.post(inner) && mailboxes.has_late_news(), "no thread has the turn");
        mailboxes.take(false, &mut Vec::new(), &mut taken);
        assert_eq!((taken.stores, mailboxes.inner().1.store.len()), (1, 0), "no thread takes numbers there");
        mailboxes.close();
        assert!(mailboxes.own().1.is_closed);
    }
}
