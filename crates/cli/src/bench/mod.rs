//! Measuring an urgent copy beside bulk copies: what `demo` shows, and what every further method is measured with.
//!
//! A [`Method`] knows how to submit one urgent copy and one bulk request. The [`Feeder`] keeps bulk requests
//! outstanding on a thread of its own; the urgent loop times copies from the call to a completion word seen in host
//! memory. [`run`] interleaves scenarios in rounds, so that a machine that gets slower gets slower for all of them.
//!
//! Nothing here reads a clock of its own: on the software GPU the same code runs in virtual time.

mod bulk;
mod method;
mod native;
mod runner;
mod urgent;

pub use bulk::{Feeder, Throughput};
pub use method::{BULK_LANE, Method, URGENT_LANE};
pub use native::Native;
pub use runner::{Load, Measured, Pace, Scenario, run};
pub use urgent::{UrgentPlan, measure_urgent};
