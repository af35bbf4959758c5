//! The version of a machine's driver.

use std::path::Path;

/// `13.0` for 13000, the driver's own form.
#[must_use]
pub fn driver_version(version: i32) -> String {
    format!("{}.{}", version / 1000, version % 1000 / 10)
}

/// The file in which Linux names the release of the loaded driver.
const RELEASE_FILE: &str = "/proc/driver/nvidia/version";

/// The release of NVIDIA's driver, such as `580.159.04`, if there is one and the system tells it.
#[must_use]
pub fn driver_release() -> Option<String> {
    release_in(&os::file::read_text(Path::new(RELEASE_FILE)).ok()?)
}

/// In the first line, the first word that consists of numbers with dots between them.
fn release_in(text: &str) -> Option<String> {
    let is_release = |word: &&str| word.contains('.') && word.split('.').all(|part| part.parse::<u32>().is_ok());
    text.lines().next()?.split_whitespace().find(is_release).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_release_is_found_in_the_text_of_the_kernel_module() {
        let open = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build  (dvs-builder)\n\
                    GCC version:  gcc version 12.2.0";
        assert_eq!(release_in(open).as_deref(), Some("580.159.04"));
        let closed = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.54  Tue Jun 6 22:20:39 UTC 2023";
        assert_eq!(release_in(closed).as_deref(), Some("535.54"));
        assert_eq!(release_in("NVRM version: none"), None);
    }
}
