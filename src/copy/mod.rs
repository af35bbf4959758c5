//! The copy layer: request, classify, plan, submit.
//!
//! | file | what it holds |
//! |---|---|
//! | `request.rs` | what is asked for, and where its bytes are |
//! | `plan.rs` | the rules: which way a copy goes. Pure |
//! | `submit.rs` | carries a plan out |
//! | `batch.rs` | several copies as one |
//! | `door.rs` | how a copy reaches the driver where it goes natively |
//! | `passing.rs` | copies that are left alone |
//! | `handle.rs` | what the caller gets back |

mod batch;
mod door;
pub(crate) mod handle;
mod passing;
pub(crate) mod plan;
pub(crate) mod request;
pub(crate) mod submit;

pub use door::Door;
pub use handle::{CopyHandle, Status};
pub use plan::{Plan, Reason};
pub use request::Request;
