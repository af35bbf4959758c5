//! Replays of templates: all tasks of one are appended to the graph at once.

use std::sync::Arc;

use graph::{Kind, NodeId, Planned, Priority, Replay, Template};

use crate::dispatch::body::Character;
use crate::dispatch::ranks::{Candidate, Policy, Rank};
use crate::dispatch::state::State;
use crate::work::fault::Error;
use crate::work::function::{Launch, Steps, Work};
use crate::work::outcome::Outcome;
use crate::work::set::Set;

/// A replay that is to be submitted.
pub(crate) struct Replaying<'r> {
    /// It has a node.
    pub template: &'r Template,
    pub priority: Priority,
    pub device: u8,
    /// The owner of its priority expects its copies already.
    pub announced: bool,
    pub after: &'r [NodeId],
    pub set: &'r Set,
    /// Those of its tasks, if a policy ranks tasks.
    pub ranks: &'r [Rank],
}

impl State {
    /// Appends the tasks of a replay. Returns the last one, with its outcome. The caller has them dispatched.
    pub fn replay(
        &mut self,
        replaying: &Replaying<'_>,
        steps: &Arc<dyn Steps>,
    ) -> Result<(NodeId, Arc<Outcome>), Error> {
        let Replaying { template, priority, device, announced, after, set, ranks } = *replaying;
        let is_stopped = set.is_stopped();
        let replay = Replay { priority, after, references: is_stopped.into(), device };
        let mut nodes = std::mem::take(&mut self.replayed);
        self.graph.replay(template, &replay, &mut nodes)?;
        for (number, (node, planned)) in (0..).zip(nodes.iter().zip(template.nodes())) {
            let announced = announced && planned.priority <= priority;
            let (kind, priority) = (planned.kind, priority.max(planned.priority));
            let character = Character::new(kind, priority, device, announced);
            let body = self.bodies.add(*node, set);
            (body.character, body.is_wanted) = (character, planned.is_wanted);
            body.work = work(planned.kind, steps, number);
            self.expect(character);
        }
        for (node, rank) in nodes.iter().zip(ranks) {
            self.give_rank(*node, Some(*rank));
        }
        let last = nodes[nodes.len() - 1];
        if is_stopped {
            template.first().for_each(|number| set.waits(nodes[number]));
        }
        if !after.is_empty() && template.begins_on_host() {
            after.iter().for_each(|before| self.want(*before));
        }
        self.replayed = nodes;
        let outcome = self.bodies.get(last).map(|body| Arc::clone(&body.outcome));
        Ok((last, outcome.expect("it has just been added")))
    }
}

/// Asks the policy for the ranks of a template's tasks, of which the first have this depth. Without a lock.
pub(crate) fn ranks(policy: &Policy, template: &Template, priority: Priority, device: u8, first: u32) -> Vec<Rank> {
    let rank = |(number, (planned, depth)): (usize, (Planned, u32))| {
        let (name, priority) = (template.name(number), priority.max(planned.priority));
        let candidate = Candidate::new(name, planned.kind, priority, device);
        Rank::ask(policy, &Candidate { depth: first + depth, ..candidate })
    };
    template.nodes().zip(template.depths()).enumerate().map(rank).collect()
}

fn work(kind: Kind, steps: &Arc<dyn Steps>, number: u32) -> Work {
    match kind {
        Kind::Copy(_) | Kind::Kernel => Work::Launch(Launch::Step(Arc::clone(steps), number)),
        Kind::Host | Kind::Light => {
            let steps = Arc::clone(steps);
            Work::Step(Box::new(move || steps.run(number)))
        }
        Kind::Empty => Work::Nothing,
    }
}
