//! Volleys of launches, and the traces of a model.

use overtake_graph::{Ended, Point, Priority, Runner, Stage, Statistics};

use super::{Item, Model};

/// A node that has been handed out in a volley.
struct Launch {
    number: usize,
    turn: u32,
    priority: Priority,
    place: Option<(u8, Vec<Point>)>,
}

/// A task as its trace has it.
#[derive(Debug, PartialEq)]
pub struct Seen {
    stage: Stage,
    point: Option<Point>,
    priority: Option<Priority>,
    lane: Option<u8>,
    launches: u32,
    ended: Option<Ended>,
}

impl Model {
    /// Hands out the next node of the device, and up to so many behind or beside it. Of those so many are launched, but
    /// none behind one that fails or has more to launch. Returns the numbers and turns of all that are launched.
    pub fn volley(&mut self, most: usize, launched: usize) -> Vec<(usize, u32)> {
        let Some(ready) = self.graph.next(Runner::Device) else { return vec![] };
        let (mut last, priority, turn) = (ready.node, ready.priority, ready.turn);
        let (lane, joins) = (ready.place.unwrap().lane, ready.joins.to_vec());
        let (may_follow, number) = (joins.is_empty(), self.number(last));
        let mut launches = vec![Launch { number, turn, priority, place: Some((lane, joins)) }];
        let mut behind = Vec::new();
        if may_follow && most > 0 {
            self.graph.next_behind(last, |it| {
                behind.push((it.node, it.turn));
                behind.len() < most
            });
        }
        let is_chain = !behind.is_empty();
        for (id, turn) in behind {
            launches.push(Launch { number: self.number(id), turn, priority, place: Some((lane, vec![])) });
        }
        while may_follow && !is_chain && launches.len() <= most {
            let Some(ready) = self.graph.next_beside(last) else { break };
            assert_eq!((ready.priority, ready.joins.len()), (priority, 0));
            let (id, turn, lane) = (ready.node, ready.turn, ready.place.unwrap().lane);
            launches.push(Launch { number: self.number(id), turn, priority, place: Some((lane, vec![])) });
            last = id;
        }
        if may_follow && !is_chain {
            self.follow(&mut launches, most);
        }
        self.launch(launches, launched, is_chain)
    }

    /// Hands out the nodes behind those that were handed out last, round by round.
    fn follow(&mut self, launches: &mut Vec<Launch>, most: usize) {
        let mut from = 0;
        while from < launches.len() && launches.len() <= most {
            let round: Vec<_> = launches[from..].iter().map(|it| self.tasks[it.number].id).collect();
            from = launches.len();
            let (mut behind, room) = (Vec::new(), most + 1 - from);
            self.graph.next_abreast(round.into_iter(), |it| {
                behind.push((it.node, it.turn, it.lane));
                behind.len() < room
            });
            let priority = launches[0].priority;
            for (id, turn, lane) in behind {
                launches.push(Launch { number: self.number(id), turn, priority, place: Some((lane, vec![])) });
            }
        }
    }

    fn launch(&mut self, mut launches: Vec<Launch>, most: usize, is_chain: bool) -> Vec<(usize, u32)> {
        let is_last = |it: &Launch| {
            let wish = &self.tasks[it.number].wish;
            it.turn + 1 < wish.turns || wish.fails
        };
        let count = launches.iter().position(is_last).unwrap_or(launches.len()).min(most) + 1;
        for taken in launches.drain(count.min(launches.len())..).rev() {
            let id = self.tasks[taken.number].id;
            assert_eq!(self.graph.stage(id), Stage::Running);
            self.graph.take_back(id).unwrap();
            let stage = self.graph.stage(id);
            assert!(if is_chain { stage == Stage::Waiting } else { [Stage::Waiting, Stage::Ready].contains(&stage) });
        }
        let made = launches.iter().map(|it| (it.number, it.turn)).collect();
        let last = launches.pop().unwrap();
        if is_chain && !launches.is_empty() {
            let at = self.graph.launched_behind(self.tasks[launches[0].number].id, launches.len() as u32);
            for (it, value) in launches.iter().zip(at.value..) {
                let (id, lane) = (self.tasks[it.number].id, it.place.as_ref().unwrap().0);
                assert_eq!(self.graph.point(id), Some(Point { lane, value }));
                let task = &mut self.tasks[it.number];
                (task.launches, task.told, task.is_launched, task.lane) =
                    (task.launches + 1, it.priority, true, Some(lane));
                self.lanes[usize::from(lane)].push_back(Item { task: it.number, joins: vec![], value: Some(value) });
            }
        } else {
            launches.into_iter().for_each(|it| self.begin(it.number, it.turn, it.priority, it.place));
        }
        self.begin(last.number, last.turn, last.priority, last.place);
        made
    }

    /// The lanes, points, priorities and ends of all tasks, and the counts of the graph.
    /// Values and no text: programs compare them after every move, and Miri runs those programs too.
    pub fn trace(&self) -> (Vec<Seen>, Statistics) {
        let tasks = self.tasks.iter().map(|task| Seen {
            stage: self.graph.stage(task.id),
            point: self.graph.point(task.id),
            priority: self.graph.priority(task.id),
            lane: task.lane,
            launches: task.launches,
            ended: task.ended,
        });
        (tasks.collect(), self.graph.statistics())
    }
}
