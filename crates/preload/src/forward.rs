//! The entry points that are only exported: each jumps to the driver's function and leaves all arguments as they are.
#![allow(unsafe_code)] // machine code

use std::arch::naked_asm;
use std::ffi::{CStr, c_void};

use crate::rows::{self, for_each_forwarded};
use crate::slots::{self, SLOTS};

macro_rules! names {
    ($($symbol:ident)*) => {
        /// The forwarded names, in the order of their numbers.
        pub static FORWARDED: [&CStr; COUNT] = [$(name(concat!(stringify!($symbol), "\0"))),*];
        const COUNT: usize = [$(stringify!($symbol)),*].len();
    };
}
for_each_forwarded! { names }

const fn name(text: &str) -> &CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(name) => name,
        Err(_) => panic!("the macro ends every name with its one NUL"),
    }
}

/// Finds the real function for the first call of a forwarder, and jumps to it. It keeps every register that can hold an
/// argument.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
unsafe extern "C" fn first_call() {
    naked_asm!(
        "push rdi", "push rsi", "push rdx", "push rcx", "push r8", "push r9",
        "sub rsp, 136",
        "movups [rsp], xmm0", "movups [rsp + 16], xmm1", "movups [rsp + 32], xmm2", "movups [rsp + 48], xmm3",
        "movups [rsp + 64], xmm4", "movups [rsp + 80], xmm5", "movups [rsp + 96], xmm6", "movups [rsp + 112], xmm7",
        "mov edi, r11d",
        "call {resolve}",
        "mov r11, rax",
        "movups xmm0, [rsp]", "movups xmm1, [rsp + 16]", "movups xmm2, [rsp + 32]", "movups xmm3, [rsp + 48]",
        "movups xmm4, [rsp + 64]", "movups xmm5, [rsp + 80]", "movups xmm6, [rsp + 96]", "movups xmm7, [rsp + 112]",
        "add rsp, 136",
        "pop r9", "pop r8", "pop rcx", "pop rdx", "pop rsi", "pop rdi",
        "jmp r11",
        resolve = sym slots::resolve,
    )
}

/// As above. The number comes in w17 and the address leaves in x16: a call may change these two registers.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
unsafe extern "C" fn first_call() {
    naked_asm!(
        "stp x29, x30, [sp, #-224]!",
        "mov x29, sp",
        "stp x0, x1, [sp, #16]", "stp x2, x3, [sp, #32]", "stp x4, x5, [sp, #48]", "stp x6, x7, [sp, #64]",
        "str x8, [sp, #80]",
        "stp q0, q1, [sp, #96]", "stp q2, q3, [sp, #128]", "stp q4, q5, [sp, #160]", "stp q6, q7, [sp, #192]",
        "mov w0, w17",
        "bl {resolve}",
        "mov x16, x0",
        "ldp x0, x1, [sp, #16]", "ldp x2, x3, [sp, #32]", "ldp x4, x5, [sp, #48]", "ldp x6, x7, [sp, #64]",
        "ldr x8, [sp, #80]",
        "ldp q0, q1, [sp, #96]", "ldp q2, q3, [sp, #128]", "ldp q4, q5, [sp, #160]", "ldp q6, q7, [sp, #192]",
        "ldp x29, x30, [sp], #224",
        "br x16",
        resolve = sym slots::resolve,
    )
}

struct Address(*const c_void);

// SAFETY: an address of code, never dereferenced as data.
unsafe impl Sync for Address {}

macro_rules! forwarders {
    ($($symbol:ident)*) => {
        /// The addresses of the forwarders, in the order of the names.
        static ADDRESSES: [Address; FORWARDED.len()] = [$(Address($symbol as *const c_void),)*];

        #[allow(non_camel_case_types, clippy::enum_variant_names)]
        #[repr(u16)]
        enum Forwarded { $($symbol,)* }

        $(
            #[cfg(target_arch = "x86_64")]
            #[unsafe(naked)]
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $symbol() {
                naked_asm!(
                    "mov r11, qword ptr [rip + {slots} + {offset}]",
                    "test r11, r11",
                    "je 2f",
                    "jmp r11",
                    "2:",
                    "mov r11d, {number}",
                    "jmp {first_call}",
                    slots = sym SLOTS,
                    offset = const (crate::rows::COUNT + Forwarded::$symbol as usize) * 8,
                    number = const crate::rows::COUNT + Forwarded::$symbol as usize,
                    first_call = sym first_call,
                )
            }

            #[cfg(target_arch = "aarch64")]
            #[unsafe(naked)]
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $symbol() {
                naked_asm!(
                    "adrp x16, {slots}",
                    "add x16, x16, :lo12:{slots}",
                    "mov w17, #{number}",
                    "ldr x16, [x16, x17, lsl #3]",
                    "cbz x16, 2f",
                    "br x16",
                    "2:",
                    "b {first_call}",
                    slots = sym SLOTS,
                    number = const crate::rows::COUNT + Forwarded::$symbol as usize,
                    first_call = sym first_call,
                )
            }
        )*
    };
}
for_each_forwarded! { forwarders }

/// The forwarder to the function with which a driver has answered `cuGetProcAddress` of this name.
pub fn to(base: &[u8], answer: *const c_void) -> Option<*const c_void> {
    let first = FORWARDED.partition_point(|name| name.to_bytes() < base);
    let begins = |number: &usize| FORWARDED.get(*number).is_some_and(|name| name.to_bytes().starts_with(base));
    let variants =
        (first..).take_while(begins).filter(|&number| is_variant(&FORWARDED[number].to_bytes()[base.len()..]));
    let mut variants = variants.filter(|&number| slots::real(rows::COUNT + number) == answer);
    (!base.is_empty()).then(|| variants.next()).flatten().map(|number| ADDRESSES[number].0)
}

/// The number of a forwarded name.
pub fn number(name: &CStr) -> Option<usize> {
    FORWARDED.binary_search(&name).ok()
}

/// The endings that exported names add to the name that programs ask for.
fn is_variant(suffix: &[u8]) -> bool {
    matches!(suffix, [] | [b'_', b'v', b'0'..=b'9', ..] | b"_ptsz" | b"_ptds")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_and_variants_begin_with_their_base() {
        assert!(FORWARDED.is_sorted());
        assert!(is_variant(b"") && is_variant(b"_v2") && is_variant(b"_v2_ptsz") && is_variant(b"_ptds"));
        assert!(!is_variant(b"Ex") && !is_variant(b"_x"));
    }

    #[test]
    fn only_the_very_address_has_a_forwarder() {
        let absent = slots::real(rows::COUNT + FORWARDED.partition_point(|name| *name < c"cuLaunchKernelEx"));
        assert!(!absent.is_null());
        assert_eq!(to(b"cuLaunchKernel", std::ptr::without_provenance(1)), None);
        assert_eq!(to(b"", absent), None);
    }
}
