//! The thread of a free-running clock. One test only, because it counts the threads of its process.

use overtake_softgpu::{Clock, SoftGpu};
use testkit::patience::wait_for;

#[test]
fn its_thread_ends_with_the_last_handle() {
    // A test cannot get at a weak reference, so it counts the process's threads, where the kernel lists them.
    let threads = || std::fs::read_dir("/proc/self/task").map(Iterator::count).ok();
    let gpus: Vec<SoftGpu> = (0..16).map(|_| SoftGpu::builder().clock(Clock::FreeRunning).build()).collect();
    let Some(before) = threads() else { return };
    drop(gpus);
    wait_for("sixteen threads go", || threads().is_none_or(|now| now + 16 <= before));
}
