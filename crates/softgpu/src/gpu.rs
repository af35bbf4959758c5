//! The handle through which all code above the seam uses the software GPU.

use std::sync::Arc;

use crate::fault::Fault;
use crate::host::{HostTurn, Shared};
use crate::model::{Counts, Deadlock, Live, Outcome, TraceEntry};
use crate::parameters::Parameters;

/// Ends the free-running clock when the last handle is dropped.
pub(crate) struct LastOne(Arc<Shared>);

impl Drop for LastOne {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// A software GPU, seen by one process. Clones are the same process; [`SoftGpu::process`] is another one.
#[derive(Clone)]
pub struct SoftGpu {
    pub(crate) shared: Arc<Shared>,
    pub(crate) process: usize,
    last: Arc<LastOne>,
}

impl std::fmt::Debug for SoftGpu {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SoftGpu").field("clock", &self.shared.clock).field("process", &self.process).finish()
    }
}

impl SoftGpu {
    pub(crate) fn from_shared(shared: Arc<Shared>) -> SoftGpu {
        let last = Arc::new(LastOne(Arc::clone(&shared)));
        SoftGpu { shared, process: 0, last }
    }

    /// Begins a configuration.
    pub fn builder() -> crate::Builder {
        crate::Builder::default()
    }

    /// Another process on the same devices: its own contexts and addresses, its own driver lock, and time slices on the
    /// copy engines.
    #[must_use]
    pub fn process(&self) -> SoftGpu {
        let process = self.shared.lock().model.add_process();
        SoftGpu { shared: Arc::clone(&self.shared), process, last: Arc::clone(&self.last) }
    }

    /// The parameters that it was built with.
    #[must_use]
    pub fn parameters(&self) -> Parameters {
        self.shared.lock().model.parameters.clone()
    }

    /// The operations that it has been given so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.shared.lock().model.counts
    }

    /// The numbers of live objects.
    #[must_use]
    pub fn live(&self) -> Live {
        self.shared.lock().model.live()
    }

    /// The operations executed since the last call, in order of completion; empty unless the builder asked for a
    /// trace.
    #[must_use]
    pub fn take_trace(&self) -> Vec<TraceEntry> {
        self.shared.lock().model.trace.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// The last proven deadlock, if there ever was one. It stays after a rescue.
    #[must_use]
    pub fn deadlock(&self) -> Option<Deadlock> {
        self.shared.lock().deadlock.clone()
    }

    /// The number of nodes of a captured graph; `None` for any other handle.
    #[must_use]
    pub fn graph_nodes(&self, graph: hal::Graph) -> Option<usize> {
        self.shared.lock().model.graph_nodes(graph)
    }

    /// Plans a fault.
    pub fn inject(&self, fault: Fault) {
        self.shared.lock().model.inject(fault);
    }

    /// One driver call: takes the turn, counts the call, performs it, and gives the turn to the thread that is
    /// furthest behind.
    pub(crate) fn call<T>(
        &self,
        name: &'static str,
        body: impl FnOnce(&mut HostTurn<'_>) -> Outcome<T>,
    ) -> hal::Result<T> {
        let mut turn = HostTurn::begin(&self.shared);
        let outcome = turn.model().call_fault(name).and_then(|()| body(&mut turn));
        turn.end();
        outcome.map_err(|failure| failure.at(name))
    }
}
