//! The rows of the one list as a table: names, versions, and which of them are hooked.
//!
//! `for_each_row!` hands a macro the list of [`abi`], and in the same form the older prototypes. [`select!`] expands to
//! its first branch for a hooked row and to its second for any other.

include!("list.rs");
pub(crate) use {for_each_forwarded, for_each_room, for_each_row};

macro_rules! define_select {
    (($d:tt) nouns: $($noun:ident)*; $($module:ident $how:ident: $($plain:ident)*;)*) => {
        /// `select!(noun plain, { if hooked } { if not })`.
        macro_rules! select {
            $(($noun $d plain:ident, { $d($d yes:tt)* } { $d($d no:tt)* }) => { $d($d yes)* };)*
            $($(($d noun:ident $plain, { $d($d yes:tt)* } { $d($d no:tt)* }) => { $d($d yes)* };)*)*
            ($d noun:ident $d plain:ident, { $d($d yes:tt)* } { $d($d no:tt)* }) => { $d($d no)* };
        }
        pub(crate) use select;
    };
}
for_each_room! { define_select }

use std::ffi::CStr;

use abi::Flavour;

#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The exported name.
    pub symbol: &'static str,
    /// The name in questions to `cuGetProcAddress`.
    pub base: &'static str,
    /// The CUDA version that introduced the prototype.
    pub version: i32,
    /// The stream that handle 0 means here.
    pub flavour: Flavour,
    pub hooked: bool,
}

macro_rules! rows {
    ({ $($extra:tt)* } $($row:tt)*) => { rows! { @ $($extra)* $($row)* } };
    (@ $([$noun:ident $symbol:ident = $plain:ident, $base:literal, $version:literal,
        $flavour:ident, $need:ident; $arguments:tt])*) => {
        /// The rows by number.
        #[allow(non_camel_case_types, dead_code, clippy::enum_variant_names)]
        #[repr(u16)]
        pub enum Number { $($symbol,)* }

        pub const COUNT: usize = [$(stringify!($symbol),)*].len();

        pub static ROWS: [Row; COUNT] = [$(row!($noun $symbol $plain $base $version $flavour),)*];

        /// The exported name of a row, as a C string.
        pub fn name(number: usize) -> &'static CStr {
            const NAMES: [&[u8]; COUNT] = [$(concat!(stringify!($symbol), "\0").as_bytes(),)*];
            CStr::from_bytes_with_nul(NAMES[number]).expect("the names of the list hold no NUL")
        }
    };
}

macro_rules! row {
    ($noun:ident $symbol:ident $plain:ident $base:literal $version:literal $flavour:ident) => {
        Row {
            symbol: stringify!($symbol),
            base: $base,
            version: $version,
            flavour: Flavour::$flavour,
            hooked: select!($noun $plain, { true } { false }),
        }
    };
}
for_each_row! { rows }

/// Whether calls of this name are copies: the report accounts for each of them.
pub const fn is_copy(name: &str) -> bool {
    begins_with(name, "cuMemcpy")
}

/// Whether the hook of that name enters a stream for its whole time, so that no copy of several calls is submitted
/// there meanwhile. A copy that the layer judges does so only where the driver makes it. A record and a wait for an
/// event move no bytes: before the copy or behind it, they mean the same.
pub const fn enters(module: &str, name: &str) -> bool {
    match module.as_bytes() {
        b"observed" => true,
        b"launch" => begins_with(name, "cuLaunch") || begins_with(name, "cuGraphLaunch"),
        b"life" => begins_with(name, "cuStreamBegin"),
        _ => false,
    }
}

/// Whether a function without an argument for a stream has a default one.
pub const fn has_default_stream(name: &str) -> bool {
    is_copy(name) || begins_with(name, "cuMemset") || begins_with(name, "cuLaunch")
}

const fn begins_with(name: &str, start: &str) -> bool {
    holds_at(name.as_bytes(), start.as_bytes(), 0)
}

/// Whether the part stands anywhere in the name.
pub const fn holds(name: &str, part: &str) -> bool {
    let mut at = 0;
    while at < name.len() {
        if holds_at(name.as_bytes(), part.as_bytes(), at) {
            return true;
        }
        at += 1;
    }
    false
}

const fn holds_at(name: &[u8], part: &[u8], at: usize) -> bool {
    let mut index = 0;
    while index < part.len() && at + index < name.len() && name[at + index] == part[index] {
        index += 1;
    }
    index == part.len()
}

const NONE: u16 = u16::MAX;
const BUCKETS: usize = 1024;
/// Hooked rows by symbol: open addressing, filled at compile time.
static BY_SYMBOL: [u16; BUCKETS] = buckets(false);
static BY_BASE: [u16; BUCKETS] = buckets(true);

/// FNV-1a.
const fn hash(name: &[u8]) -> usize {
    let (mut hash, mut index) = (0xcbf2_9ce4_8422_2325_u64, 0);
    while index < name.len() {
        hash = (hash ^ name[index] as u64).wrapping_mul(0x0100_0000_01b3);
        index += 1;
    }
    (hash ^ hash >> 32) as usize
}

const fn buckets(by_base: bool) -> [u16; BUCKETS] {
    let (mut buckets, mut number) = ([NONE; BUCKETS], 0);
    while number < COUNT {
        let row = &ROWS[number];
        if row.hooked {
            let name = if by_base { row.base } else { row.symbol };
            let mut bucket = hash(name.as_bytes()) % BUCKETS;
            while buckets[bucket] != NONE {
                bucket = (bucket + 1) % BUCKETS;
            }
            buckets[bucket] = number as u16;
        }
        number += 1;
    }
    buckets
}

fn find(buckets: &[u16; BUCKETS], name: &[u8], of: impl Fn(&Row) -> &'static str) -> Option<usize> {
    let mut bucket = hash(name) % BUCKETS;
    while buckets[bucket] != NONE {
        let number = usize::from(buckets[bucket]);
        if of(&ROWS[number]).as_bytes() == name {
            return Some(number);
        }
        bucket = (bucket + 1) % BUCKETS;
    }
    None
}

/// The number of the hooked row with this exported name. Neither allocates nor locks.
pub fn hooked(symbol: &[u8]) -> Option<usize> {
    find(&BY_SYMBOL, symbol, |row| row.symbol)
}

/// Whether `cuGetProcAddress` of this name may answer with a hooked row. Neither allocates nor locks.
pub fn hooked_base(base: &[u8]) -> bool {
    find(&BY_BASE, base, |row| row.base).is_some()
}

/// The row of the driver's answer to `cuGetProcAddress(base, …, version, flags)`, if it is hooked. As [`abi::resolve`],
/// with the older prototypes.
pub fn resolve(base: &[u8], version: i32, per_thread: bool) -> Option<usize> {
    if !hooked_base(base) {
        return None;
    }
    let named = || ROWS.iter().enumerate().filter(|(_, row)| row.base.as_bytes() == base);
    let is_per_thread = |row: &Row| row.flavour != Flavour::Plain;
    let per_thread = per_thread && named().any(|(_, row)| is_per_thread(row));
    let newest = named()
        .filter(|(_, row)| row.version <= version && is_per_thread(row) == per_thread)
        .max_by_key(|(_, row)| row.version)?;
    newest.1.hooked.then_some(newest.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_hooked_row_is_found_by_its_symbol_and_its_base() {
        for (number, row) in ROWS.iter().enumerate() {
            assert_eq!(hooked(row.symbol.as_bytes()), row.hooked.then_some(number), "{}", row.symbol);
            assert!(!row.hooked || hooked_base(row.base.as_bytes()), "{}", row.base);
        }
        assert_eq!(hooked(b"cuMemcpyHtoDAsync"), None);
        assert!(!hooked_base(b"cuCtxSetLimit") && !hooked_base(b"") && hooked_base(b"cuMemcpyHtoDAsync"));
    }

    #[test]
    fn hooked_names_are_hooked_in_all_variants() {
        for row in ROWS.iter().filter(|row| !row.hooked) {
            assert!(!ROWS.iter().any(|other| other.hooked && other.base == row.base), "{}", row.symbol);
        }
    }

    #[test]
    fn copies_are_those_of_the_manual() {
        assert!(is_copy("cuMemcpy") && is_copy("cuMemcpyHtoDAsync_v2") && is_copy("cuMemcpy3DBatchAsync"));
        assert!(!is_copy("cuMem") && !is_copy("cuMemsetD8_v2") && !is_copy("cuMemPrefetchAsync") && !is_copy(""));
    }

    #[test]
    fn resolve_agrees_with_the_one_list_where_that_has_the_row() {
        for function in abi::FUNCTIONS {
            for version in [function.version, 13000] {
                for per_thread in [false, true] {
                    let ours = resolve(function.base.as_bytes(), version, per_thread).map(|number| ROWS[number].symbol);
                    let theirs = abi::resolve(function.base, version, per_thread).map(|function| function.symbol);
                    let hooked = theirs.filter(|symbol| hooked(symbol.as_bytes()).is_some());
                    assert!(ours == hooked || abi::resolve(function.base, version, per_thread).is_none());
                }
            }
        }
        let old = resolve(b"cuDevicePrimaryCtxReset", 8000, false).map(|number| ROWS[number].symbol);
        assert_eq!(old, Some("cuDevicePrimaryCtxReset"));
    }
}
