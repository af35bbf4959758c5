//! The copy service: many small copies and sets in one launch of a kernel that reads them from pinned memory.
//!
//! | file | content |
//! |---|---|
//! | `places.rs` | the allocations of a batch's copies, asked for once each |
//! | `batch.rs`, `entry.rs`, `table.rs` | a batch: its copies and sets, and the pinned memory that the kernel reads |
//! | `batches.rs` | the batches of a context: spare ones, and those that the device may still read |
//! | `kernel.rs`, `service.cu`, `service.ptx` | the kernel, a module of its own |
//! | `served.rs` | a batch on its way |
//!
//! [`crate::queue`] fills batches for a caller. `decide` chooses the way of a batch as that of a copy, and
//! `submit/served.rs` goes it.

pub(crate) mod batch;
pub(crate) mod batches;
pub(crate) mod calls;
pub(crate) mod entry;
pub(crate) mod kernel;
pub(crate) mod places;
pub(crate) mod served;
mod table;

pub use entry::set_natively;
