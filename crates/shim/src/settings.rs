//! What the environment and a file say.

use overtake::Options;
use overtake::Priorities;
use overtake::kernel::Workers;

use crate::rules::Rules;

/// Copies of at least so many bytes are bulk by the automatic rule.
const BULK_BYTES_MIN: u64 = 1 << 20;

/// Copies of at least so many bytes may go by (guarded) kernel.
const KERNEL_BYTES_MIN: u64 = 1 << 20;

/// CUDA's greatest stream priority lies five steps above its least; below those levels lie small copies and bulk.
const PRIORITIES: u8 = 7;

/// Everything that can be set for a process.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The copy layer's tunables.
    pub options: Options,
    /// From how many bytes on a copy is bulk, where nothing else says how urgent it is; `None`: such copies are left
    /// alone.
    pub bulk_bytes_min: Option<u64>,
    /// Which copies have which priority.
    pub rules: Rules,
    /// What could not be understood, for a person.
    pub complaints: Vec<String>,
}

impl Default for Settings {
    fn default() -> Settings {
        let options = Options {
            priorities: Priorities::new(PRIORITIES).expect("7 is a valid count"),
            channels: false,
            // Copy kernels that cannot begin would hang programs that fill the device and wait; below this size
            // nothing goes by kernel at all.
            kernel_bytes_min: KERNEL_BYTES_MIN,
            guard_bytes_min: Some(KERNEL_BYTES_MIN),
            // Bulk keeps more of its bandwidth, and an urgent copy waits a microsecond or two longer for what is in
            // flight.
            kernel_h2d: Workers { blocks: 4, warps: 16 },
            kernel_d2h: Workers { blocks: 2, warps: 9 },
            ..Options::default()
        };
        Settings { options, bulk_bytes_min: Some(BULK_BYTES_MIN), rules: Rules::default(), complaints: Vec::new() }
    }
}

impl Settings {
    /// Defaults, then the file of `OVERTAKE_CONFIG`, then that of `OVERTAKE_RULES`, then the variables. What cannot be
    /// understood is left at its default: a program must not fail for it.
    #[must_use]
    pub fn from_environment(lookup: impl Fn(&str) -> Option<String>) -> Settings {
        let mut settings = Settings::default();
        for name in ["OVERTAKE_CONFIG", "OVERTAKE_RULES"] {
            if let Some(path) = lookup(name) {
                match std::fs::read_to_string(&path) {
                    Ok(text) => settings.apply_toml(&text, name),
                    Err(error) => settings.complain(format!("{name}: cannot read {path}: {error}")),
                }
            }
        }
        if let Err(error) = settings.options.apply_variables(&lookup) {
            settings.complain(error.to_string());
        }
        if let Some(value) = lookup("OVERTAKE_BULK_BYTES_MIN") {
            settings.set_bulk("OVERTAKE_BULK_BYTES_MIN", &value);
        }
        settings
    }

    /// Applies a TOML text of options, `bulk_bytes_min` and `[[rule]]` tables.
    pub fn apply_toml(&mut self, text: &str, origin: &str) {
        let mut table: toml::Table = match text.parse::<toml::Table>() {
            Ok(table) => table,
            Err(error) => return self.complain(format!("{origin}: {}", error.message())),
        };
        if let Some(value) = table.remove("bulk_bytes_min") {
            self.set_bulk(origin, &plain(&value));
        }
        if let Some(rules) = table.remove("rule") {
            match Rules::from_toml(&rules, self.options.priorities) {
                Ok(rules) => self.rules = rules,
                Err(error) => self.complain(format!("{origin}: {error}")),
            }
        }
        for (name, value) in &table {
            if let Err(error) = self.options.set(name, &plain(value)) {
                self.complain(format!("{origin}: {error}"));
            }
        }
    }

    fn set_bulk(&mut self, origin: &str, value: &str) {
        match (value, overtake::options::size(value)) {
            ("off", _) => self.bulk_bytes_min = None,
            (_, Some(bytes)) if bytes > 0 => self.bulk_bytes_min = Some(bytes),
            _ => self
                .complain(format!("{origin}: bulk_bytes_min cannot be {value:?}: expected a size such as 1M, or off")),
        }
    }

    fn complain(&mut self, complaint: String) {
        self.complaints.push(complaint);
    }
}

/// A value as a variable would hold it.
fn plain(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => text.clone(),
        toml::Value::Boolean(on) => if *on { "on" } else { "off" }.to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_and_variables_have_their_say_in_this_order() {
        let mut settings = Settings::default();
        settings.apply_toml("bulk_bytes_min = \"2M\"\ntransport = \"native\"\n[[rule]]\npriority = 5\n", "a file");
        assert!(settings.complaints.is_empty(), "{:?}", settings.complaints);
        assert_eq!((settings.bulk_bytes_min, settings.rules.len()), (Some(2 << 20), 1));
        let lookup = |name: &str| match name {
            "OVERTAKE_BULK_BYTES_MIN" => Some("off".to_owned()),
            "OVERTAKE" => Some("off".to_owned()),
            _ => None,
        };
        let settings = Settings::from_environment(lookup);
        assert_eq!((settings.bulk_bytes_min, settings.options.enabled), (None, false));
    }

    #[test]
    fn nonsense_is_complained_about_and_harmless() {
        let mut settings = Settings::default();
        settings.apply_toml("bulk_bytes_min = 0\ntransprot = \"native\"\n[[rule]]\npriority = 99\n", "a file");
        assert_eq!(settings.complaints.len(), 3, "{:?}", settings.complaints);
        assert_eq!(settings.bulk_bytes_min, Some(BULK_BYTES_MIN));
        settings.apply_toml("no toml", "another");
        assert_eq!(settings.complaints.len(), 4);
    }
}
