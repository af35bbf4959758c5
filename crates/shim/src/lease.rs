//! One owner of a value, and leases for threads that use it. `README.md` explains why there are two types.

use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::sync::Arc;

use hal::{Host, Nanos};

/// The time between an ending owner's looks for leases.
const LOOK_EVERY: Nanos = Nanos::from_us(50);

/// The one owner. Dropping it does not drop the value: only [`Owner::end`] hands the value out.
pub(crate) struct Owner<T>(ManuallyDrop<Arc<T>>);

/// The use of the value by a thread. The value lives at least as long; dropping a lease never drops it.
pub(crate) struct Lease<T>(Arc<T>);

impl<T> Owner<T> {
    pub(crate) fn new(value: T) -> Owner<T> {
        Owner(ManuallyDrop::new(Arc::new(value)))
    }

    pub(crate) fn lease(&self) -> Lease<T> {
        Lease(Arc::clone(&self.0))
    }

    /// Returns the value when no lease is left and it `is_free`. If that takes longer than `patience`, in the host's
    /// time, the value is never returned and never dropped.
    pub(crate) fn end(self, host: &dyn Host, patience: Nanos, is_free: impl Fn(&T) -> bool) -> Option<T> {
        let deadline = host.now() + patience;
        // Only the owner makes leases, and it is gone after this call: once there is no lease, there is never another.
        while Arc::strong_count(&self.0) > 1 || !is_free(&self.0) {
            if host.now() >= deadline {
                return None;
            }
            host.sleep(LOOK_EVERY);
        }
        Arc::into_inner(ManuallyDrop::into_inner(self.0))
    }
}

impl<T> Deref for Lease<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::mpsc;
    use std::thread::ThreadId;

    use driver::RealHost;

    use super::*;

    /// Reports the thread on which it was dropped.
    struct Told(mpsc::Sender<ThreadId>);

    impl Drop for Told {
        fn drop(&mut self) {
            let _ = self.0.send(std::thread::current().id());
        }
    }

    #[test]
    fn a_lease_is_waited_for_and_the_owner_gets_the_value() {
        let (told, drops) = mpsc::channel();
        let (owner, host, is_free) = (Owner::new(Told(told)), RealHost::new(), AtomicBool::new(false));
        let lease = owner.lease();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                host.sleep(Nanos::from_ms(5));
                drop(lease);
                host.sleep(Nanos::from_ms(5));
                is_free.store(true, Ordering::SeqCst);
            });
            let value = owner.end(&host, Nanos::from_ms(20_000), |_| is_free.load(Ordering::SeqCst));
            assert!(host.now() >= Nanos::from_ms(10), "it waited for the lease, and until the value was free");
            drop(value.expect("no other lease is left"));
        });
        assert_eq!(drops.try_iter().collect::<Vec<_>>(), [std::thread::current().id()]);
    }

    #[test]
    fn a_lease_that_lasts_never_drops_its_value() {
        let (told, drops) = mpsc::channel();
        let (owner, host) = (Owner::new(Told(told)), RealHost::new());
        let lease = owner.lease();
        assert!(owner.end(&host, Nanos::from_ms(1), |_| true).is_none());
        drop(lease);
        assert!(drops.try_recv().is_err(), "neither its owner nor a lease has dropped it");
    }
}
