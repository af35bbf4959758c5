//! Rules: which copies have which priority. The first that matches decides.
//!
//! ```toml
//! [[rule]]
//! thread = "loader*"      # by the name of the calling thread
//! bytes_min = "256K"
//! priority = 1
//!
//! [[rule]]
//! library = "libnccl*"    # by the library that made the call
//! priority = "pass"       # leave it alone
//! ```

use overtake::{Direction, Priorities, Priority};

use crate::call::Call;

/// What is decided about a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It has this priority.
    At(Priority),
    /// It is left alone.
    Pass,
}

/// What a rule may ask about a copy that is not in the call itself. Asked only where a rule needs it.
pub trait Witness {
    /// The CUDA priority of its stream.
    fn stream_priority(&self) -> Option<i32>;
    /// The name of the calling thread.
    fn thread(&self) -> String;
    /// The file name of the library that made the call.
    fn library(&self) -> String;
}

/// One rule. What is not said matches everything.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    stream_priority: Option<i32>,
    bytes_min: u64,
    bytes_max: u64,
    direction: Option<Direction>,
    blocking: Option<bool>,
    thread: Option<String>,
    library: Option<String>,
    decision: Decision,
}

/// Rules, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    rules: Vec<Rule>,
}

impl Rules {
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rules.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Reads an array of tables.
    pub fn from_toml(value: &toml::Value, priorities: Priorities) -> Result<Rules, String> {
        let tables = value.as_array().ok_or("`rule` must be written as [[rule]]")?;
        let rule = |(index, value): (usize, &toml::Value)| {
            let table = value.as_table().ok_or_else(|| format!("rule {}: not a table", index + 1))?;
            Rule::from_toml(table, priorities).map_err(|error| format!("rule {}: {error}", index + 1))
        };
        Ok(Rules { rules: tables.iter().enumerate().map(rule).collect::<Result<_, String>>()? })
    }

    /// What the first rule that matches says.
    #[must_use]
    pub fn decide(&self, call: &Call, bytes: u64, witness: &dyn Witness) -> Option<Decision> {
        self.rules.iter().find(|rule| rule.matches(call, bytes, witness)).map(|rule| rule.decision)
    }
}

impl Rule {
    fn from_toml(table: &toml::Table, priorities: Priorities) -> Result<Rule, String> {
        let decision = match table.get("priority") {
            Some(toml::Value::String(word)) if word == "pass" => Decision::Pass,
            Some(toml::Value::Integer(number)) => {
                let priority = u8::try_from(*number).ok().and_then(Priority::new);
                let known = priority.filter(|priority| priorities.contains(*priority));
                let count = priorities.count();
                Decision::At(known.ok_or_else(|| format!("priority {number} is not one of 1..={count}"))?)
            }
            _ => return Err("needs `priority`, a number or \"pass\"".to_owned()),
        };
        let mut rule = Rule {
            stream_priority: None,
            bytes_min: 0,
            bytes_max: u64::MAX,
            direction: None,
            blocking: None,
            thread: None,
            library: None,
            decision,
        };
        for (name, value) in table.iter().filter(|(name, _)| *name != "priority") {
            rule.set(name, value)?;
        }
        Ok(rule)
    }

    fn set(&mut self, name: &str, value: &toml::Value) -> Result<(), String> {
        let refused = |expected: &str| format!("{name} cannot be {value}: expected {expected}");
        let text = || value.as_str().map(str::to_owned).ok_or_else(|| refused("a pattern such as \"loader*\""));
        let bytes = || {
            let number = value.as_integer().and_then(|number| u64::try_from(number).ok());
            let size = number.or_else(|| value.as_str().and_then(overtake::options::size));
            size.ok_or_else(|| refused("a size such as \"64K\""))
        };
        match name {
            "stream_priority" => {
                let number = value.as_integer().and_then(|number| i32::try_from(number).ok());
                self.stream_priority = Some(number.ok_or_else(|| refused("a CUDA stream priority such as -3"))?);
            }
            "bytes_min" => self.bytes_min = bytes()?,
            "bytes_max" => self.bytes_max = bytes()?,
            "direction" => {
                self.direction = match value.as_str() {
                    Some("h2d") => Some(Direction::HostToDevice),
                    Some("d2h") => Some(Direction::DeviceToHost),
                    _ => return Err(refused("\"h2d\" or \"d2h\"")),
                }
            }
            "kind" => {
                self.blocking = match value.as_str() {
                    Some("sync") => Some(true),
                    Some("async") => Some(false),
                    _ => return Err(refused("\"sync\" or \"async\"")),
                }
            }
            "thread" => self.thread = Some(text()?),
            "library" => self.library = Some(text()?),
            _ => {
                let known = "stream_priority, bytes_min, bytes_max, direction, kind, thread, library, priority";
                return Err(format!("knows no `{name}`; it can say {known}"));
            }
        }
        Ok(())
    }

    fn matches(&self, call: &Call, bytes: u64, witness: &dyn Witness) -> bool {
        (self.bytes_min..=self.bytes_max).contains(&bytes)
            && self.direction.is_none_or(|direction| call.direction() == Some(direction))
            && self.blocking.is_none_or(|blocking| call.blocking == blocking)
            && self.stream_priority.is_none_or(|priority| witness.stream_priority() == Some(priority))
            && self.thread.as_ref().is_none_or(|pattern| fits(pattern, &witness.thread()))
            && self.library.as_ref().is_none_or(|pattern| fits(pattern, &witness.library()))
    }
}

/// Whether a text fits a pattern in which `*` stands for any run of characters.
fn fits(pattern: &str, text: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut left) = text.strip_prefix(head) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let tail = parts.pop().unwrap_or("");
    for part in parts {
        match left.find(part) {
            Some(at) => left = &left[at + part.len()..],
            None => return false,
        }
    }
    left.ends_with(tail)
}

#[cfg(test)]
mod tests {
    use hal::{DevicePtr, Stream};
    use overtake::copy::Request;

    use super::*;

    struct Known;

    impl Witness for Known {
        fn stream_priority(&self) -> Option<i32> {
            Some(-2)
        }
        fn thread(&self) -> String {
            "loader-3".to_owned()
        }
        fn library(&self) -> String {
            "libtorch_cuda.so".to_owned()
        }
    }

    fn decide(rule: &str, bytes: u64) -> Option<Decision> {
        let table: toml::Table = format!("[[rule]]\n{rule}\n").parse().unwrap();
        let rules = Rules::from_toml(&table["rule"], Priorities::new(7).unwrap()).unwrap();
        let call = Call::new(Request::htod(DevicePtr(1), std::ptr::null(), bytes), Stream::LEGACY, false);
        rules.decide(&call, bytes, &Known)
    }

    #[test]
    fn every_condition_counts() {
        let five = Some(Decision::At(Priority::new(5).unwrap()));
        for holds in [
            "",
            "bytes_min = \"64K\"",
            "bytes_max = 65536",
            "direction = \"h2d\"",
            "kind = \"async\"",
            "stream_priority = -2",
            "thread = \"loader*\"",
            "thread = \"*er-3\"",
            "library = \"lib*cuda*\"",
        ] {
            assert_eq!(decide(&format!("{holds}\npriority = 5"), 65536), five, "{holds}");
        }
        for fails in [
            "bytes_min = \"65K\"",
            "bytes_max = 65535",
            "direction = \"d2h\"",
            "kind = \"sync\"",
            "stream_priority = -3",
            "thread = \"loader\"",
            "library = \"*cudart*\"",
        ] {
            assert_eq!(decide(&format!("{fails}\npriority = 5"), 65536), None, "{fails}");
        }
        assert_eq!(decide("priority = \"pass\"", 1), Some(Decision::Pass));
    }

    #[test]
    fn errors_name_the_rule_and_the_cure() {
        let read = |text: &str| {
            let table: toml::Table = text.parse().unwrap();
            Rules::from_toml(&table["rule"], Priorities::new(7).unwrap()).unwrap_err()
        };
        assert!(read("[[rule]]\nsize = 3\npriority = 1").contains("rule 1: knows no `size`"));
        assert!(
            read("[[rule]]\npriority = 1\n[[rule]]\npriority = 8").contains("rule 2: priority 8 is not one of 1..=7")
        );
        assert!(read("[[rule]]\nbytes_min = \"many\"\npriority = 1").contains("a size such as"));
    }
}
