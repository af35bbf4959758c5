//! What this binary is.

/// The version.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The commit it was built from, or `unknown`.
pub const COMMIT: &str = env!("OVERTAKE_COMMIT");
/// Both.
pub const LONG: &str = concat!(env!("CARGO_PKG_VERSION"), " (commit ", env!("OVERTAKE_COMMIT"), ")");

/// `13.0` for 13000, as the driver counts.
#[must_use]
pub fn driver_version(version: i32) -> String {
    format!("{}.{}", version / 1000, version % 1000 / 10)
}
