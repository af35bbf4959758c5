//! The driver's functions, resolved: one field and one call for each row of the one list.
#![allow(unsafe_code)]
#![allow(non_snake_case)] // fields and calls carry the driver's own names

use std::ffi::{CStr, CString, c_void};

use abi::types::*;
use hal::{Code, Error, Result};

use crate::library::Library;

/// `cuGetProcAddress_v2`: the one function that is found by symbol.
type GetProcAddress = unsafe extern "C" fn(
    *const c_char,
    *mut *mut c_void,
    c_int,
    cuuint64_t,
    *mut CUdriverProcAddressQueryResult,
) -> CUresult;

/// `cuDriverGetVersion`, which may be called before `cuInit`.
type GetVersion = unsafe extern "C" fn(*mut c_int) -> CUresult;

/// The source of the addresses.
struct Source {
    get_proc_address: GetProcAddress,
    version: c_int,
}

impl Source {
    fn new(library: &Library) -> Result<Source> {
        let name = library.name().display().to_string();
        let lacks = |symbol: &str| {
            let text =
                format!("{name} does not export {symbol}; CUDA 12.0 brought it: install NVIDIA driver 525 or newer");
            Code::SHARED_OBJECT_SYMBOL_NOT_FOUND.at("dlsym").because(text)
        };
        let address = library.symbol(c"cuGetProcAddress_v2").ok_or_else(|| lacks("cuGetProcAddress_v2"))?;
        // SAFETY: the driver's ABI gives the exported symbol of this name this prototype, and the library stays open.
        let get_proc_address = unsafe { std::mem::transmute::<*mut c_void, GetProcAddress>(address.as_ptr()) };
        let address = library.symbol(c"cuDriverGetVersion").ok_or_else(|| lacks("cuDriverGetVersion"))?;
        // SAFETY: as above.
        let get_version = unsafe { std::mem::transmute::<*mut c_void, GetVersion>(address.as_ptr()) };
        let mut version = 0;
        // SAFETY: `version` is a live local that the call writes once.
        check(unsafe { get_version(&mut version) }, "cuDriverGetVersion")?;
        Ok(Source { get_proc_address, version })
    }

    /// The address of one row, or null.
    fn address(&self, base: &str, version: c_int, flavour: abi::Flavour) -> *mut c_void {
        // A driver that is older than the prototype may answer with the one before it, which has other arguments.
        if version > self.version {
            return std::ptr::null_mut();
        }
        let flags = match flavour {
            abi::Flavour::Plain => CU_GET_PROC_ADDRESS_LEGACY_STREAM,
            abi::Flavour::Ptds | abi::Flavour::Ptsz => CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM,
        };
        let name = CString::new(base).expect("the names of the list hold no NUL");
        let mut found = std::ptr::null_mut();
        let mut status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
        // SAFETY: `name` is NUL-terminated and outlives the call; `found` and `status` are live locals.
        let result = unsafe {
            (self.get_proc_address)(name.as_ptr(), &mut found, version, cuuint64_t::from(flags), &mut status)
        };
        match (result, status) {
            (CUresult::CUDA_SUCCESS, CU_GET_PROC_ADDRESS_SUCCESS) => found,
            _ => std::ptr::null_mut(),
        }
    }
}

/// A CUresult as a `Result`.
#[inline]
fn check(result: CUresult, call: &'static str) -> Result<()> {
    match Code::new(result.0) {
        None => Ok(()),
        Some(code) => Err(code.at(call)),
    }
}

macro_rules! required {
    (required) => {
        true
    };
    (optional) => {
        false
    };
}

macro_rules! functions {
    ({} $([$noun:ident $symbol:ident = $plain:ident, $base:literal, $version:literal,
        $flavour:ident, $need:ident; ($($argument:ident: $type:ty),*)])*) => {
        /// The addresses of the driver's functions; `None` where the driver lacks one.
        #[derive(Clone, Copy, Debug)]
        pub struct Pointers {
            $(#[doc = concat!("`", stringify!($symbol), "`")]
            pub $symbol: Option<unsafe extern "C" fn($($argument: $type),*) -> CUresult>,)*
        }

        impl Pointers {
            /// Resolves every row; the second value names the required ones that are absent.
            fn resolve(source: &Source) -> (Pointers, Vec<&'static str>) {
                let mut missing = Vec::new();
                let pointers = Pointers {
                    $($symbol: {
                        let address = source.address($base, $version, abi::Flavour::$flavour);
                        if address.is_null() && required!($need) {
                            missing.push(stringify!($symbol));
                        }
                        // SAFETY: null becomes `None`. Any other address is the driver's answer for this name, version
                        // and flavour, and the tests of `abi` compare the row's prototype with NVIDIA's header.
                        unsafe {
                            std::mem::transmute::<
                                *mut c_void,
                                Option<unsafe extern "C" fn($($argument: $type),*) -> CUresult>,
                            >(address)
                        }
                    },)*
                };
                (pointers, missing)
            }
        }

        #[allow(clippy::too_many_arguments, clippy::missing_safety_doc, dead_code)]
        impl Functions {
            $(
                #[doc = concat!("Calls `", stringify!($symbol), "`, or says that the driver lacks it.")]
                ///
                /// # Safety
                /// As for the driver's function: pointers among the arguments are valid for its use of them.
                #[inline]
                pub unsafe fn $symbol(&self, $($argument: $type),*) -> Result<()> {
                    match self.pointers.$symbol {
                        // SAFETY: the pointer was resolved with this prototype; the caller vouches for the arguments.
                        Some(function) => match check(unsafe { function($($argument),*) }, stringify!($symbol)) {
                            Ok(()) => Ok(()),
                            Err(error) => Err(self.explain(error)),
                        },
                        None => Err(absent(stringify!($symbol), $version)),
                    }
                }
            )*
        }
    };
}
abi::for_each_driver_function! { functions }

/// The driver's functions, callable.
#[derive(Debug)]
pub struct Functions {
    pointers: Pointers,
    library: Library,
}

impl Functions {
    /// Resolves the functions of an open library. It does not initialise the driver.
    pub fn load(library: Library) -> Result<Functions> {
        let source = Source::new(&library)?;
        let (pointers, missing) = Pointers::resolve(&source);
        if missing.is_empty() {
            return Ok(Functions { pointers, library });
        }
        Err(Code::SHARED_OBJECT_SYMBOL_NOT_FOUND.at("cuGetProcAddress_v2").because(format!(
            "{} (CUDA {}) lacks {}; install a complete NVIDIA driver, 525 or newer",
            library.name().display(),
            version_text(source.version),
            missing.join(", ")
        )))
    }

    /// The addresses, for callers that call the driver directly.
    #[must_use]
    pub fn pointers(&self) -> &Pointers {
        &self.pointers
    }

    /// The library of the functions.
    #[must_use]
    pub fn library(&self) -> &Library {
        &self.library
    }

    /// Adds the driver's own text to an error with a code that we do not know.
    #[cold]
    fn explain(&self, error: Error) -> Error {
        if error.code().name().is_some() {
            return error;
        }
        let text = |function: Option<unsafe extern "C" fn(CUresult, *mut *const c_char) -> CUresult>| {
            let mut text = std::ptr::null();
            // SAFETY: `text` is a live local; the driver writes null or a string of static lifetime.
            let result = unsafe { function?(CUresult(error.code().get()), &mut text) };
            if result != CUresult::CUDA_SUCCESS || text.is_null() {
                return None;
            }
            // SAFETY: checked not null just above; the driver's texts are NUL-terminated and never freed.
            Some(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
        };
        match (text(self.pointers.cuGetErrorName), text(self.pointers.cuGetErrorString)) {
            (Some(name), Some(words)) => error.because(format!("{name}: {words}")),
            (Some(words), None) | (None, Some(words)) => error.because(words),
            (None, None) => error,
        }
    }
}

/// The error of a call that this driver does not have.
#[cold]
fn absent(call: &'static str, version: i32) -> Error {
    let version = version_text(version);
    Code::NOT_FOUND
        .at(call)
        .because(format!("this driver does not have it; CUDA {version} brought it: update the driver"))
}

/// `12080` as `12.8`.
fn version_text(version: i32) -> String {
    format!("{}.{}", version / 1000, version % 1000 / 10)
}
