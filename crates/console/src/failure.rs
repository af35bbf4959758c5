//! Failures of a command, with their cure.

use std::fmt;
use std::io;
use std::path::PathBuf;

use hal::Code;

/// The reason why a command failed.
#[derive(Debug)]
pub enum Failure {
    /// A call of the driver failed.
    Driver(hal::Error),
    /// A file cannot be written.
    File(PathBuf, io::Error),
    /// Standard output cannot be written.
    Output(io::Error),
    /// Another failure, with its cure.
    Other(String),
}

/// The result of a command.
pub type Result<T> = std::result::Result<T, Failure>;

impl From<hal::Error> for Failure {
    fn from(error: hal::Error) -> Failure {
        Failure::Driver(error)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Driver(error) => match cure(error) {
                Some(cure) => write!(f, "{error}; {cure}"),
                None => write!(f, "{error}"),
            },
            Failure::File(path, error) => {
                write!(f, "cannot write {}: {error}; name another place for it", path.display())
            }
            Failure::Output(error) => write!(f, "cannot write to standard output: {error}"),
            Failure::Other(text) => f.write_str(text),
        }
    }
}

/// The cure for a driver's error that names none itself.
fn cure(error: &hal::Error) -> Option<&'static str> {
    if error.detail().is_some() {
        return None;
    }
    match error.code() {
        Code::OUT_OF_MEMORY => Some("free device or pinned memory that other programs hold; nvidia-smi lists them"),
        Code::NO_DEVICE | Code::NOT_INITIALIZED => Some("try --backend soft, which needs no GPU"),
        Code::INVALID_DEVICE => Some("`overtake info` lists the devices there are"),
        Code::ECC_UNCORRECTABLE | Code::ILLEGAL_ADDRESS | Code::LAUNCH_FAILED | Code::UNKNOWN => {
            Some("the device or the driver is in a bad state; see nvidia-smi and dmesg")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_failure_names_a_cure() {
        let bare = Failure::from(Code::OUT_OF_MEMORY.at("cuMemAlloc_v2")).to_string();
        assert!(bare.starts_with("cuMemAlloc_v2 failed") && bare.contains("nvidia-smi"), "{bare}");
        let detailed = Failure::from(Code::NO_DEVICE.at("cuInit").because("plug one in")).to_string();
        assert!(detailed.ends_with("plug one in"), "the driver's own cure stands alone: {detailed}");
        let file = Failure::File("/x/y".into(), io::Error::from(io::ErrorKind::NotFound)).to_string();
        assert!(file.contains("/x/y"), "{file}");
    }
}
