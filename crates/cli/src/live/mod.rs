//! The live figures of all processes under the drop-in: `overtake top` and `overtake metrics`.
//!
//! | file | task |
//! |---|---|
//! | `files.rs` | finds and reads the files that the processes write |
//! | `flow.rs` | rates and waits between two readings |
//! | `table.rs` | a reading as text |
//! | `top.rs`, `terminal.rs` | `overtake top`: its keys, and the terminal |
//! | `metrics.rs`, `serve.rs` | `overtake metrics`: the text for Prometheus, to a file or a port |

mod files;
mod flow;
pub mod metrics;
mod serve;
mod table;
mod terminal;
pub mod top;

/// Lets some time pass.
#[expect(clippy::disallowed_methods, reason = "between two looks at other processes, which no device knows of")]
fn pause(time: std::time::Duration) {
    std::thread::sleep(time);
}
