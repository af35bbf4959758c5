//! Prioritised copy channels.
//!
//! A channel is a stream of the library's own that contains only copies. There is one per device, direction and group
//! of priorities, and more for the lowest group if there are queues that no group needs. Copies of an application's
//! stream that may have to wait go through the channel of their priority. Events on both sides keep their order with
//! the application's stream. No operation that waits for a semaphore ever enters an application's stream, because a
//! waiting stream blocks all others in its hardware queue (facts, section 4).
//!
//! The pure modules decide ([`bracket`], [`chunk`], [`watchdog`], [`attention`], [`breaker`], [`share`],
//! [`fold`]); [`channel`] submits. This crate starts no thread and reads no clock of its own.
//!
//! # Example
//!
//! A bulk copy waits in its channel while an urgent copy is pending, and continues afterwards:
//!
//! ```
//! # use overtake_channels as channels; // the name that the workspace gives this crate
//! use std::sync::Arc;
//!
//! use channels::{Adder, Channel, ChannelOptions, Shape, Submission, chunk, fold};
//! use hal::{Code, Device, DevicePtr, Driver, HostAllocFlags, Nanos, Stream, StreamFlags};
//! use semaphores::{Bank, EmulationKind, emulation};
//! use priority::{Direction, Priorities, Priority};
//!
//! /// `EmulationKind::Hold` counts on the CPU and adds nothing on the device.
//! struct NoAdder;
//!
//! impl Adder for NoAdder {
//!     fn add(&self, _: Stream, _: DevicePtr, _: i32) -> hal::Result<()> {
//!         Err(Code::NOT_SUPPORTED.at("no adder"))
//!     }
//! }
//!
//! let driver: Arc<dyn Driver> = Arc::new(softgpu::SoftGpu::builder().build());
//! let context = driver.primary_context_retain(Device(0))?;
//! driver.context_set_current(Some(context))?;
//! let (bytes, priorities) = (4 << 20, Priorities::new(2).expect("1 to 32"));
//! let (bank, bulk) = (Bank::new(&driver, priorities)?, fold::groups(priorities, 4)[0]);
//! let channel = Channel::new(&driver, Direction::HostToDevice, bulk, ChannelOptions::default())?;
//! let stream = driver.stream_create(StreamFlags::NON_BLOCKING, 0)?;
//! let host = driver.host_alloc(bytes, HostAllocFlags::PORTABLE)? as u64;
//! let device = driver.mem_alloc(bytes)?.0;
//!
//! // Chunks that occupy an engine for at most 20 us each.
//! let chunk_bytes = chunk::chunk_bytes(Nanos::from_us(20), 55_000_000_000, chunk::ENGINE_GAP);
//! let copy = Submission {
//!     from: stream,
//!     priority: Priority::LOWEST,
//!     chunks: &chunk::cut(&Shape::linear(device, host, bytes), chunk_bytes),
//!     bank: &bank,
//!     emulation: emulation(EmulationKind::Hold),
//!     adder: &NoAdder,
//!     pace: None,
//! };
//! let urgent_copy = bank.raise(priorities.highest());
//! // SAFETY: both buffers live until the process ends.
//! unsafe { channel.submit(&copy).expect("the channel is free") };
//! driver.host().sleep(Nanos::from_ms(10));
//! assert!(!driver.stream_query(stream)?, "the bulk copy waits, and with it later work of its stream");
//!
//! bank.lower(urgent_copy);
//! driver.stream_synchronize(stream)?;
//! # Ok::<(), hal::Error>(())
//! ```
#![deny(clippy::print_stderr, clippy::print_stdout)] // messages go through `log`
#![cfg_attr(not(test), deny(clippy::disallowed_methods))] // clippy.toml has the list, with reasons
#![deny(unsafe_code)]

pub mod attention;
pub mod bracket;
pub mod breaker;
pub mod channel;
pub mod chunk;
pub mod fold;
pub mod pace;
pub mod share;
mod submit;
mod turn;
pub mod watchdog;

pub use channel::{Adder, Channel, ChannelOptions, Refusal, Submission};
pub use hal::{Shape, Side};
pub use pace::Pace;
pub use submit::copy_shape;
