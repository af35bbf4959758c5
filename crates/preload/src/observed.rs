//! Hooked functions without a handler: their calls are only counted.
#![allow(unsafe_code)] // the prototypes are the driver's
#![allow(dead_code)] // a handler of the same name stands before it
#![allow(clippy::too_many_arguments)] // the prototypes are NVIDIA's
#![allow(non_snake_case)]

use abi::types::*;

use crate::hooks::Hook;
use crate::life::{ask, tell};
use crate::rows::{for_each_row, holds, is_copy, select};

macro_rules! observed {
    (Plain $plain:ident ($($type:ty),*)) => {
        pub unsafe fn $plain(hook: Hook, native: impl Fn() -> CUresult, $(_: $type),*) -> CUresult {
            const IS_COPY: bool = is_copy(stringify!($plain));
            hook.observed(IS_COPY);
            // One that blocks may wait inside the driver.
            const MAY_WAIT: bool = IS_COPY && !holds(stringify!($plain), "Async");
            let inside = if MAY_WAIT { ask(shim::inside) } else { None };
            let result = native();
            tell(|| drop(inside));
            result
        }
    };
    ($flavour:ident $plain:ident $types:tt) => {};
}
macro_rules! all_observed {
    ({ $($extra:tt)* } $($row:tt)*) => { all_observed! { @ $($extra)* $($row)* } };
    (@ $([$noun:ident $symbol:ident = $plain:ident, $base:literal, $version:literal,
        $flavour:ident, $need:ident; ($($argument:ident: $type:ty),*)])*) => {
        $(select!($noun $plain, { observed! { $flavour $symbol ($($type),*) } } {});)*
    };
}
for_each_row! { all_observed }
