//! Counting semaphores that tell bulk copies when an urgent copy is pending.
//!
//! A [`Bank`] belongs to one device and one engine and knows priorities `1..=P`, higher = more urgent. A copy of
//! priority `n` may start while no copy of a higher priority is *pending*, that is, schedulable and not yet executed
//! (PC-01, PC-04). Three emulations keep the same semaphores in different ways ([`Emulation`]):
//!
//! * [`EmulationKind::Hold`]: the CPU counts. One word per waiting priority says whether anything above it is pending;
//!   the CPU
//!   raises it before it submits an urgent copy and lowers it when that copy has completed. One wait per chunk, however
//!   many priorities there are, and the word never reads 0 between two pending copies (facts, section 3).
//! * [`EmulationKind::Bracket`]: the stream writes. The literal command sequence of US 9,483,423 (PC-03): acquire-zero
//!   of every
//!   higher word in ascending order, write 1, copy, write 0.
//! * [`EmulationKind::Atomics`]: one-thread kernels add and subtract on device words.
//!
//! A fourth would be the atomic stream memory operations of CUDA 13.1
//! (`CU_DEVICE_ATTRIBUTE_ATOMIC_REDUCTION_SUPPORTED`). No measured driver has them, so no code here pretends to use
//! them.
//!
//! **A semaphore expresses preference, never correctness.** Opening it ([`Bank::open_all`]) is always safe and takes
//! plain stores and no driver call. The watchdog relies on that.
//!
//! This crate submits nothing: it hands out [`Step`]s. It knows no channel and no chunk.
//!
//! # Example
//!
//! ```
//! # use overtake_semaphores as semaphores; // the name that the workspace gives this crate
//! use std::sync::Arc;
//!
//! use hal::{Device, Driver};
//! use semaphores::Bank;
//! use priority::{Priorities, Priority};
//!
//! let driver: Arc<dyn Driver> = Arc::new(softgpu::SoftGpu::builder().build());
//! let context = driver.primary_context_retain(Device(0))?;
//! driver.context_set_current(Some(context))?;
//! let bank = Bank::new(&driver, Priorities::new(3).expect("1 to 32"))?;
//! let urgent = Priority::new(3).expect("not 0");
//!
//! let pending = bank.raise(urgent); // before the urgent copy is submitted
//! assert_eq!(bank.gate_word(Priority::LOWEST), 1, "bulk copies wait");
//! assert_eq!(bank.gate_word(urgent), 0, "copies of the same priority do not");
//!
//! bank.lower(pending); // when the urgent copy has completed
//! assert_eq!(bank.gate_word(Priority::LOWEST), 0, "bulk copies go on");
//! # Ok::<(), hal::Error>(())
//! ```
#![deny(clippy::print_stderr, clippy::print_stdout)] // messages go through `log`
#![cfg_attr(not(test), deny(clippy::disallowed_methods))] // clippy.toml has the list, with reasons
#![deny(unsafe_code)]

mod bank;
mod emulation;
mod ledger;
mod pages;
mod words;

pub use bank::{Bank, Counts, LIFTS, Publish};
pub use emulation::{Emulation, EmulationKind, Layout, Step, emulation};
pub use ledger::{Boost, Pending};
pub use pages::Pages;
pub use words::Words;
