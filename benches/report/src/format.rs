//! Numbers, sizes and spans of time, written for people.

/// A decimal number with commas between groups of three digits.
#[must_use]
pub fn grouped(value: f64, decimals: usize) -> String {
    let plain = format!("{:.*}", decimals, value.abs());
    let (whole, fraction) = plain.split_once('.').map_or((plain.as_str(), None), |(w, f)| (w, Some(f)));
    let mut text = String::new();
    // "-0" would be a lie about a number that rounds to nothing.
    if value < 0.0 && plain.bytes().any(|digit| (b'1'..=b'9').contains(&digit)) {
        text.push('-');
    }
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    if let Some(fraction) = fraction {
        text.push('.');
        text.push_str(fraction);
    }
    text
}

/// Microseconds for a table whose header names the unit: three significant digits below 100, whole numbers above.
#[must_use]
pub fn us(value: f64) -> String {
    grouped(value, if value.abs() < 99.95 { 1 } else { 0 })
}

/// Gigabytes a second (10^9 bytes) for a table whose header names the unit.
#[must_use]
pub fn gbps(value: f64) -> String {
    grouped(value, 1)
}

/// A span with the unit that suits it, as an axis or a label shows it: `8.7 us`, `120 us`, `8.45 ms`, `1.2 s`.
#[must_use]
pub fn span_us(value_us: f64) -> String {
    let (value, unit) = match value_us {
        0.0 => return "0".to_owned(),
        v if v < 0.9995 => (v * 1e3, "ns"),
        v if v < 999.5 => (v, "us"),
        v if v < 999.5e3 => (v / 1e3, "ms"),
        v => (v / 1e6, "s"),
    };
    let decimals = match value {
        v if v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        _ => 2,
    };
    let text = format!("{value:.decimals$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} {unit}")
}

/// The ratio of `value` to `reference`, as a headline shows it: `1.2x`, `35x`, `971x`.
#[must_use]
pub fn ratio(value: f64, reference: f64) -> String {
    let ratio = value / reference;
    if ratio.is_finite() { format!("{}x", grouped(ratio, if ratio < 9.95 { 1 } else { 0 })) } else { "-".to_owned() }
}

/// A size in binary units without fraction where it has none: `64 KiB`, `1.5 MiB`, `79.6 GiB`.
#[must_use]
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let decimals = usize::from(value.fract() >= 0.05 && unit > 0);
    format!("{value:.decimals$} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_group_thousands() {
        assert_eq!([8.66, 99.94, 99.96, 8454.4, 1234567.0].map(us), ["8.7", "99.9", "100", "8,454", "1,234,567"]);
        assert_eq!(grouped(-1234.5, 1), "-1,234.5");
        assert_eq!(grouped(-0.04, 1), "0.0");
    }

    #[test]
    fn spans_pick_a_unit() {
        let spans = [0.0, 0.5, 8.7, 10.0, 120.4, 999.6, 8454.0, 1_200_000.0].map(span_us);
        assert_eq!(spans, ["0", "500 ns", "8.7 us", "10 us", "120 us", "1 ms", "8.45 ms", "1.2 s"]);
    }

    #[test]
    fn ratios_and_sizes() {
        assert_eq!(ratio(8454.0, 8.7), "972x");
        assert_eq!(ratio(9.0, 8.0), "1.1x");
        assert_eq!(ratio(9.0, 0.0), "-");
        assert_eq!([512, 65536, 3 << 19, 85_520_809_984].map(size), ["512 B", "64 KiB", "1.5 MiB", "79.6 GiB"]);
    }
}
