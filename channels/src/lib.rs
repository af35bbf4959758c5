//! Prioritised copy channels.
//!
//! A channel is a stream that only ever copies, owned by us, one per device, direction and group of priorities. Copies
//! of an application's stream that may have to wait go through the channel that their priority is aliased to, joined
//! with the application's stream by events on both sides; nothing that waits for a semaphore ever enters an
//! application's stream, because a waiting stream blocks every other that shares its hardware queue (facts, section 4).
//!
//! What is pure here decides ([`bracket`], [`chunk`], [`watchdog`], [`attention`], [`retreat`], [`share`], [`fold`]);
//! what is not submits ([`channel`], [`probe`]). This crate starts no thread and reads no clock of its own.
#![deny(clippy::print_stderr, clippy::print_stdout)] // messages go through `log`
#![deny(unsafe_code)]

pub mod attention;
pub mod bracket;
pub mod channel;
pub mod chunk;
pub mod direction;
pub mod fold;
pub mod pace;
pub mod probe;
pub mod retreat;
pub mod shape;
pub mod share;
mod submit;
mod turn;
pub mod watchdog;

pub use channel::{Adder, Channel, ChannelOptions, Refusal, Submission};
pub use direction::Direction;
pub use pace::Pace;
pub use shape::{Shape, Side};
pub use submit::copy_shape;
