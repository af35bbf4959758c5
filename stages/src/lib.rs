//! A FIFO of stages between producers and consumers, modelled on `cuda::pipeline`, that never hangs on a peer that is
//! gone.
//!
//! A producer acquires the next stage, fills it and commits it. When all producers have, every consumer gets it and
//! releases it; when all consumers have, it is free again. Nobody waits for a member that has quit, panicked or been
//! dropped. Invalid calls are errors.
//!
//! Consumers of several rings may share an [`Admission`], which limits how many of them work at the same time.
//!
//! The crate is pure: no driver, clock or thread. A caller that blocks says how ([`Waiting`]). The crate does not
//! know the contents of a stage: members map its index to a buffer. `stages/README.md` describes the state.
//!
//! # Example
//! ```
//! use overtake_stages::{Error, Ring, Role};
//!
//! let ring = Ring::new(2)?;
//! let [mut producer, mut consumer] =
//!     <[_; 2]>::try_from(ring.members(&[Role::Producer, Role::Consumer])?).expect("two");
//!
//! let stage = producer.try_acquire()?.expect("the first stages are free");
//! assert_eq!((stage.index, consumer.try_wait()?), (0, None));
//! producer.commit()?;
//! assert_eq!(consumer.try_wait()?, Some(stage));
//! consumer.release()?;
//!
//! producer.quit()?;
//! assert_eq!(consumer.try_wait(), Err(Error::Deserted));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![deny(clippy::print_stderr, clippy::print_stdout)] // messages go through `log`
#![cfg_attr(not(test), deny(clippy::disallowed_methods))] // clippy.toml has the list, with reasons
#![forbid(unsafe_code)]

mod admission;
mod arrival;
mod barrier;
mod cursor;
mod future;
mod local;
mod member;
mod members;
mod patience;
mod primitive;
mod refused;
mod ring;
mod role;
mod side;
mod sleepers;
mod waiting;
mod word;

pub use admission::{Admission, Admitted, Admitting};
pub use arrival::Arrival;
pub use barrier::{Barrier, Round};
pub use cursor::Stage;
pub use future::Next;
pub use local::{Local, Operation, Progress};
pub use member::Member;
pub use refused::{Error, Refused};
pub use ring::Ring;
pub use role::Role;
pub use waiting::{Waited, Waiting, Watch};
pub use word::MEMBERS_MAX;
