//! Faults that a test or the environment injects.

use hal::Code;

use crate::Direction;

/// A planned failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The `nth` call of this name from now on fails and has no effect.
    Call {
        /// The driver's name, such as `cuMemcpyHtoDAsync_v2`.
        name: String,
        /// 1 is the next one.
        nth: u64,
        /// The code that the call returns.
        code: Code,
    },
    /// The `nth` copy to complete from now on fails in flight: its context returns the code from then on.
    Copy {
        /// 1 is the next one.
        nth: u64,
        /// Usually `ILLEGAL_ADDRESS` or `LAUNCH_FAILED`.
        code: Code,
    },
    /// The device falls off the bus: every context on it returns `UNKNOWN` from then on.
    LoseDevice {
        /// The ordinal of the device.
        device: usize,
    },
    /// The device's memory is limited.
    MemoryLimit {
        /// The ordinal of the device.
        device: usize,
        /// The total in bytes; allocations beyond it stay.
        bytes: u64,
    },
    /// An engine starts no copy for a while.
    DelayEngine {
        /// The ordinal of the device.
        device: usize,
        /// The engine's direction.
        direction: Direction,
        /// The delay from now on, in nanoseconds.
        span_ns: u64,
    },
}

impl Fault {
    /// Parses the value of `OVERTAKE_SOFT_FAULTS`: faults separated by semicolons, each `CALL:NTH=CODE`,
    /// `copy:NTH=CODE`, `lose:DEVICE`, `memory:DEVICE=BYTES` or `delay:DEVICE:h2d|d2h|d2d=NANOSECONDS`.
    ///
    /// # Errors
    /// The part that does not parse.
    pub fn parse_all(text: &str) -> Result<Vec<Fault>, String> {
        text.split(';').map(str::trim).filter(|part| !part.is_empty()).map(Fault::parse).collect()
    }

    fn parse(part: &str) -> Result<Fault, String> {
        let bad = || {
            format!(
                "fault `{part}` is not understood: write CALL:NTH=CODE, copy:NTH=CODE, lose:DEVICE, \
                 memory:DEVICE=BYTES or delay:DEVICE:h2d=NS"
            )
        };
        let (left, right) = part.split_once('=').unwrap_or((part, ""));
        let (name, rest) = left.split_once(':').ok_or_else(bad)?;
        let number = |text: &str| text.parse::<u64>().map_err(|_| bad());
        let code = || u32::try_from(number(right)?).ok().and_then(Code::new).ok_or_else(bad);
        Ok(match name {
            "lose" => Fault::LoseDevice { device: number(rest)? as usize },
            "memory" => Fault::MemoryLimit { device: number(rest)? as usize, bytes: number(right)? },
            "copy" => Fault::Copy { nth: number(rest)?, code: code()? },
            "delay" => {
                let (device, engine) = rest.split_once(':').ok_or_else(bad)?;
                let direction = match engine {
                    "h2d" => Direction::HostToDevice,
                    "d2h" => Direction::DeviceToHost,
                    "d2d" => Direction::OnDevice,
                    _ => return Err(bad()),
                };
                Fault::DelayEngine { device: number(device)? as usize, direction, span_ns: number(right)? }
            }
            call => Fault::Call { name: call.to_owned(), nth: number(rest)?, code: code()? },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_parses() {
        let text = "cuMemcpyHtoDAsync_v2:3=700; copy:2=719;lose:0;memory:1=4096;delay:0:d2h=500;";
        let faults = Fault::parse_all(text).unwrap();
        assert_eq!(faults[0], Fault::Call { name: "cuMemcpyHtoDAsync_v2".into(), nth: 3, code: Code::ILLEGAL_ADDRESS });
        assert_eq!(faults[1], Fault::Copy { nth: 2, code: Code::LAUNCH_FAILED });
        assert_eq!(faults[2], Fault::LoseDevice { device: 0 });
        assert_eq!(faults[3], Fault::MemoryLimit { device: 1, bytes: 4096 });
        assert_eq!(faults[4], Fault::DelayEngine { device: 0, direction: Direction::DeviceToHost, span_ns: 500 });
    }

    #[test]
    fn nonsense_is_named() {
        for text in ["cuInit", "cuInit:x=1", "copy:1=0", "delay:0:up=4", "memory:0=many"] {
            assert!(Fault::parse_all(text).unwrap_err().contains(text), "{text}");
        }
    }
}
