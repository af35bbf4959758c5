//! The options of a feed.

use copies::Priority;

/// The options of a feed.
#[derive(Clone, Debug)]
pub struct FeedOptions {
    /// Its name, for errors.
    pub name: String,
    /// How many stages it has: 1 to 255.
    pub stages: u8,
    /// The bytes of a stage. The next one begins at a multiple of 256.
    pub bytes: usize,
    /// The bytes of a stage's result, which the kernel writes to the host's memory.
    pub result_bytes: usize,
    /// The priority of the uploads.
    pub priority: Priority,
    /// The device that the kernel runs on, by its number among those that it is loaded on ([`Kernel::and_on_next`]):
    /// that of the layer that the feed is opened with.
    ///
    /// [`Kernel::and_on_next`]: overtake_tasks::task::Kernel::and_on_next
    pub device: u8,
    /// Multiprocessors that the kernel leaves to others. Copy kernels need some: bulk that finds none waits for a
    /// kernel that may wait for that very bulk.
    pub leave: u32,
    /// How many blocks of the kernel fit on one multiprocessor.
    pub blocks_each: u32,
}

impl Default for FeedOptions {
    fn default() -> FeedOptions {
        FeedOptions {
            name: String::new(),
            stages: 3,
            bytes: 1 << 20,
            result_bytes: 8,
            priority: Priority::LOWEST,
            device: 0,
            leave: 12,
            blocks_each: 1,
        }
    }
}
