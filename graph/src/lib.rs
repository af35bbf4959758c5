//! The graph of tasks: nodes and the order between them, reference counts, ready queues, lanes, inherited priority.
//!
//! The crate is pure: no driver, clock, thread or lock. A caller appends nodes, asks for the next ready one, launches
//! it where the answer says, and reports. It uses its own lock, and calls no driver while it holds it.
//! `graph/README.md` describes the states, and explains each choice.
//!
//! # Example
//!
//! A copy to the device, a kernel after it, and a host function that reads the result. Because an urgent function
//! waits for it, this copy goes before the other one:
//!
//! ```
//! use overtake_graph::{Direction, Graph, Kind, Options, Priority, Runner, Spec};
//!
//! let mut graph = Graph::new(Options::default())?;
//! let urgent = Priority::new(8).expect("not 0");
//! let copy = Spec::of(Kind::Copy(Direction::HostToDevice));
//!
//! let bulk = graph.append(&copy)?;
//! let upload = graph.append(&copy)?;
//! let kernel = graph.append(&Spec { after: &[upload], ..Spec::of(Kind::Kernel) })?;
//! let result = graph.append(&Spec { priority: urgent, after: &[kernel], ..Spec::of(Kind::Host) })?;
//!
//! let mut launched = Vec::new();
//! while let Some(ready) = graph.next(Runner::Device) {
//!     let node = ready.node; // here its work is submitted to the lane, behind the joins
//!     launched.push((node, graph.launched(node)?.at));
//! }
//! assert_eq!(launched.iter().map(|(node, _)| *node).collect::<Vec<_>>(), [upload, kernel, bulk]);
//! assert!(graph.next(Runner::Host).is_none(), "the results are not there");
//!
//! let at = launched[1].1.expect("a kernel has a lane");
//! graph.complete(at.lane, at.value)?; // the device has come to the kernel
//! assert_eq!(graph.next(Runner::Host).map(|ready| ready.node), Some(result));
//! # Ok::<(), overtake_graph::Refused>(())
//! ```
#![deny(clippy::print_stderr, clippy::print_stdout)] // messages go through `log`
#![cfg_attr(not(test), deny(clippy::disallowed_methods))] // clippy.toml has the list, with reasons
#![forbid(unsafe_code)]

mod batch;
mod besides;
mod copy_strands;
mod data;
mod devices;
mod direct;
mod dispatch;
mod edges;
mod finish;
mod graph;
mod infer;
mod inherit;
mod lanes;
mod left;
mod list;
mod node;
mod nodes;
mod options;
mod passes;
mod picture;
mod points;
mod queue;
mod rank;
mod ranked;
mod redundant;
mod refused;
mod reserve;
mod submit;
mod template;

pub use batch::Behind;
pub use data::{Access, DataId, Fetch, Mode, Needs, Progress, Span, Spans, Stretch, Validity, each_once};
pub use devices::{
    Bandwidth, Choice, DEVICES_MAX, Location, Locations, NewStream, Parent, Parents, Select, Selection, Selector,
    Unplaced, Use,
};
pub use dispatch::{Launched, Place, Ready, Runner};
pub use finish::Ended;
pub use graph::{Graph, Statistics};
pub use node::{Cause, Kind, Mark, NodeId, Point, Spec, Stage};
pub use options::{Inference, LANE_DEVICES_MAX, LANES_MAX, Options, Order};
pub use priority::{Direction, Priorities, Priority};
pub use refused::{Label, Refused};
pub use template::{Planned, Replay, Template};
