//! The one error type of the seam.

use std::fmt;
use std::num::NonZeroU32;

/// The result of a driver call.
pub type Result<T> = std::result::Result<T, Error>;

/// A CUresult other than success. It is a newtype and no enum, because a newer driver may send numbers that are
/// unknown here.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Code(NonZeroU32);

macro_rules! codes {
    ($($name:ident = $value:literal, $text:literal;)*) => {
        impl Code {
            $(#[doc = $text] pub const $name: Code = Code(NonZeroU32::new($value).expect("a code is not 0"));)*

            /// The driver's own name of the code, if it is known.
            #[must_use]
            pub fn name(self) -> Option<&'static str> {
                match self.get() {
                    $($value => Some(concat!("CUDA_ERROR_", stringify!($name))),)*
                    _ => None,
                }
            }

            /// The meaning of the code in a few words, if it is known.
            #[must_use]
            pub fn text(self) -> Option<&'static str> {
                match self.get() {
                    $($value => Some($text),)*
                    _ => None,
                }
            }
        }
    };
}

codes! {
    INVALID_VALUE = 1, "invalid argument";
    OUT_OF_MEMORY = 2, "out of memory";
    NOT_INITIALIZED = 3, "initialization error";
    DEINITIALIZED = 4, "driver shutting down";
    STUB_LIBRARY = 34, "CUDA driver is a stub library";
    NO_DEVICE = 100, "no CUDA-capable device is detected";
    INVALID_DEVICE = 101, "invalid device ordinal";
    INVALID_IMAGE = 200, "device kernel image is invalid";
    INVALID_CONTEXT = 201, "invalid device context";
    MAP_FAILED = 205, "mapping of buffer object failed";
    ECC_UNCORRECTABLE = 214, "uncorrectable ECC error encountered";
    PEER_ACCESS_UNSUPPORTED = 217, "peer access is not supported between these two devices";
    INVALID_PTX = 218, "a PTX JIT compilation failed";
    UNSUPPORTED_PTX_VERSION = 222, "the provided PTX was compiled with an unsupported toolchain.";
    INVALID_SOURCE = 300, "device kernel image is invalid";
    FILE_NOT_FOUND = 301, "file not found";
    SHARED_OBJECT_SYMBOL_NOT_FOUND = 302, "shared object symbol not found";
    SHARED_OBJECT_INIT_FAILED = 303, "shared object initialization failed";
    OPERATING_SYSTEM = 304, "OS call failed or operation not supported on this OS";
    INVALID_HANDLE = 400, "invalid resource handle";
    ILLEGAL_STATE = 401, "the operation cannot be performed in the present state";
    NOT_FOUND = 500, "named symbol not found";
    NOT_READY = 600, "device not ready";
    ILLEGAL_ADDRESS = 700, "an illegal memory access was encountered";
    LAUNCH_OUT_OF_RESOURCES = 701, "too many resources requested for launch";
    LAUNCH_TIMEOUT = 702, "the launch timed out and was terminated";
    PEER_ACCESS_ALREADY_ENABLED = 704, "peer access is already enabled";
    PEER_ACCESS_NOT_ENABLED = 705, "peer access has not been enabled";
    CONTEXT_IS_DESTROYED = 709, "context is destroyed";
    HOST_MEMORY_ALREADY_REGISTERED = 712, "part or all of the requested memory range is already mapped";
    HOST_MEMORY_NOT_REGISTERED = 713, "pointer does not correspond to a registered memory region";
    LAUNCH_FAILED = 719, "unspecified launch failure";
    NOT_PERMITTED = 800, "operation not permitted";
    NOT_SUPPORTED = 801, "operation not supported";
    STREAM_CAPTURE_UNSUPPORTED = 900, "operation not permitted when stream is capturing";
    STREAM_CAPTURE_INVALIDATED = 901, "operation failed due to a previous error during capture";
    STREAM_CAPTURE_MERGE = 902, "operation would result in a merge of separate capture sequences";
    STREAM_CAPTURE_UNMATCHED = 903, "capture was not ended in the same stream as it began";
    STREAM_CAPTURE_UNJOINED = 904, "capturing stream has unjoined work";
    STREAM_CAPTURE_ISOLATION = 905, "dependency created on uncaptured work in another stream";
    STREAM_CAPTURE_IMPLICIT = 906, "operation would make the legacy stream depend on a capturing blocking stream";
    CAPTURED_EVENT = 907, "operation not permitted on an event last recorded in a capturing stream";
    STREAM_CAPTURE_WRONG_THREAD = 908, "attempt to terminate a thread-local capture sequence from another thread";
    UNKNOWN = 999, "unknown error";
}

impl Code {
    /// From a CUresult; `None` for success (0).
    #[must_use]
    pub fn new(raw: u32) -> Option<Code> {
        NonZeroU32::new(raw).map(Code)
    }

    /// The CUresult.
    #[must_use]
    pub fn get(self) -> u32 {
        self.0.get()
    }

    /// An error of this code, raised by `call`.
    #[must_use]
    pub fn at(self, call: &'static str) -> Error {
        Error { code: self, call, detail: None }
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => write!(f, "{name} ({})", self.get()),
            None => write!(f, "CUresult {}", self.get()),
        }
    }
}

/// A failed driver call: its name, its code, and possibly a detail.
#[derive(Clone, PartialEq, Eq)]
pub struct Error {
    code: Code,
    call: &'static str,
    detail: Option<Box<str>>,
}

impl Error {
    /// The code.
    #[must_use]
    pub fn code(&self) -> Code {
        self.code
    }

    /// The driver's name of the call that failed, such as `cuMemAlloc_v2`.
    #[must_use]
    pub fn call(&self) -> &'static str {
        self.call
    }

    /// A detail beyond the code: the request that failed, or the remedy.
    #[must_use]
    pub fn detail(&self) -> Option<&str> {
        self.detail.as_deref()
    }

    /// The same error with a detail that helps the reader to remedy it.
    #[must_use]
    pub fn because(self, detail: impl Into<String>) -> Error {
        Error { detail: Some(detail.into().into_boxed_str()), ..self }
    }
}

/// As [`fmt::Display`]: a program whose `main` returns the error prints its cause and its cure.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} failed: {}", self.call, self.code)?;
        match (self.detail(), self.code.text()) {
            (Some(detail), _) => write!(f, ": {detail}"),
            (None, Some(text)) => write!(f, ": {text}"),
            (None, None) => Ok(()),
        }
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn display_names_call_code_and_cure() {
        let plain = Code::OUT_OF_MEMORY.at("cuMemAlloc_v2");
        assert_eq!(plain.to_string(), "cuMemAlloc_v2 failed: CUDA_ERROR_OUT_OF_MEMORY (2): out of memory");
        let detailed = Code::NO_DEVICE.at("cuInit").because("install the NVIDIA driver");
        assert!(detailed.to_string().ends_with("install the NVIDIA driver"));
        assert_eq!(format!("{detailed:?}"), detailed.to_string(), "it is what a failed main prints");
    }

    #[test]
    fn unknown_codes_survive() {
        let code = Code::new(4711).unwrap();
        assert_eq!((code.get(), code.name()), (4711, None));
        assert_eq!(code.to_string(), "CUresult 4711");
        assert!(Code::new(0).is_none());
    }
}
