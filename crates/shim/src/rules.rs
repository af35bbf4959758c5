//! Rules: the priorities of copies. The first rule that matches decides.
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

use std::fmt;
use std::ops::Range;

use copies::options::syntax;
use copies::{Direction, Priorities, Priority};
use os::fault::{Fault, Source};
use serde::Deserialize;
use serde::de::{self, Deserializer, Visitor};
use toml::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};

use crate::call::Call;

/// The decision of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The copy has this priority.
    At(Priority),
    /// The driver makes the copy.
    Pass,
}

/// Facts about a copy that are not in the call itself. Only rules that name them look them up.
pub trait Witness {
    /// The CUDA priority of its stream.
    fn stream_priority(&self) -> Option<i32>;
    /// The name of the calling thread.
    fn thread(&self) -> String;
    /// The file name of the library that made the call.
    fn library(&self) -> String;
}

/// A condition that a rule does not name holds for every copy.
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

/// A rule as a file has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    priority: Spanned<Wish>,
    stream_priority: Option<i32>,
    bytes_min: Option<Size>,
    bytes_max: Option<Size>,
    direction: Option<Way>,
    kind: Option<CallKind>,
    thread: Option<String>,
    library: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Way {
    H2d,
    D2h,
}

#[derive(PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum CallKind {
    Sync,
    Async,
}

/// A priority, or `"pass"`.
enum Wish {
    Number(i64),
    Pass,
}

/// A number of bytes, with or without a suffix.
struct Size(u64);

struct NumberOrWord<T> {
    expected: &'static str,
    number: fn(i64) -> Option<T>,
    word: fn(&str) -> Option<T>,
}

impl<T> Visitor<'_> for NumberOrWord<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<T, E> {
        (self.number)(number).ok_or_else(|| E::invalid_value(de::Unexpected::Signed(number), &self))
    }

    fn visit_str<E: de::Error>(self, word: &str) -> Result<T, E> {
        (self.word)(word).ok_or_else(|| E::invalid_value(de::Unexpected::Str(word), &self))
    }
}

impl<'de> Deserialize<'de> for Wish {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Wish, D::Error> {
        deserializer.deserialize_any(NumberOrWord {
            expected: "a priority, or \"pass\"",
            number: |number| Some(Wish::Number(number)),
            word: |word| (word == "pass").then_some(Wish::Pass),
        })
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Size, D::Error> {
        deserializer.deserialize_any(NumberOrWord {
            expected: "a size such as 65536 or \"64K\"",
            number: |number| u64::try_from(number).ok().map(Size),
            word: |word| copies::options::size(word).map(Size),
        })
    }
}

/// Rules, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    rules: Vec<Rule>,
}

impl Rules {
    /// The number of rules.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rules.len()
    }

    /// Whether every copy is left to the other settings.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Reads a TOML text of rules only.
    ///
    /// # Errors
    /// Every fault of the text.
    pub fn read_all(source: &Source<'_>, priorities: Priorities) -> Result<Rules, Vec<Fault>> {
        let table = DeTable::parse(source.text).map_err(|error| vec![syntax(source, &error)])?;
        let table = table.get_ref();
        if let Some((name, _)) = table.iter().find(|(name, _)| *name.get_ref() != "rule") {
            let why = format!("rules hold [[rule]] tables and nothing else, not {}", name.get_ref());
            return Err(vec![source.fault(name.span(), why)]);
        }
        table.get("rule").map_or(Ok(Rules::default()), |rules| Rules::read(source, rules, priorities))
    }

    /// Reads an array of tables.
    ///
    /// # Errors
    /// Every fault of the tables.
    pub fn read(
        source: &Source<'_>,
        value: &Spanned<DeValue<'_>>,
        priorities: Priorities,
    ) -> Result<Rules, Vec<Fault>> {
        let Some(tables) = value.get_ref().as_array() else {
            return Err(vec![source.fault(value.span(), "rules are written as [[rule]]")]);
        };
        let (mut rules, mut faults) = (Vec::new(), Vec::new());
        for (index, table) in tables.iter().enumerate() {
            match Rule::read(table, priorities) {
                Ok(rule) => rules.push(rule),
                Err((place, why)) => faults.push(source.fault(place, format!("rule {}: {why}", index + 1))),
            }
        }
        if faults.is_empty() { Ok(Rules { rules }) } else { Err(faults) }
    }

    /// The decision of the first rule that matches.
    #[must_use]
    pub fn decide(&self, call: &Call<'_>, bytes: u64, witness: &dyn Witness) -> Option<Decision> {
        self.rules.iter().find(|rule| rule.matches(call, bytes, witness)).map(|rule| rule.decision)
    }
}

impl Rule {
    /// Reads one table. The error is the place and the text of its fault.
    fn read(table: &Spanned<DeValue<'_>>, priorities: Priorities) -> Result<Rule, (Range<usize>, String)> {
        let written = Written::deserialize(ValueDeserializer::from(table.clone()));
        let written = written.map_err(|error| (error.span().unwrap_or(table.span()), error.message().to_owned()))?;
        let decision = match written.priority.get_ref() {
            Wish::Pass => Decision::Pass,
            Wish::Number(number) => {
                let priority = u8::try_from(*number).ok().and_then(Priority::new);
                let known = priority.filter(|priority| priorities.contains(*priority));
                let why = || format!("priority {number} is not one of 1..={}", priorities.count());
                Decision::At(known.ok_or_else(|| (written.priority.span(), why()))?)
            }
        };
        Ok(Rule {
            stream_priority: written.stream_priority,
            bytes_min: written.bytes_min.map_or(0, |bytes| bytes.0),
            bytes_max: written.bytes_max.map_or(u64::MAX, |bytes| bytes.0),
            direction: written.direction.map(|way| match way {
                Way::H2d => Direction::HostToDevice,
                Way::D2h => Direction::DeviceToHost,
            }),
            blocking: written.kind.map(|kind| kind == CallKind::Sync),
            thread: written.thread,
            library: written.library,
            decision,
        })
    }

    fn matches(&self, call: &Call<'_>, bytes: u64, witness: &dyn Witness) -> bool {
        (self.bytes_min..=self.bytes_max).contains(&bytes)
            && self.direction.is_none_or(|direction| call.direction() == Some(direction))
            && self.blocking.is_none_or(|blocking| call.native.is_blocking() == blocking)
            && self.stream_priority.is_none_or(|priority| witness.stream_priority() == Some(priority))
            && self.thread.as_ref().is_none_or(|pattern| fits(pattern, &witness.thread()))
            && self.library.as_ref().is_none_or(|pattern| fits(pattern, &witness.library()))
    }
}

/// Whether a text matches a pattern. `*` in a pattern stands for any characters.
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
    use copies::copy::{Native, Request};
    use hal::{DevicePtr, Stream};

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

    fn read(text: &str) -> Result<Rules, String> {
        let table = DeTable::parse(text).unwrap();
        let value = table.get_ref().get("rule").expect("a rule");
        let rules = Rules::read(&Source { origin: "r", text }, value, Priorities::new(7).unwrap());
        rules.map_err(|faults| faults.iter().map(|fault| format!("{fault}\n")).collect())
    }

    fn decide(rule: &str, bytes: u64) -> Option<Decision> {
        let rules = read(&format!("[[rule]]\n{rule}\n")).unwrap();
        let request = Request::htod(DevicePtr(1), std::ptr::null(), bytes);
        let native = Native::asynchronous(&|| 0);
        let call = Call { requests: &[request], stream: Stream::LEGACY, caller: 0, native: &native };
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
    fn faults_name_the_rule_the_place_and_the_cure() {
        let first_line = |text: &str| read(text).unwrap_err().lines().next().unwrap_or_default().to_owned();
        for (text, expected) in [
            ("[[rule]]\nsize = 3\npriority = 1", "r:2:1: rule 1: unknown field `size`, expected one of `priority`"),
            ("[[rule]]\npriority = 1\n[[rule]]\npriority = 8", "r:4:12: rule 2: priority 8 is not one of 1..=7"),
            (
                "[[rule]]\nbytes_min = \"many\"\npriority = 1",
                "r:2:13: rule 1: invalid value: string \"many\", expected a size",
            ),
            ("[[rule]]\nbytes_max = -1\npriority = 1", "r:2:13: rule 1: invalid value: integer `-1`, expected a size"),
            (
                "[[rule]]\ndirection = \"up\"\npriority = 1",
                "r:2:13: rule 1: unknown variant `up`, expected `h2d` or `d2h`",
            ),
            (
                "[[rule]]\npriority = \"no\"",
                "r:2:12: rule 1: invalid value: string \"no\", expected a priority, or \"pass\"",
            ),
            ("[[rule]]\nthread = 3\npriority = 1", "r:2:10: rule 1: invalid type: integer `3`, expected a string"),
            ("[[rule]]\nthread = \"a\"", "r:1:1: rule 1: missing field `priority`"),
            ("rule = 3", "r:1:8: rules are written as [[rule]]"),
        ] {
            let said = first_line(text);
            assert!(said.starts_with(expected), "{text:?}: {said}");
        }
    }

    #[test]
    fn every_wrong_rule_is_told() {
        assert_eq!(read("[[rule]]\npriority = 9\n[[rule]]\npriority = 8\n").unwrap_err().matches("^").count(), 2);
    }
}
