//! Replays of templates, which the oracle knows as tasks of their own.

use overtake_graph::{Priority, Refused, Replay, Template};

use super::{Model, Wish};

impl Model {
    /// Records tasks, each after some of those before it by number, and replays them behind `after`.
    pub fn replay(&mut self, stretch: &[(Wish, Vec<usize>)], after: &[usize], priority: Priority, is_held: bool) {
        let device = stretch.first().map_or(0, |(wish, _)| wish.device);
        let mut template = Template::new();
        for (wish, inner) in stretch {
            template.add(wish.kind, wish.priority, "", inner).unwrap();
        }
        let (ids, held, mut nodes) = (self.ids(after), u32::from(is_held), Vec::new());
        match self.graph.replay(&template, &Replay { priority, after: &ids, references: held, device }, &mut nodes) {
            Err(Refused::Finished { .. }) if !self.is_strict => return,
            told => told.unwrap(),
        }
        let first = self.tasks.len();
        for ((wish, inner), id) in stretch.iter().zip(nodes) {
            let wish = Wish { priority: wish.priority.max(priority), ..*wish };
            let (held, outer) = if inner.is_empty() { (held, after) } else { (0, &[][..]) };
            let before: Vec<usize> = inner.iter().map(|step| first + step).chain(outer.iter().copied()).collect();
            self.add(id, wish, held, &before);
        }
    }
}
