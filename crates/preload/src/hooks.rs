//! The hooked entry points, one for each hooked row. Each passes its arguments to the handler of the row's plain name,
//! with a closure that makes the real call of the same variant.
#![allow(unsafe_code)] // C functions

use std::arch::naked_asm;
use std::ffi::c_void;
use std::ptr::{null, null_mut};

use abi::Flavour;
use abi::types::*;
use hal::Stream;
use shim::Passed;

use crate::rows::{COUNT, Number, enters, for_each_room, for_each_row, has_default_stream, select};
use crate::{count, slots, state};

/// The entry point that was called.
#[derive(Clone, Copy)]
pub struct Hook {
    /// Its number among the rows.
    pub number: usize,
    /// The stream that handle 0 means here.
    pub flavour: Flavour,
    /// The address that the call returns to; 0 where it is not known.
    pub caller: usize,
}

impl Hook {
    /// Counts a call that the layer looked at.
    #[inline]
    pub fn intercepted(self) {
        count::intercepted(self.number);
    }

    /// Counts a call that went to the driver without a look.
    #[inline]
    pub fn passed_on(self) {
        count::passed_on(self.number);
    }

    /// The same for a copy, which the report accounts for.
    pub fn copy_passed_on(self, reason: Passed) {
        self.passed_on();
        shim::passed_on(reason, 0);
    }

    /// Counts a call of a function that has no handler.
    #[inline]
    pub fn observed(self, is_copy: bool) {
        match (is_copy, state::ready()) {
            (false, _) => self.passed_on(),
            (true, true) => self.copy_passed_on(Passed::OtherKind),
            (true, false) => self.copy_passed_on(Passed::NotAwake),
        }
    }

    /// The call enters a stream, until the returned value is dropped.
    #[inline]
    fn share(self, handle: CUstream) -> Option<shim::Shared<'static>> {
        if state::ready() { shim::share(self.stream(handle)) } else { None }
    }

    /// A stream handle, as this entry point reads it.
    #[inline]
    pub fn stream(self, handle: CUstream) -> Stream {
        match (handle.addr(), self.flavour) {
            (0, Flavour::Plain) => Stream::LEGACY,
            (0, Flavour::Ptds | Flavour::Ptsz) => Stream::PER_THREAD,
            (handle, _) => Stream(handle as u64),
        }
    }

    /// The stream of an entry point without an argument for one.
    #[inline]
    pub fn default_stream(self) -> Stream {
        self.stream(std::ptr::null_mut())
    }
}

macro_rules! define_handlers {
    (($d:tt) nouns: $($noun:ident)*; $($module:ident $how:ident: $($plain:ident)*;)*) => {
        /// The handlers by plain name. Calls of a function that no module of the list handles are only counted.
        mod handlers {
            pub use crate::observed::*;
            $(pub use crate::$module::{$($plain),*};)*
        }

        /// The exported function of one row.
        macro_rules! hook {
            $($(($plain $d($d row:tt)*) => { $how! { $module $plain $d($d row)* } };)*)*
            ($d($d row:tt)*) => { direct! { observed $d($d row)* } };
        }
    };
}
for_each_room! { define_handlers }

struct Address(*const c_void);

// SAFETY: an address of code, never dereferenced as data.
unsafe impl Sync for Address {}

macro_rules! hooks {
    ({ $($extra:tt)* } $($row:tt)*) => { hooks! { @ $($extra)* $($row)* } };
    (@ $([$noun:ident $symbol:ident = $plain:ident, $base:literal, $version:literal,
        $flavour:ident, $need:ident; $arguments:tt])*) => {
        $(select!($noun $plain, { hook! { $plain $symbol $flavour $arguments } } {});)*

        /// The addresses of the hooks; null for rows that are not hooked.
        static ADDRESSES: [Address; COUNT] =
            [$(select!($noun $plain, { Address($symbol as *const c_void) } { Address(null()) }),)*];
    };
}

/// An exported function that does not know its return address.
macro_rules! direct {
    ($module:ident $plain:ident $symbol:ident $flavour:ident ($($argument:ident: $type:ty),*)) => {
        #[allow(non_snake_case)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $symbol($($argument: $type),*) -> CUresult {
            // SAFETY: the program's own arguments.
            unsafe { body!($module $plain $symbol $flavour ($($argument: $type),*) 0) }
        }
    };
}

/// An exported function that begins with one more instruction, which puts its return address behind its arguments: Rust
/// code cannot see that address. There are at most four arguments, all in registers, so one register is free.
macro_rules! called {
    ($module:ident $plain:ident $symbol:ident $flavour:ident ($($argument:ident: $type:ty),*)) => {
        #[allow(non_snake_case)]
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        unsafe extern "C" fn $symbol($($argument: $type),*) -> CUresult {
            unsafe extern "C" fn inner($($argument: $type,)* caller: usize) -> CUresult {
                // SAFETY: the program's own arguments.
                unsafe { body!($module $plain $symbol $flavour ($($argument: $type),*) caller) }
            }
            #[cfg(target_arch = "x86_64")]
            naked_asm!(
                ".if {count} == 1", "mov rsi, [rsp]", ".endif",
                ".if {count} == 2", "mov rdx, [rsp]", ".endif",
                ".if {count} == 3", "mov rcx, [rsp]", ".endif",
                ".if {count} == 4", "mov r8, [rsp]", ".endif",
                "jmp {inner}",
                count = const fits([$(stringify!($argument)),*].len()),
                inner = sym inner,
            );
            #[cfg(target_arch = "aarch64")]
            naked_asm!(
                ".if {count} == 1", "mov x1, x30", ".endif",
                ".if {count} == 2", "mov x2, x30", ".endif",
                ".if {count} == 3", "mov x3, x30", ".endif",
                ".if {count} == 4", "mov x4, x30", ".endif",
                "b {inner}",
                count = const fits([$(stringify!($argument)),*].len()),
                inner = sym inner,
            )
        }
    };
}

/// Checks that [`called!`] has a free register for this number of arguments; others do not compile.
const fn fits(count: usize) -> usize {
    assert!(count >= 1 && count <= 4, "called! has no register for this many arguments");
    count
}

/// The body of every hook: it makes the closure for the real call, and calls the handler. It stands in an unsafe block.
/// The reason is that the arguments are those of the program for this very function: a handler relies on nothing that
/// the CUDA manual does not demand of them.
macro_rules! body {
    ($module:ident $plain:ident $symbol:ident $flavour:ident ($($argument:ident: $type:ty),*) $caller:expr) => {{
        const NUMBER: usize = Number::$symbol as usize;
        let hook = Hook { number: NUMBER, flavour: Flavour::$flavour, caller: $caller };
        // It holds the arguments themselves, and not where they are: a call behind a table reads each of them once.
        let native = move || {
            // The address is the driver's function of this name, whose prototype the row has, or a function that reads
            // no arguments.
            let real = std::mem::transmute::<*const c_void, unsafe extern "C" fn($($type),*) -> CUresult>(
                slots::real(NUMBER),
            );
            real($($argument),*)
        };
        let _shared = if const { enters(stringify!($module), stringify!($plain)) } {
            let given = stream_among!($($argument = $argument,)*);
            let default = const { has_default_stream(stringify!($plain)) };
            given.or(default.then_some(null_mut())).and_then(|stream| hook.share(stream))
        } else {
            None
        };
        handlers::$plain(hook, native, $($argument),*)
    }};
}

/// The stream among the arguments of a row, by its name.
macro_rules! stream_among {
    () => { None };
    (h_stream = $stream:ident, $($rest:tt)*) => { Some($stream) };
    (stream = $stream:ident, $($rest:tt)*) => { Some($stream) };
    // The driver reads it too.
    (config = $config:ident, $($rest:tt)*) => { $config.as_ref().map(|config| config.hStream) };
    ($name:ident = $argument:ident, $($rest:tt)*) => { stream_among!($($rest)*) };
}

for_each_row! { hooks }

/// The address of the hook of a row.
pub fn address(number: usize) -> *const c_void {
    ADDRESSES[number].0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::ROWS;

    #[test]
    fn exactly_the_hooked_rows_have_a_hook() {
        for (number, row) in ROWS.iter().enumerate() {
            assert_eq!(address(number).is_null(), !row.hooked, "{}", row.symbol);
        }
    }

    #[test]
    fn handle_zero_depends_on_the_entry_point() {
        let hook = |flavour| Hook { number: 0, flavour, caller: 0 };
        let null = std::ptr::null_mut();
        assert_eq!(hook(Flavour::Plain).stream(null), Stream::LEGACY);
        assert_eq!(hook(Flavour::Ptsz).stream(null), Stream::PER_THREAD);
        assert_eq!(hook(Flavour::Ptds).default_stream(), Stream::PER_THREAD);
        assert_eq!(hook(Flavour::Ptsz).stream(CU_STREAM_LEGACY), Stream::LEGACY);
        assert_eq!(hook(Flavour::Plain).stream(CU_STREAM_PER_THREAD), Stream::PER_THREAD);
    }
}
