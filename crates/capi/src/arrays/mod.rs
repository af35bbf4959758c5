//! Arrays from C: memory on the host and on the devices, computations that use it, and accesses.
//!
//! | file | content |
//! |---|---|
//! | `store.rs` | sets of arrays: opening, closing, counts |
//! | `array.rs` | arrays: new ones, adopted memory, views, their end |
//! | `access.rs` | accesses of the program's own code, on the host and on a device |
//! | `kernel.rs` | kernels, from PTX, from a cubin, or of the program's |
//! | `computation.rs` | computations |
//! | `uses.rs` | the arguments of a computation |
//! | `capsule.rs` | the end of capsules of DLPack, which Python's are |

pub mod access;
pub mod array;
pub mod capsule;
pub mod computation;
pub mod kernel;
pub mod store;
pub mod uses;
