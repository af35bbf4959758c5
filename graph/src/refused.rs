//! Refusals: the request, why it is not possible, and the names of the tasks.

use std::fmt;

use priority::{Priorities, Priority};

use crate::node::{NodeId, Point};

/// A node as errors name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The node.
    pub id: NodeId,
    /// Its name, or nothing.
    pub name: String,
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.name.is_empty() {
            write!(f, "{}.{}", self.id.index, self.id.generation)
        } else {
            write!(f, "\"{}\"", self.name)
        }
    }
}

/// Why a call changed nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// A queue is full. It has room again when nodes have ended, and [`crate::Graph::ended`] has returned them.
    WouldBlock,
    /// A task comes after more others than there may be edges, so waiting makes no room for it.
    Edges {
        /// The name of the new task.
        task: String,
        /// The edges that it needs.
        edges: usize,
        /// Those that there may be.
        edges_max: u32,
    },
    /// The options contradict each other.
    Options(&'static str),
    /// There is no such priority.
    Priority {
        /// The name of the new task.
        task: String,
        /// The requested one.
        asked: Priority,
        /// Those that there are.
        priorities: Priorities,
    },
    /// A task of a device for which the graph has no lanes.
    NoDispatcher {
        /// The name of the new task.
        task: String,
    },
    /// An order with a task that has finished.
    Finished {
        /// That task.
        task: Label,
        /// The name of the other one, or nothing where it is to be submitted.
        other: String,
    },
    /// A change to a task that no longer waits.
    Started {
        /// The task.
        task: Label,
    },
    /// An order that would make tasks wait for themselves: each comes before the next, and the last before the first.
    Cycle {
        /// The tasks.
        tasks: Vec<Label>,
    },
    /// A reference is released that the caller does not hold.
    NotHeld {
        /// The task.
        task: Label,
    },
    /// A task is submitted by a name under which there is one already.
    NameTaken {
        /// That task.
        task: Label,
    },
    /// A task of a template comes after one that has not been added before it.
    NotRecorded {
        /// The name of the task, or nothing.
        task: String,
        /// The number of the other one.
        step: usize,
    },
    /// A use of data that is not possible.
    Data {
        /// The name of the new task, or nothing.
        task: String,
        /// The reason, and the cure.
        fault: &'static str,
    },
    /// A report on a task that is not being run.
    NotRunning {
        /// The task.
        task: Label,
    },
    /// A lane is reported to have come to a point that was never given out.
    NotReached {
        /// That point.
        point: Point,
    },
}

impl Refused {
    /// The task that it is about, if it is one of a graph. One that has ended may have no name in it any more, which a
    /// caller that knows it adds.
    pub fn task_mut(&mut self) -> Option<&mut Label> {
        match self {
            Refused::Finished { task, .. }
            | Refused::Started { task }
            | Refused::NotHeld { task }
            | Refused::NameTaken { task }
            | Refused::NotRunning { task } => Some(task),
            _ => None,
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::WouldBlock => write!(f, "the graph is full: wait until tasks have ended, and try again"),
            Refused::Edges { task, edges, edges_max } => write!(
                f,
                "task \"{task}\" needs {edges} edges, and the graph has {edges_max}: name each task before it once, or \
                 have it come after joins of them"
            ),
            Refused::Options(fault) => write!(f, "the options of the graph contradict each other: {fault}"),
            Refused::Priority { task, asked, priorities } => {
                write!(f, "task \"{task}\" has priority {asked}, and there are 1 to {}", priorities.count())
            }
            Refused::NoDispatcher { task } => {
                write!(f, "task \"{task}\" is for a device that is not there: open the context with it")
            }
            Refused::Finished { task, other } if other.is_empty() => {
                write!(f, "task {task} has finished: submit it before its last reference is released")
            }
            Refused::Finished { task, other } => write!(
                f,
                "task {task} has finished, so its order with {other} is not kept: state the order before either runs"
            ),
            Refused::Started { task } => {
                write!(f, "task {task} no longer waits: hold a reference of it until it may start")
            }
            Refused::Cycle { tasks } => {
                write!(f, "the tasks would wait for each other:")?;
                tasks.iter().try_for_each(|task| write!(f, " {task} ->"))?;
                tasks.first().map_or(Ok(()), |first| write!(f, " {first}"))
            }
            Refused::NotHeld { task } => {
                write!(f, "task {task} has no reference left to release: release each reference once")
            }
            Refused::NameTaken { task } => write!(f, "there is a task {task} already: choose another name"),
            Refused::NotRecorded { task, step } => {
                write!(f, "task \"{task}\" of a template comes after step {step}, which is none: add that one first")
            }
            Refused::Data { task, fault } if task.is_empty() => write!(f, "the use of data is refused: {fault}"),
            Refused::Data { task, fault } => write!(f, "task \"{task}\" is refused: {fault}"),
            Refused::NotRunning { task } => write!(f, "task {task} is not being run, and is reported to have been"),
            Refused::NotReached { point } => {
                write!(f, "lane {} is reported to have come to {}, which was not given out", point.lane, point.value)
            }
        }
    }
}

impl std::error::Error for Refused {}
