//! Ready nodes in the order of PhysX: three bins, passes over them, and a stack of submitted ones (PX-10,
//! PX-11, PX-17).

use crate::node::Slot;

/// The next step.
pub(crate) enum PassStep {
    /// Hand this node out.
    Launch(u32),
    /// A pass has ended, and nodes in it wait for one wait-for-idle.
    Sync,
    /// No node is ready.
    Nothing,
}

/// The bins.
#[derive(Default)]
pub(crate) struct Passes {
    /// Nodes that have become ready since the last poll: last in, first out.
    submitted: Vec<u32>,
    bins: [Vec<u32>; 3],
    phase: usize,
    cursor: usize,
    /// A node of this pass has been left out.
    has_skipped: bool,
    /// The node at the cursor has been handed out.
    is_taken: bool,
    /// A node has launched everything since the last poll.
    has_finished: bool,
    /// A round has begun and not ended.
    is_in_round: bool,
    pub rounds: u64,
}

impl Passes {
    pub fn push(&mut self, node: u32) {
        self.submitted.push(node);
    }

    /// Moves submitted nodes to the bins, if a node has launched everything, or none is there; `each` sees them first.
    pub fn poll(&mut self, slots: &mut [Slot], mut each: impl FnMut(&mut Slot)) {
        let is_due = self.has_finished || self.bins.iter().all(Vec::is_empty);
        if self.is_taken || !is_due {
            return;
        }
        self.has_finished = false;
        while let Some(node) = self.submitted.pop() {
            let slot = &mut slots[node as usize];
            each(slot);
            self.bins[slot.kind.phase().trailing_zeros() as usize].push(node);
        }
    }

    pub fn turn(&mut self, slots: &[Slot]) -> PassStep {
        if self.is_taken {
            return PassStep::Nothing;
        }
        loop {
            if let Some(&node) = self.bins[self.phase].get(self.cursor) {
                if !slots[node as usize].wants_sync {
                    self.is_taken = true;
                    self.rounds += u64::from(!self.is_in_round);
                    self.is_in_round = true;
                    return PassStep::Launch(node);
                }
                self.has_skipped = true;
                self.cursor += 1;
                continue;
            }
            self.cursor = 0;
            if self.has_skipped {
                return PassStep::Sync;
            }
            if !self.bins[self.phase].is_empty() {
                continue;
            }
            if self.bins.iter().all(Vec::is_empty) {
                (self.phase, self.is_in_round) = (0, false);
                return PassStep::Nothing;
            }
            self.phase = (self.phase + 1) % 3;
            self.is_in_round &= self.phase != 0;
        }
    }

    /// A wait-for-idle has been recorded: the nodes of this bin need none.
    pub fn clear_syncs(&mut self, slots: &mut [Slot]) {
        self.has_skipped = false;
        self.bins[self.phase].iter().for_each(|&node| slots[node as usize].wants_sync = false);
    }

    /// The node at the cursor has more to launch.
    pub fn again(&mut self) {
        self.is_taken = false;
        self.cursor += 1;
    }

    /// The node at the cursor has launched everything. The last of the bin takes its place.
    pub fn finish(&mut self) {
        (self.is_taken, self.has_finished) = (false, true);
        self.bins[self.phase].swap_remove(self.cursor);
    }

    /// Takes all ready nodes away, but for one that has been handed out.
    pub fn drain(&mut self, mut each: impl FnMut(u32)) {
        self.submitted.drain(..).for_each(&mut each);
        let taken = self.is_taken.then(|| self.bins[self.phase][self.cursor]);
        for bin in &mut self.bins {
            bin.drain(..).filter(|&node| Some(node) != taken).for_each(&mut each);
        }
        self.cursor = 0;
        self.bins[self.phase].extend(taken);
        self.has_skipped = false;
    }
}
