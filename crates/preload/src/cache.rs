//! The loader's cache of libraries, `/etc/ld.so.cache`: only the parts that map a file name to paths.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// The new format begins with this. Older files have another format in front of it.
const MAGIC: &[u8] = b"glibc-ld.so.cache1.1";
const HEADER_BYTES: usize = 48;
const ENTRY_BYTES: usize = 24;

/// The flags of an entry for programs of this machine's kind.
#[cfg(target_arch = "x86_64")]
const FLAGS: u32 = 0x0303;
#[cfg(target_arch = "aarch64")]
const FLAGS: u32 = 0x0a03;

/// The paths in the cache for a name, best first. None if the file is broken.
pub fn paths_of(cache: &[u8], name: &str) -> Vec<PathBuf> {
    let Some(start) = cache.windows(MAGIC.len()).position(|window| window == MAGIC) else { return Vec::new() };
    let part = &cache[start..];
    let count = word(part, MAGIC.len()).unwrap_or(0) as usize;
    (0..count).map_while(|index| entry(part, HEADER_BYTES + index * ENTRY_BYTES)).filter_map(|e| e.path(name)).collect()
}

/// An entry refers to its key and its value by their offsets in the file.
struct Entry<'a> {
    flags: u32,
    key: &'a [u8],
    value: &'a [u8],
}

impl Entry<'_> {
    fn path(&self, name: &str) -> Option<PathBuf> {
        let matches = self.flags == FLAGS && self.key == name.as_bytes();
        matches.then(|| PathBuf::from(OsStr::from_bytes(self.value)))
    }
}

fn entry(part: &[u8], at: usize) -> Option<Entry<'_>> {
    let (flags, key, value) = (word(part, at)?, word(part, at + 4)?, word(part, at + 8)?);
    Some(Entry { flags, key: text(part, key as usize)?, value: text(part, value as usize)? })
}

fn word(part: &[u8], at: usize) -> Option<u32> {
    part.get(at..at + 4)?.try_into().ok().map(u32::from_ne_bytes)
}

fn text(part: &[u8], at: usize) -> Option<&[u8]> {
    part.get(at..)?.split(|&byte| byte == 0).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cache with these entries: flags, key, value.
    fn cache(entries: &[(u32, &str, &str)]) -> Vec<u8> {
        let (mut table, mut texts) = (Vec::new(), Vec::new());
        let base = HEADER_BYTES + entries.len() * ENTRY_BYTES;
        for (flags, key, value) in entries {
            let key_at = base + texts.len();
            texts.extend_from_slice(format!("{key}\0{value}\0").as_bytes());
            let value_at = key_at + key.len() + 1;
            for number in [*flags, key_at as u32, value_at as u32, 0, 0, 0] {
                table.extend_from_slice(&number.to_ne_bytes());
            }
        }
        let mut header = MAGIC.to_vec();
        header.extend_from_slice(&(entries.len() as u32).to_ne_bytes());
        header.resize(HEADER_BYTES, 0);
        [header, table, texts].concat()
    }

    #[test]
    fn a_name_is_found_for_this_kind_of_machine_only() {
        let entries =
            [(FLAGS, "liba.so", "/lib/liba.so"), (3, "libcuda.so.1", "/lib32/c"), (FLAGS, "libcuda.so.1", "/lib64/c")];
        let file = [b"an older format in front".to_vec(), cache(&entries)].concat();
        assert_eq!(paths_of(&file, "libcuda.so.1"), [PathBuf::from("/lib64/c")]);
        assert!(paths_of(&file, "libcuda.so").is_empty());
    }

    #[test]
    fn a_broken_file_has_nothing() {
        let whole = cache(&[(FLAGS, "libcuda.so.1", "/lib64/c")]);
        for length in [0, 10, HEADER_BYTES, HEADER_BYTES + 10] {
            assert!(paths_of(&whole[..length], "libcuda.so.1").is_empty(), "{length}");
        }
        assert!(paths_of(b"nonsense", "libcuda.so.1").is_empty());
    }

    #[test]
    fn the_cache_of_this_machine_knows_libc() {
        if let Ok(bytes) = std::fs::read("/etc/ld.so.cache") {
            assert!(!paths_of(&bytes, "libc.so.6").is_empty());
        }
    }
}
