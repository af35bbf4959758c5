//! The copy layer: request, classify, plan, submit.
//!
//! | file | what it holds |
//! |---|---|
//! | `request.rs` | what is asked for, and where its bytes are |
//! | `plan.rs` | the rules: which way a copy goes. Pure |
//! | `submit.rs` | asks, decides, and has the plan carried out |
//! | `job.rs` | one copy on its way, and what is known of it |
//! | `ride.rs` | copies without a ticket of their own |
//! | `flight.rs` | copies with one |
//! | `ways.rs` | the ways into the driver |
//! | `batch.rs` | several copies as one |
//! | `native.rs` | the driver call that a program has made, and the driver's answer |
//! | `passing.rs` | copies that are left alone |
//! | `handle.rs` | what the caller gets back |

mod batch;
mod flight;
pub(crate) mod handle;
mod job;
mod native;
mod passing;
pub(crate) mod plan;
pub(crate) mod request;
mod ride;
pub(crate) mod submit;
mod ways;

pub use handle::{CopyHandle, Status};
pub use native::Native;
pub use plan::{Plan, Reason};
pub use request::Request;
