//! The list of driver functions as data, for lookups by name.

/// The stream that handle 0 names in an entry point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavour {
    /// The legacy default stream, or the function takes no stream.
    Plain,
    /// The calling thread's default stream; the function is synchronous (`_ptds`).
    Ptds,
    /// The calling thread's default stream; the function takes a stream (`_ptsz`).
    Ptsz,
}

/// Whether a driver may lack a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// A driver without it cannot be used.
    Required,
    /// Calling it may find it absent.
    Optional,
}

/// One row of the list, without its prototype.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function {
    /// The section of the list that it belongs to, such as `copy`.
    pub noun: &'static str,
    /// The name that the library exports.
    pub symbol: &'static str,
    /// The same function for the legacy default stream.
    pub plain: &'static str,
    /// The name that `cuGetProcAddress` takes.
    pub base: &'static str,
    /// The CUDA version that introduced this prototype.
    pub version: i32,
    /// The stream that handle 0 names in it.
    pub flavour: Flavour,
    /// Whether a driver may lack it.
    pub need: Need,
}

macro_rules! need {
    (required) => {
        Need::Required
    };
    (optional) => {
        Need::Optional
    };
}

macro_rules! functions {
    ({} $([$noun:ident $symbol:ident = $plain:ident, $base:literal, $version:literal,
        $flavour:ident, $need:ident; ($($argument:ident: $type:ty),*)])*) => {
        /// Every function of the list, in the order of the list.
        pub static FUNCTIONS: &[Function] = &[$(Function {
            noun: stringify!($noun),
            symbol: stringify!($symbol),
            plain: stringify!($plain),
            base: $base,
            version: $version,
            flavour: Flavour::$flavour,
            need: need!($need),
        },)*];
    };
}
crate::for_each_driver_function! { functions }

/// The row that a driver answers `cuGetProcAddress(base, …, version, flags)` with: the newest prototype that is not
/// newer than `version`. Where a function has per-thread variants, asking per thread finds nothing else: no older plain
/// prototype stands in for them.
#[must_use]
pub fn resolve(base: &str, version: i32, per_thread: bool) -> Option<&'static Function> {
    let named = || FUNCTIONS.iter().filter(|function| function.base == base);
    let is_per_thread = |function: &Function| function.flavour != Flavour::Plain;
    let per_thread = per_thread && named().any(is_per_thread);
    named().filter(|f| f.version <= version && is_per_thread(f) == per_thread).max_by_key(|f| f.version)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn symbols_are_unique_and_every_plain_symbol_is_listed() {
        let symbols: HashSet<&str> = FUNCTIONS.iter().map(|f| f.symbol).collect();
        assert_eq!(symbols.len(), FUNCTIONS.len());
        for function in FUNCTIONS {
            assert!(symbols.contains(function.plain), "{} has no plain row", function.symbol);
            assert_eq!(function.symbol == function.plain, function.flavour == Flavour::Plain, "{}", function.symbol);
        }
    }

    #[test]
    fn flavours_follow_the_suffix() {
        for function in FUNCTIONS {
            let expected = match function.symbol {
                symbol if symbol.ends_with("_ptsz") => Flavour::Ptsz,
                symbol if symbol.ends_with("_ptds") => Flavour::Ptds,
                _ => Flavour::Plain,
            };
            assert_eq!(function.flavour, expected, "{}", function.symbol);
            assert!(function.symbol.starts_with(function.base), "{}", function.symbol);
        }
    }

    #[test]
    fn resolve_answers_as_the_driver_does() {
        let symbol = |base, version, per_thread| resolve(base, version, per_thread).map(|f| f.symbol);
        assert_eq!(symbol("cuMemcpyHtoDAsync", 13000, false), Some("cuMemcpyHtoDAsync_v2"));
        assert_eq!(symbol("cuMemcpyHtoDAsync", 13000, true), Some("cuMemcpyHtoDAsync_v2_ptsz"));
        assert_eq!(symbol("cuMemcpyHtoDAsync", 6000, true), None);
        assert_eq!(symbol("cuMemFree", 13000, true), Some("cuMemFree_v2"));
        assert_eq!(symbol("cuMemcpyBatchAsync", 12090, false), Some("cuMemcpyBatchAsync"));
        assert_eq!(symbol("cuMemcpyBatchAsync", 13000, false), Some("cuMemcpyBatchAsync_v2"));
        assert_eq!(symbol("cuGetProcAddress", 11030, false), Some("cuGetProcAddress"));
        assert_eq!(symbol("cuGetProcAddress", 12000, true), Some("cuGetProcAddress_v2"));
        assert_eq!(symbol("cuMemcpyBatchAsync", 12000, false), None);
        assert_eq!(symbol("cuMemAlloc_v2", 13000, false), None);
        assert_eq!(symbol("", 0, false), None);
    }
}
