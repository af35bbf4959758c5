//! Checks of the model against its oracle: priorities at all times, and outcomes at the end.

use overtake_graph::{Kind, Point, Priority, Stage};

use super::Model;
use super::numbers::cause;

impl Model {
    pub(super) fn check_priorities(&self) {
        let mut expected: Vec<Priority> = self.tasks.iter().map(|task| task.own).collect();
        let live =
            |task: usize| self.tasks[task].ended.is_none() && self.graph.stage(self.tasks[task].id) != Stage::Ended;
        // All waits: by edges, and by the order of lanes.
        let mut waits: Vec<(usize, usize)> = Vec::new();
        for (then, task) in self.tasks.iter().enumerate() {
            waits.extend(task.before.iter().map(|(first, _)| (*first, then)));
        }
        waits.extend(self.lane_order());
        waits.retain(|(first, then)| live(*first) && live(*then));
        for _ in 0..self.tasks.len() {
            for (first, then) in &waits {
                expected[*first] = expected[*first].max(expected[*then]);
            }
        }
        for (number, task) in self.tasks.iter().enumerate().filter(|(number, _)| live(*number)) {
            assert_eq!(self.graph.priority(task.id), Some(expected[number]), "{number}");
            if task.launches > 0 && task.wish.kind.is_device() {
                assert_eq!(task.told, expected[number], "{number} has not been told");
            }
        }
    }

    /// Neighbours in a lane, of those that the graph does not know to be complete.
    fn lane_order(&self) -> Vec<(usize, usize)> {
        let mut points: Vec<(Point, usize)> = Vec::new();
        for (number, task) in self.tasks.iter().enumerate() {
            points.extend(self.graph.point(task.id).filter(|_| task.ended.is_none()).map(|point| (point, number)));
        }
        points.sort_unstable();
        let pairs = points.windows(2).filter(|pair| pair[0].0.lane == pair[1].0.lane);
        pairs.map(|pair| (pair[0].1, pair[1].1)).collect()
    }

    /// A task fails with the cause of one before it that has failed, or its own, and only then.
    pub(super) fn check_outcomes(&self) {
        for (number, task) in self.tasks.iter().enumerate() {
            let mut causes: Vec<usize> = self.all_before(number);
            causes.push(number);
            causes.retain(|task| self.tasks[*task].has_failed);
            let ended = task.ended.unwrap_or_else(|| panic!("{number} never ended"));
            match ended.outcome {
                Ok(()) => assert_eq!(causes, [0; 0], "{number}"),
                Err(told) => assert!(causes.iter().any(|task| cause(*task) == told), "{number}: {told:?}"),
            }
            let others_failed = causes.iter().any(|task| *task != number);
            let is_left_out = others_failed || task.is_given_up || task.wish.kind == Kind::Empty;
            assert!(if task.launches == 0 { is_left_out } else { !is_left_out || self.has_broken }, "{number}");
        }
    }
}
