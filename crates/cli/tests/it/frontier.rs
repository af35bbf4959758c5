//! `overtake bench latency` over the scale of wait budgets, and behind bulk that always has copies queued.

use crate::common::Folder;
use crate::measured::{bench, bench_in, number, row, rows};
use serde_json::Value;

#[test]
fn the_frontier_trades_latency_for_bandwidth_and_is_drawn() {
    let folder = Folder::new("frontier");
    let arguments = "latency --frontier --direction d2h --seconds 0.2 --bulk-bytes 64M --methods engine/hold \
                     --chunk-us 20,80 --svg f.svg --html f.html --json f.json";
    let out = bench_in(&folder, arguments, &[]);
    assert!(out.contains("chunk_us=20") && out.contains("written: f.svg"), "{out}");
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    assert!(read("f.svg").contains("engine/hold") && read("f.html").contains("<table>"));
    let run: Value = serde_json::from_str(&read("f.json")).unwrap();
    let points: Vec<&Value> = rows(&run).iter().filter(|row| row["method"] == "engine/hold").collect();
    let [fine, coarse] = points[..] else { panic!("two settings are two rows: {run}") };
    assert!(number(fine, "p50_us") < number(coarse, "p50_us"), "{run}");
    assert!(number(fine, "bulk_gbps") < number(coarse, "bulk_gbps"), "{run}");
}

/// Bulk that always has a copy queued in its stream keeps the engine for good. Overtake passes it as any other.
#[test]
fn a_queue_of_bulk_starves_urgent_copies_of_cuda_alone() {
    let arguments = "latency --direction h2d --seconds 0.2 --bulk-bytes 16M \
                     --methods native+priority,native+queue,overtake";
    let run = bench("queue", arguments);
    let starved = |method| (row(&run, method)["starved"].as_u64().unwrap_or(0), number(row(&run, method), "samples"));
    let (waiting, all) = starved("native+queue");
    assert!(waiting > 0 && waiting as f64 == all, "{run}");
    assert_eq!([starved("native+priority").0, starved("overtake").0], [0, 0]);
    assert!(number(row(&run, "native+queue"), "p50_us") > 250_000.0, "{run}");
}

/// Overtake as it is: a wait for urgent copies gives bulk its rate.
#[test]
fn the_frontier_has_both_ends_of_the_scale_of_wait_budgets() {
    let run = bench("budgets", "latency --frontier --direction d2h --seconds 0.5 --bulk-bytes 2M --methods overtake");
    let at = |setting: &str| {
        let found = rows(&run).iter().find(|row| row["setting"] == setting);
        found.map(|row| (number(row, "p50_us"), number(row, "bulk_gbps"))).unwrap_or_else(|| panic!("{setting}: {run}"))
    };
    let [none, whole] = [0, 60].map(|us| at(&format!("wait_budget_us={us}")));
    assert!(none.0 < 30.0 && whole.0 < 100.0 && none.1 < whole.1, "{run}");
}
