//! The cases of `graph/tests/cases`: the steps of the graph, to the letter, in both orders.

use std::collections::BTreeMap;
use std::path::Path;

use overtake_graph::Order;

/// A case: the script, and its events in each order.
struct Case {
    script: String,
    default: String,
    physx: String,
}

impl Case {
    fn read(text: &str) -> Case {
        let mut sections: BTreeMap<&str, String> = BTreeMap::new();
        let mut section = "script";
        for line in text.lines() {
            match line.strip_prefix("== ") {
                Some(name) => section = name,
                None if line.is_empty() => {}
                None => *sections.entry(section).or_default() += &format!("{line}\n"),
            }
        }
        let mut take = |name: &str| sections.remove(name);
        let (script, both) = (take("script").expect("a script"), take("both"));
        let [default, physx] = ["default", "physx-order"].map(|name| take(name).or_else(|| both.clone()));
        let missing = "what the script does";
        let case = Case { script, default: default.expect(missing), physx: physx.expect(missing) };
        assert_eq!(sections, BTreeMap::new(), "unknown sections");
        case
    }

    /// The trap that the default avoids and PhysX does not.
    fn corrects(&self) -> bool {
        self.script.lines().any(|line| line.starts_with("# corrects:"))
    }
}

fn cases() -> BTreeMap<String, Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let name = |file: &Path| file.file_stem().unwrap().to_string_lossy().into_owned();
    files.map(|file| (name(&file), Case::read(&std::fs::read_to_string(&file).unwrap()))).collect()
}

#[test]
fn every_case_does_what_its_file_says_in_both_orders() {
    let mut wrong = String::new();
    for (name, case) in cases() {
        for (order, expected) in [(Order::Default, &case.default), (Order::PhysX, &case.physx)] {
            let played = std::panic::catch_unwind(|| crate::script::play(&case.script, order));
            let played = played.unwrap_or_else(|_| "a panic, told above".to_owned());
            if played != *expected {
                wrong += &format!("---- {name}, {order:?}. Expected:\n{expected}---- Played:\n{played}\n");
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn each_correction_fails_in_the_order_of_physx() {
    let cases = cases();
    let corrections: Vec<_> = cases.iter().filter(|(_, case)| case.corrects()).collect();
    assert!(corrections.len() >= 10, "{}", corrections.len());
    for (name, case) in corrections {
        assert_ne!(crate::script::play(&case.script, Order::PhysX), case.default, "{name}");
    }
}

/// px-l is about copies in one launch, and belongs to the copy service.
#[test]
fn every_case_of_the_list_is_there() {
    let cases = cases();
    for letter in ('a'..='n').filter(|letter| !['j', 'l'].contains(letter)) {
        assert!(cases.keys().any(|name| name.starts_with(&format!("px-{letter}"))), "px-{letter}");
    }
}
