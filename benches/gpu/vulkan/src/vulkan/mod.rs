//! The other API as Vulkan, without a window.

mod alone;
mod commands;
mod gpu;
mod memory;
mod semaphore;
mod side;

pub use alone::Alone;
pub use gpu::Gpu;
pub use side::Vulkan;
