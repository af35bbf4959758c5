//! Threads that keep bulk under way until they are stopped.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use hal::{Driver, HostThread};

use crate::bed;
use crate::failure::{Failure, Outcome};
use crate::rig::Rig;

/// The word that stops the threads, and the bytes that they have moved.
#[derive(Clone, Default)]
pub struct Progress {
    stop: Arc<AtomicBool>,
    moved: Arc<AtomicU64>,
}

impl Progress {
    pub fn goes_on(&self) -> bool {
        !self.stop.load(Ordering::SeqCst)
    }

    pub fn add(&self, bytes: u64) {
        self.moved.fetch_add(bytes, Ordering::SeqCst);
    }

    fn moved(&self) -> u64 {
        self.moved.load(Ordering::SeqCst)
    }
}

/// The threads. A check that fails ends them too.
pub struct Running<'a> {
    rig: &'a Rig,
    progress: Progress,
    threads: Vec<HostThread<Outcome>>,
}

impl<'a> Running<'a> {
    /// None yet.
    pub fn new(rig: &'a Rig) -> Running<'a> {
        Running { rig, progress: Progress::default(), threads: Vec::new() }
    }

    /// Starts one.
    pub fn spawn(&mut self, name: &str, body: impl FnOnce(&dyn Driver, &Progress) -> Outcome + Send + 'static) {
        let progress = self.progress.clone();
        self.threads.push(self.rig.spawn(name, move |driver| body(driver, &progress)));
    }

    /// Waits until all of them have moved more than so many bytes.
    pub fn wait_for(&self, bytes: u64) -> Outcome {
        let progress = &self.progress;
        bed::eventually(self.rig, "the load is under way", || progress.moved() > bytes)
    }

    /// The rate of all of them in GB/s meanwhile, and the result of `during`.
    pub fn rate<T>(&self, during: impl FnOnce() -> Result<T, Failure>) -> Result<(f64, T), Failure> {
        let (host, progress) = (self.rig.driver().host(), &self.progress);
        let (began, before) = (host.now(), progress.moved());
        let result = during()?;
        Ok(((progress.moved() - before) as f64 / host.now().since(began).0 as f64, result))
    }

    /// Stops them, and waits for their ends.
    pub fn end(&mut self) -> Outcome {
        self.progress.stop.store(true, Ordering::SeqCst);
        let host = self.rig.driver().host();
        self.threads.drain(..).map(|thread| thread.join(host)).collect::<Vec<_>>().into_iter().collect()
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        // The check has failed for another reason, so an error of the load adds nothing.
        let _ = self.end();
    }
}
