//! The program's own function for messages. It is called on a thread of its own, because it may wait, for example for
//! the lock of an interpreter. The thread that holds that lock may be waiting for the very thread that sends the
//! message.

use std::cell::Cell;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use log::Level;

use crate::threads;

/// A function that receives messages, one at a time.
pub type Listener = Box<dyn Fn(Level, &str) + Send + Sync>;

/// The most messages that may wait for a listener.
const WAITING_MAX: usize = 256;

type Message = (Level, String);

struct Post {
    listener: Option<Arc<Listener>>,
    /// To the thread that calls listeners, once there is one.
    queue: Option<SyncSender<Message>>,
    /// The listener that this thread is calling now.
    called: Option<Arc<Listener>>,
}

static POST: Mutex<Post> = Mutex::new(Post { listener: None, queue: None, called: None });
static RETURNED: Condvar = Condvar::new();

thread_local! {
    /// Whether this is the thread that calls listeners.
    static CALLS: Cell<bool> = const { Cell::new(false) };
}

#[expect(clippy::disallowed_methods, reason = "this crate stands below hal, which has the others' way to take a lock")]
fn post() -> MutexGuard<'static, Post> {
    POST.lock().unwrap_or_else(PoisonError::into_inner)
}

fn calls_listeners() -> bool {
    CALLS.try_with(Cell::get).unwrap_or(false)
}

/// Replaces the listener. When this returns, no call of the former listener is running, unless this is called from
/// within that listener.
/// The listener's thread calls the program and no driver: no host need know it.
pub(crate) fn replace(listener: Option<Listener>) -> std::io::Result<()> {
    let mut post = post();
    if listener.is_some() && post.queue.is_none() {
        let (queue, messages) = sync_channel(WAITING_MAX);
        threads::start("overtake-messages", threads::STACK_BYTES, move || call(&messages))?;
        post.queue = Some(queue);
    }
    let before = std::mem::replace(&mut post.listener, listener.map(Arc::new));
    if let (Some(before), false) = (&before, calls_listeners()) {
        let is_called = |post: &mut Post| post.called.as_ref().is_some_and(|called| Arc::ptr_eq(called, before));
        post = RETURNED.wait_while(post, is_called).unwrap_or_else(PoisonError::into_inner);
    }
    // Dropping the former listener may run a destructor of the program, so the lock is released first.
    drop(post);
    drop(before);
    Ok(())
}

/// Hands a message to the listener's thread. Returns whether there was room for it, or `None` without a listener.
/// Messages that the listener itself causes are not handed over: they would never end.
pub(crate) fn hand_over(level: Level, text: &str) -> Option<bool> {
    let post = post();
    post.listener.as_ref()?;
    let room = |queue: &SyncSender<Message>| queue.try_send((level, text.to_owned())).is_ok();
    Some(!calls_listeners() && post.queue.as_ref().is_some_and(room))
}

fn call(messages: &Receiver<Message>) {
    CALLS.set(true);
    for (level, text) in messages {
        let listener = {
            let mut post = post();
            post.called = post.listener.clone();
            post.called.clone()
        };
        match listener {
            Some(listener) => listener(level, &text),
            None => crate::messages::write(level, &text),
        }
        post().called = None;
        RETURNED.notify_all();
    }
}
