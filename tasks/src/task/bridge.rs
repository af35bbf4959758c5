//! Bridges: an order between tasks of two dispatchers, through the host (SY-21).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::task::handle::Handle;
use crate::task::tasks::Tasks;
use crate::work::fault::Error;
use crate::work::function::WorkResult;

/// The far side. Dropping it, which the end of the other task does on each path, ends the bridge.
struct Far {
    /// The near side, which is held until then.
    here: Handle,
    has_run: Arc<AtomicBool>,
}

impl Drop for Far {
    fn drop(&mut self) {
        // It is refused if the near dispatcher is closed: then its tasks have failed.
        if let Err(error) = self.here.release() {
            log::debug!("a bridge has nothing to release: {error}");
        }
    }
}

impl Tasks {
    /// A task of this set that ends with a task of another dispatcher, and fails with it: others of this dispatcher
    /// come after it. The host is between the two: it sees the end of the one before the other begins. Priorities end
    /// here: an urgent task behind the bridge does not raise those before it ([`Handle::raise`] does).
    pub fn bridge(&self, other: &Handle) -> Result<Handle, Error> {
        if other.is_of(self.shared()) {
            return self.join("bridge").after(other).submit();
        }
        let has_run = Arc::new(AtomicBool::new(false));
        let (seen, of) = (Arc::clone(&has_run), other.clone());
        let arrive = move || -> WorkResult<()> {
            match of.outcome() {
                Some(Err(error)) => Err(error.into()),
                _ if !seen.load(Ordering::Acquire) => Err(Error::Closed { task: None }.into()),
                _ => Ok(()),
            }
        };
        let here = self.light("bridge", arrive).held().submit()?;
        let far = Far { here: here.clone(), has_run };
        let leave = move || {
            far.has_run.store(true, Ordering::Release);
            Ok(())
        };
        Tasks::of(&other.shared()?, "").light("bridge", leave).after(other).submit()?;
        Ok(here)
    }
}
