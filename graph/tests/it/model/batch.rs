//! Batches of launches, and the traces of a model.

use overtake_graph::{Point, Stage, Statistics};

use super::launches::{Launch, LaunchBatch, Seen};
use super::{Item, Model};

impl Model {
    /// Hands out the next node of the device, and up to so many behind or beside it. Of those so many are launched, but
    /// none behind one that fails or has more to launch. Returns the numbers and turns of all that are launched.
    pub fn batch(&mut self, most: usize, launched: usize) -> Vec<(usize, u32)> {
        let Some(LaunchBatch { mut launches, is_chain }) = LaunchBatch::next(&mut self.graph, most) else {
            return vec![];
        };
        let is_last = |it: &Launch| {
            let wish = &self.tasks[self.number(it.id)].wish;
            it.turn + 1 < wish.turns || wish.fails
        };
        let count = launches.iter().position(is_last).unwrap_or(launches.len()).min(launched) + 1;
        for Launch { id, .. } in launches.drain(count.min(launches.len())..).rev() {
            assert_eq!(self.graph.stage(id), Stage::Running);
            self.graph.take_back(id).unwrap();
            let stage = self.graph.stage(id);
            assert!(if is_chain { stage == Stage::Waiting } else { [Stage::Waiting, Stage::Ready].contains(&stage) });
        }
        let made = launches.iter().map(|it| (self.number(it.id), it.turn)).collect();
        let last = launches.pop().unwrap();
        if is_chain && !launches.is_empty() {
            let at = self.graph.launched_behind(launches[0].id, launches.len() as u32);
            for (it, value) in launches.iter().zip(at.value..) {
                let (number, lane) = (self.number(it.id), it.place.as_ref().unwrap().0);
                assert_eq!(self.graph.point(it.id), Some(Point { lane, value }));
                let task = &mut self.tasks[number];
                (task.launches, task.told, task.is_launched, task.lane) =
                    (task.launches + 1, it.priority, true, Some(lane));
                self.lanes[usize::from(lane)].push_back(Item { task: number, joins: vec![], value: Some(value) });
            }
        } else {
            launches.into_iter().for_each(|it| self.begin_launch(it));
        }
        self.begin_launch(last);
        made
    }

    fn begin_launch(&mut self, launch: Launch) {
        self.begin(self.number(launch.id), launch.turn, launch.priority, launch.place);
    }

    /// The lanes, points, priorities and ends of all tasks, and the counts of the graph.
    /// Values and no text: programs compare them after every move, and Miri runs those programs too.
    pub fn trace(&self) -> (Vec<Seen>, Statistics) {
        let tasks = self.tasks.iter().map(|it| Seen::of(&self.graph, it.id, it.lane, it.launches, it.ended));
        (tasks.collect(), self.graph.statistics())
    }
}
