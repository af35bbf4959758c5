use std::collections::BTreeMap;

use super::*;
use crate::record::{Classes, MovedRecord};

/// A part whose figures are all different.
fn part(mut figure: u64) -> DeviceRecord {
    let mut next = || {
        figure += 1;
        figure
    };
    let mut class = || Amount { copies: next(), bytes: next() };
    let copies = Classes { urgent: class(), kernel: class(), engine: class(), staged: class() };
    let [guarded, on_device, between_devices] = [(); 3].map(|()| class());
    DeviceRecord {
        device: 0,
        name: "a device".to_owned(),
        pci: "0000:01:00.0".to_owned(),
        contexts: next(),
        copies,
        moved: vec![MovedRecord { direction: "h2d".into(), way: "kernel".into(), copies: next(), bytes: next() }],
        passed_on: vec![ReasonRecord { reason: "small".into(), copies: next(), bytes: next() }],
        unstaged_bytes: next(),
        staged_us: next(),
        guarded,
        guard_rescues: next(),
        first_launches: next(),
        lost: next(),
        stand_downs: next(),
        resumptions: next(),
        on_device,
        between_devices,
        chunks: next(),
        rescues: next(),
        boosts: next(),
        errors: next(),
        stood_down: false,
        latencies: Vec::new(),
    }
}

/// The numbers of a part, as its report has them, by their paths.
fn numbers(part: &DeviceRecord) -> BTreeMap<String, u64> {
    fn walk(value: &serde_json::Value, path: &str, numbers: &mut BTreeMap<String, u64>) {
        match value {
            serde_json::Value::Object(fields) => {
                fields.iter().for_each(|(name, value)| walk(value, &format!("{path}.{name}"), numbers));
            }
            serde_json::Value::Array(items) => items.iter().for_each(|item| walk(item, path, numbers)),
            other => drop(other.as_u64().map(|number| numbers.insert(path.to_owned(), number))),
        }
    }
    let mut all = BTreeMap::new();
    walk(&serde_json::to_value(part).unwrap(), "part", &mut all);
    all
}

/// Whichever figures a part has, those of two contexts of a device are added up.
#[test]
fn every_figure_of_two_contexts_is_added() {
    let (one, other) = (part(100), part(10_000));
    let mut sum = one.clone();
    sum.add(&other);
    let [one, other, sum] = [&one, &other, &sum].map(numbers);
    assert!(one.len() > 25, "{one:?}");
    for (path, number) in &sum {
        assert_eq!(*number, one[path] + other[path], "{path}");
    }
    let (fine, down) = (part(0), DeviceRecord { stood_down: true, ..part(0) });
    for (one, other) in [(&fine, &down), (&down, &fine), (&down, &down)] {
        let mut sum = one.clone();
        sum.add(other);
        assert!(sum.stood_down);
    }
}
