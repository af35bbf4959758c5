//! A strict reader of Prometheus' text format, version 0.0.4.

use std::collections::{BTreeMap, BTreeSet};

/// The value of each series, by name and labels.
pub type Samples = BTreeMap<(String, BTreeMap<String, String>), f64>;

/// Reads a text, and checks what the format and its conventions demand.
pub fn read(text: &str) -> Samples {
    assert!(text.ends_with('\n'), "the last line ends");
    let (mut samples, mut kinds) = (Samples::new(), BTreeMap::<String, String>::new());
    let (mut helped, mut current) = (BTreeSet::new(), String::new());
    for line in text.lines() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, words) = help.split_once(' ').expect("a name and words");
            assert!(helped.insert(name.to_owned()) && !words.is_empty(), "one help for each: {line}");
        } else if let Some(kind) = line.strip_prefix("# TYPE ") {
            let (name, kind) = kind.split_once(' ').expect("a name and a type");
            assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
            assert!(helped.contains(name) && kinds.insert(name.to_owned(), kind.to_owned()).is_none(), "{line}");
            assert_eq!(kind == "counter", name.ends_with("_total"), "counters alone end so: {line}");
            current = name.to_owned();
        } else {
            let (name, labels, value) = sample(line);
            let suffixes: &[&str] = if kinds[&current] == "histogram" { &["_bucket", "_sum", "_count"] } else { &[""] };
            let is_of_group = suffixes.iter().any(|suffix| name == format!("{current}{suffix}"));
            assert!(is_of_group, "a sample stands below its type: {line}");
            assert!(samples.insert((name, labels), value).is_none(), "twice: {line}");
        }
    }
    check_histograms(&samples);
    samples
}

fn sample(line: &str) -> (String, BTreeMap<String, String>, f64) {
    let end = line.find(['{', ' ']).expect("a name");
    let (name, mut rest) = line.split_at(end);
    let is_name = |text: &str| {
        !text.is_empty()
            && !text.starts_with(|letter: char| letter.is_ascii_digit())
            && text.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
    };
    assert!(is_name(name), "{line}");
    let mut labels = BTreeMap::new();
    while let Some(label) = rest.strip_prefix(['{', ',']) {
        let (key, after) = label.split_once("=\"").expect("a label");
        let (value, after) = string(after);
        assert!(is_name(key) && labels.insert(key.to_owned(), value).is_none(), "{line}");
        rest = after.strip_prefix('}').unwrap_or(after);
        assert_eq!(after.starts_with('}'), !rest.starts_with(','), "{line}");
    }
    let value = rest.strip_prefix(' ').expect("a space before the value");
    (name.to_owned(), labels, value.parse().expect("a number"))
}

/// The text of a label up to its quotation mark, and what follows.
fn string(text: &str) -> (String, &str) {
    let (mut value, mut letters) = (String::new(), text.char_indices());
    while let Some((place, letter)) = letters.next() {
        match letter {
            '"' => return (value, &text[place + 1..]),
            '\\' => value.push(match letters.next().expect("an escaped letter").1 {
                'n' => '\n',
                other if ['\\', '"'].contains(&other) => other,
                other => panic!("\\{other} is no escape"),
            }),
            other => value.push(other),
        }
    }
    panic!("no end: {text}")
}

/// Buckets grow, and the last one is the count.
fn check_histograms(samples: &Samples) {
    let mut series = BTreeMap::<(String, BTreeMap<String, String>), Vec<(f64, f64)>>::new();
    for ((name, labels), value) in samples.iter().filter(|((name, _), _)| name.ends_with("_bucket")) {
        let mut labels = labels.clone();
        let bound = labels.remove("le").expect("a bound").replace("+Inf", "inf").parse().expect("a number");
        let name = name.trim_end_matches("_bucket").to_owned();
        series.entry((name, labels)).or_default().push((bound, *value));
    }
    for ((name, labels), mut buckets) in series {
        buckets.sort_by(|one, other| one.0.total_cmp(&other.0));
        assert!(buckets.is_sorted_by_key(|(_, count)| *count), "{name}: {buckets:?}");
        let (bound, last) = *buckets.last().unwrap();
        let of = |suffix: &str| samples[&(format!("{name}{suffix}"), labels.clone())];
        assert!(bound.is_infinite() && last == of("_count") && of("_sum") >= 0.0, "{name} {labels:?}");
    }
}

#[test]
fn faults_are_found() {
    let good = "# HELP a_total b\n# TYPE a_total counter\na_total{x=\"1,\\\"}\",y=\"\"} 2\n";
    assert_eq!(read(good).into_values().collect::<Vec<_>>(), [2.0]);
    for (from, to) in [
        ("counter", "gauge"),
        ("a_total{", "b_total{"),
        ("\\\"", "\\t"),
        ("} 2", "}2"),
        ("} 2", "} two"),
        (",y", ";y"),
        ("# HELP a_total b\n", ""),
        ("y=\"\"", "x=\"\""),
    ] {
        let bad = good.replacen(from, to, 1);
        assert!(std::panic::catch_unwind(|| read(&bad)).is_err(), "{bad}");
    }
}
