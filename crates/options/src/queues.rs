//! The hardware's queues. When it starts, the driver creates as many as environment variables say.

/// The variable. It sets the queues for copies too, unless the other one does.
pub const MAX_CONNECTIONS: &str = "CUDA_DEVICE_MAX_CONNECTIONS";
/// The variable of the queues for copies, in each direction.
pub const MAX_COPY_CONNECTIONS: &str = "CUDA_DEVICE_MAX_COPY_CONNECTIONS";
/// The variable that has each launch return when its kernel is complete.
pub const LAUNCH_BLOCKING: &str = "CUDA_LAUNCH_BLOCKING";
/// The driver makes so many of those if neither variable says anything.
pub const COPY_QUEUES: u32 = 4;
/// The most that the driver makes.
pub const QUEUES_MAX: u32 = 32;
/// The driver makes so many if the variable says nothing.
const QUEUES: u32 = 8;

/// The queues that the driver makes, or has made, in this process.
#[must_use]
pub fn kernel_queues() -> u32 {
    queues_of(std::env::var(MAX_CONNECTIONS).ok().as_deref())
}

/// The queues for copies, in each direction, that the driver makes, or has made, in this process.
#[must_use]
pub fn copy_queues() -> u32 {
    copy_queues_of(|name| std::env::var(name).ok()).unwrap_or(COPY_QUEUES)
}

/// The same by the variables that `lookup` reads. `None` if they say nothing.
pub fn copy_queues_of(lookup: impl Fn(&str) -> Option<String>) -> Option<u32> {
    copy_queues_by(lookup).map(|(queues, _)| queues)
}

/// The same, with the variable that says so.
pub fn copy_queues_by(lookup: impl Fn(&str) -> Option<String>) -> Option<(u32, &'static str)> {
    // The variable for copies takes precedence over the general one.
    [MAX_COPY_CONNECTIONS, MAX_CONNECTIONS].into_iter().find_map(|name| {
        let queues = lookup(name)?.trim().parse::<u32>().ok()?;
        Some((queues.clamp(1, QUEUES_MAX), name))
    })
}

/// Whether this value of [`LAUNCH_BLOCKING`] has launches wait.
pub(crate) fn launches_block(value: &str) -> bool {
    !matches!(value.trim(), "" | "0")
}

fn queues_of(value: Option<&str>) -> u32 {
    let number = value.and_then(|value| value.trim().parse::<u32>().ok());
    number.map_or(QUEUES, |number| number.clamp(1, QUEUES_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_says_how_many_there_are() {
        let queues = [None, Some("1"), Some(" 32 "), Some("0"), Some("99"), Some("many")].map(queues_of);
        assert_eq!(queues, [8, 1, 32, 1, 32, 8]);
    }
}
