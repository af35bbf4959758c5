//! The conditions on numbers of several parts.

/// Rates that are divided by.
pub(super) fn rates(rates: &[(&str, f64)]) -> Result<(), String> {
    match rates.iter().find(|(_, rate)| !(rate.is_finite() && *rate > 0.0)) {
        Some((name, _)) => Err(format!("{name} must be a positive number")),
        None => Ok(()),
    }
}

/// Numbers of things, and times, of which there is at least one.
pub(super) fn counts(counts: &[(&str, u64)]) -> Result<(), String> {
    match counts.iter().find(|(_, count)| *count == 0) {
        Some((name, _)) => Err(format!("{name} must be at least 1")),
        None => Ok(()),
    }
}
