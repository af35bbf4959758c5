//! The link of an engine: concurrent flows share its rate.

use super::agenda::{Due, Ns};
use super::{Model, OpKey};

/// A shorter copy is over before its reads or writes get their share of a link that kernels fill.
const SHORT_BYTES: u64 = 256 << 10;

/// The owner of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FlowOwner {
    /// The engine's copy.
    Engine,
    /// A kernel's move.
    Kernel(OpKey),
}

#[derive(Clone, Copy, Debug)]
struct Flow {
    owner: FlowOwner,
    /// Too short to get its share of a link that kernels fill.
    is_short: bool,
    remaining_bytes: f64,
    limit_gbps: f64,
    rate_gbps: f64,
    /// The beginning of this rate; in the future while the flow is being set up.
    since: Ns,
    ends: Ns,
    stamp: u64,
}

/// A link, its capacity and its flows.
pub(crate) struct Link {
    capacity_gbps: f64,
    /// The rate of all multiprocessors together, which is below the capacity.
    kernels_gbps: f64,
    /// Their rate while the engine copies.
    contended_gbps: f64,
    /// Their rate while the engine makes short copies, with their set-up.
    beside_short_gbps: f64,
    flows: Vec<Flow>,
}

impl Link {
    pub(crate) fn new(capacity_gbps: f64, kernels_gbps: f64, contended_gbps: f64) -> Link {
        let kernels_gbps = kernels_gbps.min(capacity_gbps);
        Link { capacity_gbps, kernels_gbps, contended_gbps, beside_short_gbps: contended_gbps, flows: Vec::new() }
    }

    /// The same link with this rate for kernels beside short copies of the engine.
    pub(crate) fn beside_short(self, gbps: f64) -> Link {
        Link { beside_short_gbps: gbps.max(self.contended_gbps).min(self.kernels_gbps), ..self }
    }

    /// The end of the engine's copy at the present rates.
    pub(crate) fn engine_end(&self) -> Option<Ns> {
        self.flows.iter().find(|flow| flow.owner == FlowOwner::Engine).map(|flow| flow.ends)
    }

    /// The end of the engine's copy, if its bytes flow now.
    pub(crate) fn engine_flows_until(&self, now: Ns) -> Option<Ns> {
        let flows = |flow: &&Flow| flow.owner == FlowOwner::Engine && flow.since <= now && flow.ends > now;
        self.flows.iter().find(flows).map(|flow| flow.ends)
    }

    fn settle(&mut self, now: Ns) {
        for flow in &mut self.flows {
            let moved = now.saturating_sub(flow.since) as f64 * flow.rate_gbps;
            flow.remaining_bytes = (flow.remaining_bytes - moved).max(0.0);
            flow.since = flow.since.max(now);
        }
    }

    /// The kernels share their common rate, each up to its own limit. The engine has the rest.
    fn share(&mut self) {
        let is_kernel = |flow: &Flow| flow.owner != FlowOwner::Engine;
        let mut kernels: Vec<usize> = (0..self.flows.len()).filter(|&index| is_kernel(&self.flows[index])).collect();
        let mut left_gbps = match self.flows.iter().find(|flow| !is_kernel(flow)) {
            Some(engine) if engine.is_short => self.beside_short_gbps,
            Some(_) => self.contended_gbps,
            None => self.kernels_gbps,
        };
        let mut engine_gbps = self.capacity_gbps;
        kernels.sort_by(|&a, &b| self.flows[a].limit_gbps.total_cmp(&self.flows[b].limit_gbps));
        for (taken, &index) in kernels.iter().enumerate() {
            let share_gbps = left_gbps / (kernels.len() - taken) as f64;
            let rate_gbps = self.flows[index].limit_gbps.min(share_gbps);
            self.flows[index].rate_gbps = rate_gbps;
            left_gbps -= rate_gbps;
            engine_gbps -= rate_gbps;
        }
        for flow in self.flows.iter_mut().filter(|flow| !is_kernel(flow)) {
            flow.rate_gbps = engine_gbps.min(flow.limit_gbps);
        }
    }
}

impl Model {
    /// Bytes begin to flow over an engine's link at `begin`.
    pub(crate) fn flow_join(&mut self, engine: usize, owner: FlowOwner, bytes: u64, limit_gbps: f64, begin: Ns) {
        let now = self.now;
        let link = &mut self.engines[engine].link;
        link.settle(now);
        let (is_short, remaining_bytes) = (bytes < SHORT_BYTES, bytes as f64);
        let (rate_gbps, since) = (0.0, begin);
        link.flows.push(Flow { owner, is_short, remaining_bytes, limit_gbps, rate_gbps, since, ends: 0, stamp: 0 });
        self.flow_replan(engine);
    }

    /// Removes a flow before it is done.
    pub(crate) fn flow_leave(&mut self, engine: usize, owner: FlowOwner) {
        let now = self.now;
        let link = &mut self.engines[engine].link;
        let before = link.flows.len();
        link.settle(now);
        link.flows.retain(|flow| flow.owner != owner);
        if link.flows.len() != before {
            self.flow_replan(engine);
        }
    }

    fn flow_replan(&mut self, engine: usize) {
        let link = &mut self.engines[engine].link;
        link.share();
        for flow in &mut link.flows {
            let span = (flow.remaining_bytes / flow.rate_gbps).round() as Ns;
            let ends = flow.since + span;
            if ends != flow.ends || flow.stamp == 0 {
                self.stamps += 1;
                (flow.ends, flow.stamp) = (ends, self.stamps);
                self.agenda.push(ends, Due::Flow { engine, stamp: self.stamps });
            }
        }
    }

    /// The planned end of a flow has come. It is ignored if the flow has been planned anew since.
    pub(crate) fn flow_due(&mut self, engine: usize, stamp: u64) {
        let flows = &self.engines[engine].link.flows;
        let Some(owner) = flows.iter().find(|flow| flow.stamp == stamp).map(|flow| flow.owner) else { return };
        self.flow_leave(engine, owner);
        match owner {
            FlowOwner::Engine => self.engine_done(engine),
            FlowOwner::Kernel(op) => self.kernel_moved(op),
        }
    }
}
