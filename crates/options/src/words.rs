//! Values as users write them.

/// On or off.
pub(crate) fn switch(value: &str) -> Option<bool> {
    match value {
        "on" | "1" | "true" | "yes" => Some(true),
        "off" | "0" | "false" | "no" => Some(false),
        _ => None,
    }
}

/// Bytes, with an optional K, M or G (powers of 1024).
#[must_use]
pub fn size(value: &str) -> Option<u64> {
    let (digits, shift) = match value.as_bytes().last()? {
        b'K' | b'k' => (&value[..value.len() - 1], 10),
        b'M' | b'm' => (&value[..value.len() - 1], 20),
        b'G' | b'g' => (&value[..value.len() - 1], 30),
        _ => (value, 0),
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

/// A size in the form that [`size`] reads.
pub(crate) fn size_text(bytes: u64) -> String {
    let units = [(30, "G"), (20, "M"), (10, "K")];
    let fits = |(shift, _): &&(u32, &str)| bytes > 0 && bytes.trailing_zeros() >= *shift;
    units.iter().find(fits).map_or_else(|| bytes.to_string(), |(shift, unit)| format!("{}{unit}", bytes >> shift))
}

pub(crate) fn fraction(value: &str) -> Option<f64> {
    value.parse().ok().filter(|share| (0.0..=0.99).contains(share))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_take_suffixes() {
        assert_eq!((size("64K"), size("3"), size("2G")), (Some(65536), Some(3), Some(2 << 30)));
        assert_eq!((size("K"), size(""), size("99999999999G")), (None, None, None));
        for bytes in [0, 1, 1000, 1024, 1 << 20, 3 << 20, (1 << 20) + 1024, 5 << 30] {
            assert_eq!(size(&size_text(bytes)), Some(bytes));
        }
    }
}
