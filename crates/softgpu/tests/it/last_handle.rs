//! The thread of a free-running clock. In a process of its own, because it counts the
//! threads there.

use overtake_softgpu::{Clock, SoftGpu};
use testkit::alone::is_alone;
use testkit::patience::wait_for;

#[test]
fn its_thread_ends_with_the_last_handle() {
    if !is_alone("last_handle::its_thread_ends_with_the_last_handle") {
        return;
    }
    // A test cannot get at a weak reference, so it counts the process's threads, where the kernel lists them.
    let threads = || std::fs::read_dir("/proc/self/task").map(Iterator::count).ok();
    let gpus: Vec<SoftGpu> = (0..16).map(|_| SoftGpu::builder().clock(Clock::FreeRunning).build()).collect();
    let Some(before) = threads() else { return };
    drop(gpus);
    wait_for("sixteen threads go", || threads().is_none_or(|now| now + 16 <= before));
}
