//! The time at which kernels are loaded: with their module, or lazily at their first launch.
//!
//! A driver that loads a kernel may need memory for it. It then waits for everything in the context, and lets no
//! other thread in until it has the memory. A program cannot know which launches wait, so the model waits at every
//! first launch. It does not wait for threads that are inside already. On an H100 few launches wait in their call;
//! there the work of all streams behind a first launch waits for all work before it (`reports/driver`,
//! `first-launches`).

use std::collections::HashSet;
use std::sync::{Condvar, Mutex, OnceLock};
use std::thread::ThreadId;

use hal::locks::{lock, unpoisoned};
use hal::{Code, Driver, Function};
use softgpu::SoftGpu;

use crate::answer::{Answer, Refusal};

/// The variable that selects the time: `eager`, which is the default, or `lazy`.
pub const VARIABLE: &str = "OVERTAKE_SOFT_LOADING";

static LAZY: OnceLock<bool> = OnceLock::new();
static LOADED: Mutex<Option<HashSet<Function>>> = Mutex::new(None);
/// The thread that is loading and keeps all others out.
static LOADER: Mutex<Option<ThreadId>> = Mutex::new(None);
static LET_IN: Condvar = Condvar::new();

/// Reads the variable, once.
pub fn start() -> Answer {
    let lazy = match std::env::var(VARIABLE).ok().as_deref() {
        None | Some("" | "eager") => false,
        Some("lazy") => true,
        Some(other) => {
            log::error!("{VARIABLE}={other:?} is neither eager nor lazy, so cuInit fails: set one of the two");
            return Err(Refusal(Code::INVALID_VALUE));
        }
    };
    LAZY.get_or_init(|| lazy);
    Ok(())
}

fn is_lazy() -> bool {
    LAZY.get().copied().unwrap_or(false)
}

/// Called at the beginning of each call. It waits while another thread loads.
pub fn come_in() {
    if is_lazy() {
        let here = std::thread::current().id();
        let others = |loader: &mut Option<ThreadId>| loader.is_some_and(|loader| loader != here);
        drop(unpoisoned(LET_IN.wait_while(lock(&LOADER), others)));
    }
}

/// Called before a kernel is launched.
pub fn load(gpu: &SoftGpu, function: Function) {
    if !is_lazy() || !lock(&LOADED).get_or_insert_default().insert(function) {
        return;
    }
    let mut loader = unpoisoned(LET_IN.wait_while(lock(&LOADER), |loader| loader.is_some()));
    *loader = Some(std::thread::current().id());
    drop(loader);
    // A launch that may not wait, as during a capture, reports the error itself.
    let _ = gpu.context_synchronize();
    *lock(&LOADER) = None;
    LET_IN.notify_all();
}
