//! What a built file asks of the system: the version of glibc, and shared libraries.

use std::path::Path;
use std::process::Command;

/// A version of glibc, such as 2.28.
pub type Version = (u32, u32);

/// The libraries that every Linux has on which a `manylinux` wheel may be installed.
const EVERYWHERE: [&str; 8] = [
    "ld-linux-x86-64.so.2",
    "libc.so.6",
    "libdl.so.2",
    "libgcc_s.so.1",
    "libm.so.6",
    "libpthread.so.0",
    "librt.so.1",
    "libutil.so.1",
];

/// The oldest glibc in which the loader can load this file. An error if it needs more than glibc.
pub fn needed_by(file: &Path) -> Result<Version, String> {
    let mut readelf = Command::new("readelf");
    let output = readelf.env("LC_ALL", "C").args(["--dynamic", "--version-info", "--wide"]).arg(file).output();
    let output = output.map_err(|error| format!("readelf does not start ({error}): install binutils\n"))?;
    let said = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() || !said.contains("Dynamic section") {
        return Err(format!("{}: readelf finds no dynamic section\n", file.display()));
    }
    needed(&said).map_err(|why| format!("{}: {why}\n", file.display()))
}

/// The same in the words of `readelf`.
fn needed(said: &str) -> Result<Version, String> {
    let mut newest = (2, 0);
    for line in said.lines() {
        if let Some((_, library)) = line.split_once("Shared library: [") {
            let library = library.trim_end_matches(']');
            if !EVERYWHERE.contains(&library) {
                return Err(format!("it needs {library}, which not every Linux has"));
            }
        }
        let Some((_, name)) = line.split_once("Name: GLIBC_") else { continue };
        let name = name.split_whitespace().next().unwrap_or_default();
        newest = newest.max(parse(name).ok_or_else(|| format!("it needs GLIBC_{name}, which is no version"))?);
    }
    Ok(newest)
}

/// `2.28`, and `2.2.5` without its end.
fn parse(name: &str) -> Option<Version> {
    let mut numbers = name.split('.').map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "Dynamic section at offset 0x2000 contains 28 entries:
 0x0000000000000001 (NEEDED)             Shared library: [libgcc_s.so.1]
 0x0000000000000001 (NEEDED)             Shared library: [libc.so.6]
  0x0000: Version: 1  File: libgcc_s.so.1  Cnt: 1
  0x0010:   Name: GCC_3.0  Flags: none  Version: 9
  0x0020: Version: 1  File: libc.so.6  Cnt: 3
  0x0030:   Name: GLIBC_2.2.5  Flags: none  Version: 8
  0x0040:   Name: GLIBC_2.28  Flags: WEAK  Version: 7
  0x0050:   Name: GLIBC_2.9  Flags: none  Version: 6
";

    #[test]
    fn the_newest_version_counts_as_a_number() {
        assert_eq!(needed(SAID), Ok((2, 28)));
    }

    #[test]
    fn more_than_glibc_is_refused() {
        let refused = |from: &str, to: &str| needed(&SAID.replace(from, to)).unwrap_err();
        assert!(refused("libgcc_s.so.1]", "libssl.so.3]").contains("libssl.so.3"));
        assert!(refused("GLIBC_2.9 ", "GLIBC_ABI_DT_RELR ").contains("GLIBC_ABI_DT_RELR"));
    }

    #[test]
    fn a_running_program_needs_no_later_glibc_than_is_here() {
        let needed = needed_by(&std::env::current_exe().unwrap()).unwrap();
        assert!(((2, 2)..(3, 0)).contains(&needed), "{needed:?}");
        assert!(needed_by(Path::new(env!("CARGO_MANIFEST_DIR"))).is_err());
    }
}
