//! Streams of pictures by their names, such as `1080p60:nv12`.

use std::fmt;
use std::str::FromStr;

use hal::Nanos;

use crate::reference::Rows;

/// The bytes of a picture's pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pixels {
    /// Brightness, and colour for each four pixels: 12 bits a pixel.
    Nv12,
    /// Four bytes a pixel.
    Rgba,
}

/// A stream of pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pictures {
    pub size: Size,
    pub fps: u32,
    pub pixels: Pixels,
}

/// The size of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    name: &'static str,
    pub width: u32,
    pub height: u32,
}

const SIZES: [Size; 4] = [
    Size { name: "360p", width: 640, height: 360 },
    Size { name: "720p", width: 1_280, height: 720 },
    Size { name: "1080p", width: 1_920, height: 1_080 },
    Size { name: "4k", width: 3_840, height: 2_160 },
];
/// Rows begin at multiples of this.
const PITCH_BYTES: u32 = 256;
const FPS_MAX: u32 = 1_000;

impl Pictures {
    /// The rows of its pictures.
    #[must_use]
    pub fn rows(self) -> Rows {
        let pixel_bytes = if self.pixels == Pixels::Rgba { 4 } else { 1 };
        let Size { width, height, .. } = self.size;
        Rows { pitch_bytes: (pixel_bytes * width).next_multiple_of(PITCH_BYTES), width, height }
    }

    /// Bytes of a picture.
    #[must_use]
    pub fn bytes(self) -> u64 {
        if self.pixels == Pixels::Rgba { self.rows().rgba_bytes() } else { self.rows().nv12_bytes() }
    }

    /// The time from one picture to the next.
    #[must_use]
    pub fn period(self) -> Nanos {
        Nanos(1_000_000_000 / u64::from(self.fps))
    }
}

impl FromStr for Pictures {
    type Err = String;

    fn from_str(text: &str) -> Result<Pictures, String> {
        let cure = || {
            let names = SIZES.map(|size| size.name).join(", ");
            format!(
                "{text:?} is no stream of pictures such as 1080p60:nv12: a size ({names}), pictures a second from \
                     1 to {FPS_MAX}, and nv12 or rgba"
            )
        };
        let lower = text.to_ascii_lowercase();
        let (picture, pixels) = lower.split_once(':').unwrap_or((&lower, "nv12"));
        let pixels = match pixels {
            "nv12" => Pixels::Nv12,
            "rgba" => Pixels::Rgba,
            _ => return Err(cure()),
        };
        let named = |size: &Size| picture.strip_prefix(size.name).map(|fps| (*size, fps));
        let (size, fps) = SIZES.iter().find_map(named).ok_or_else(cure)?;
        let fps = fps.parse().ok().filter(|fps| (1..=FPS_MAX).contains(fps)).ok_or_else(cure)?;
        Ok(Pictures { size, fps, pixels })
    }
}

impl fmt::Display for Pictures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pixels = if self.pixels == Pixels::Rgba { "rgba" } else { "nv12" };
        write!(f, "{}{}:{pixels}", self.size.name, self.fps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_written() {
        for name in ["1080p60:nv12", "4k30:rgba", "720p120:nv12", "360p1:rgba"] {
            assert_eq!(name.parse::<Pictures>().unwrap().to_string(), name);
        }
        assert_eq!("4K30".parse::<Pictures>().unwrap().to_string(), "4k30:nv12");
        for wrong in ["", "1080p", "1080p0:nv12", "1080p60:", "60", "8k60", "1080p60:yuv", "1080p9999"] {
            assert!(wrong.parse::<Pictures>().unwrap_err().contains("1080p60:nv12"), "{wrong}");
        }
    }

    #[test]
    fn bytes_are_those_of_the_rows() {
        let bytes = |name: &str| name.parse::<Pictures>().unwrap().bytes();
        assert_eq!([bytes("1080p60:nv12"), bytes("1080p60:rgba")], [2_048 * 1_620, 7_680 * 1_080]);
        assert_eq!([bytes("4k30:nv12"), bytes("360p60:nv12")], [3_840 * 3_240, 768 * 540]);
    }
}
