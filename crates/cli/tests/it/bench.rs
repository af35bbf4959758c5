//! `overtake bench` as a user runs it, on the software GPU, with the least time that gives every row a figure.

use crate::common::Folder;
use crate::measured::{bench, bench_in, bench_with, number, row, rows};
use serde_json::Value;

#[test]
fn latency_compares_methods_with_both_references() {
    let arguments = "latency --direction h2d --seconds 0.2 --bulk-bytes 64M --methods native,native+priority,chunks,\
                     engine/hold,engine/bracket,engine/atomics,kernel/hold,express,express+chunks";
    let run = bench("latency", arguments);
    assert_eq!(rows(&run).len(), 12);
    let times = |method: &str| number(row(&run, method), "p50_us") / number(row(&run, method), "idle_p50_us");
    assert!(times("native") > 50.0 && times("engine/hold") < 10.0 && times("kernel/hold") < 2.0, "{run}");
    let chunk = number(row(&run, "engine/hold"), "chunk_bytes");
    assert!((1e6..4e6).contains(&chunk), "{chunk}");
    assert_eq!(row(&run, "kernel/hold")["transport"], "kernel");
    assert_eq!(row(&run, "kernel/hold")["urgent_transport"], "engine");
    assert_eq!(row(&run, "engine/bracket")["emulation"], "bracket");
    assert!(row(&run, "raw")["p50_us"].is_null() && row(&run, "idle")["bulk_gbps"].is_null());
}

#[test]
fn a_burst_is_one_sample() {
    let run = bench("burst", "burst --direction h2d --seconds 0.2 --bulk-bytes 64M --methods kernel/hold --burst 16");
    let (idle, ours) = (row(&run, "idle"), row(&run, "kernel/hold"));
    assert_eq!(ours["burst"], 16);
    assert!(number(idle, "p50_us") > 40.0, "16 copies take longer than one: {idle}");
    assert!(number(ours, "p50_us") < 2.0 * number(idle, "p50_us"), "{ours}");
}

#[test]
fn overhead_reports_the_cost_of_a_call() {
    let run = bench("overhead", "overhead --direction h2d --seconds 0.2 --bulk-bytes 64M");
    let call = |method: &str| {
        let its = |row: &&Value| row["method"] == method && row["call_ns"].is_number();
        number(rows(&run).iter().find(its).unwrap(), "call_ns")
    };
    assert!(call("overtake, armed") > call("native"), "raising a word is not free");
    assert!(call("overtake, alone") < call("overtake, armed"));
    assert!(number(row(&run, "raw"), "bulk_gbps") > 45.0);
}

#[test]
fn bandwidth_by_size() {
    let arguments = "bandwidth --direction d2h --seconds 0.2 --bulk-bytes 1M,64M --methods engine/hold,kernel/hold";
    let run = bench("bandwidth", arguments);
    assert_eq!(rows(&run).len(), 6);
    assert!(rows(&run).iter().all(|row| number(row, "bulk_gbps") <= number(row, "raw_gbps") * 1.001), "{run}");
}

#[test]
fn pairs_are_measured_and_written_as_a_matrix() {
    let (folder, devices) = (Folder::new("pairs"), [("OVERTAKE_SOFT_DEVICES", "2")]);
    let csv = folder.path().join("pairs.csv");
    let out = bench_in(&folder, "bandwidth --pairs --bulk-bytes 64M --json - --csv pairs.csv", &devices);
    let run: Value = serde_json::from_str(&out).unwrap();
    let pairs = run["pairs"].as_array().unwrap();
    let of = |from: i64, to: i64, figure: &str| {
        let pair = pairs.iter().find(|pair| pair["from"] == from && pair["to"] == to).unwrap();
        if pair[figure]["rounds"] == 5 { number(&pair[figure], "median") } else { f64::NAN }
    };
    assert!(pairs.len() == 8 && (4.0..20.0).contains(&of(0, 1, "latency_us")), "{run}");
    assert!([of(-1, 1, "gbps"), of(0, -1, "gbps")].iter().all(|gbps| (53.0..56.0).contains(gbps)), "{run}");
    assert!((360.0..376.0).contains(&of(0, 1, "gbps")) && of(1, 1, "gbps") > 1_000.0, "{run}");
    let written = std::fs::read_to_string(csv).unwrap();
    assert!(written.starts_with("From,To,Bandwidth,Latency\n-1,0,5") && written.lines().count() == 9, "{written}");
}

#[test]
fn an_urgent_copy_between_devices_passes_bulk() {
    let folder = Folder::new("peers");
    let arguments = "peers --seconds 0.2 --bulk-bytes 256M --json -";
    let out = bench_in(&folder, arguments, &[("OVERTAKE_SOFT_DEVICES", "2")]);
    let run: Value = serde_json::from_str(&out).unwrap();
    let methods = ["idle", "raw", "native", "native+priority", "engine/hold", "kernel/hold", "native again"];
    assert_eq!(rows(&run).iter().map(|row| row["method"].as_str().unwrap()).collect::<Vec<_>>(), methods);
    assert!(rows(&run).iter().all(|row| row["direction"] == "p2p"), "{run}");
    let p50 = |method| number(row(&run, method), "p50_us");
    assert!(p50("engine/hold") < p50("native") / 2.0 && p50("kernel/hold") < p50("native") / 2.0, "{run}");
    for method in ["engine/hold", "kernel/hold"] {
        let (bulk, raw) = (number(row(&run, method), "bulk_gbps"), number(row(&run, method), "raw_gbps"));
        assert!(bulk >= 0.8 * raw, "{method}: {bulk} of {raw}");
    }
}

#[test]
fn latency_follows_priority() {
    let arguments = "latency --priorities 3 --direction h2d --seconds 0.1 --bulk-bytes 64M --high-bytes 1M \
                     --methods kernel/hold";
    let run = bench("priorities", arguments);
    let of = |priority: u64| number(rows(&run).iter().find(|row| row["priority"] == priority).unwrap(), "p50_us");
    assert!(of(3) < of(2) && of(2) < of(1), "{run}");
}

#[test]
fn endless_urgent_copies_leave_bulk_something() {
    let arguments = "latency --endless --direction d2h --seconds 0.6 --high-bytes 1M --methods engine/hold";
    let run = bench_with("endless", arguments, &[("OVERTAKE_UNLISTED", "bulk_share=0.2")]);
    let row = row(&run, "engine/hold");
    assert_eq!(row["share_configured"], 0.2);
    let got = number(row, "bulk_gbps") / number(row, "raw_gbps");
    assert!((0.1..0.9).contains(&got), "{row}");
}

#[test]
fn methods_that_cannot_be_measured_are_left_out_with_a_note() {
    let folder = Folder::new("left-out");
    let arguments = "latency --direction h2d --seconds 0.1 --bulk-bytes 16M --methods engine/hold";
    let out = bench_in(&folder, arguments, &[("CUDA_DEVICE_MAX_CONNECTIONS", "1")]);
    assert!(out.contains("note: engine/hold is left out: "), "{out}");
    assert!(!out.contains("\nh2d        engine/hold"), "{out}");
}

#[test]
fn tasks_are_measured_against_streams_by_hand() {
    let run = bench("tasks", "tasks --parts chains,ends --seconds 0.5 --rounds 1 --bulk-bytes 16M");
    let by_hand = |method: &str| number(&row(&run, method)["ratio"], "median");
    assert!(by_hand("one stream") > 2.0, "eight streams are faster than one: {run}");
    assert!(by_hand("dispatcher") < 1.5, "{run}");
    let ends: Vec<&Value> = rows(&run).iter().filter(|row| row["method"] == "end to function").collect();
    assert_eq!(ends.len(), 2, "{run}");
    assert!(ends.iter().all(|row| number(row, "samples") >= 20.0 && number(row, "p50_us") < 100.0), "{run}");
    let control: Vec<&Value> = rows(&run).iter().filter(|row| row["method"] == "end to event, by hand").collect();
    assert!(control.len() == 2 && control.iter().all(|row| number(row, "samples") >= 20.0), "{run}");
    let ratios = ends.iter().map(|row| number(&row["ratio"], "median"));
    let medians = ends.iter().zip(&control).map(|(ours, hand)| number(ours, "p50_us") / number(hand, "p50_us"));
    assert!(ratios.zip(medians).all(|(ratio, of_all)| (ratio / of_all - 1.0).abs() < 0.01), "one round: {run}");
}

#[test]
fn bulk_gives_way_to_urgent_tasks_and_to_nothing_else() {
    let run = bench("arming", "tasks --parts arming --seconds 1 --rounds 1 --bulk-bytes 16M");
    for direction in ["h2d", "d2h"] {
        let share = |phase: &str| {
            let its = |row: &&Value| row["method"] == phase && row["direction"] == direction;
            number(&rows(&run).iter().find(its).unwrap()["ratio"], "median")
        };
        assert!(share("before urgent tasks") > 0.99 && share("after urgent tasks") > 0.99, "{run}");
        assert!(share("beside urgent tasks") < 0.98, "urgent tasks cost bulk something: {run}");
        assert!((0.99..1.01).contains(&share("raw again")), "the control: {run}");
    }
}

#[test]
fn graphs_lie_between_their_bound_and_one_computation_after_the_other() {
    let run = bench("graph", "graph --parts programs --seconds 0.1 --rounds 1 --bytes 4M");
    for program in ["VEC", "BS", "IMG", "ML", "HITS", "DL"] {
        let of = |method: &str| {
            let is_it = |row: &&Value| row["method"] == method && row["setting"] == program;
            number(rows(&run).iter().find(is_it).unwrap(), "p50_us")
        };
        let (bound, serial, hand, ours) = (of("bound"), of("serial"), of("by hand"), of("automatic"));
        assert!(bound <= 1.001 * hand && bound <= ours, "{program}: {bound} {hand} {ours}");
        assert!(hand < serial && ours < serial && ours < 1.05 * hand, "{program}: {hand} {ours} {serial}");
        assert!((0.98..1.02).contains(&(of("serial again") / serial)), "{program}: the control");
        let (copies, computations) = (of("copies by hand"), of("computations by hand"));
        assert!(copies < hand && computations < hand && hand < copies + computations, "{program}: {run}");
    }
}

#[test]
fn graphs_make_the_right_bytes() {
    let run = bench("graph-check", "graph --parts programs --seconds 0.1 --rounds 1 --bytes 64K --check");
    let compared: Vec<&Value> = rows(&run).iter().filter(|row| !row["checked"].is_null()).collect();
    assert_eq!(compared.len(), 6 * 4);
    assert!(compared.iter().all(|row| row["checked"] == 1 && row["wrong"] == 0), "{run}");
}

#[test]
fn programs_in_parts_are_faster_on_several_devices_than_on_one() {
    for (devices, bytes, least_gain) in [("2", "4M", 1.5), ("4", "4M", 2.0), ("8", "16M", 4.5)] {
        let folder = Folder::new(&format!("graph-devices-{devices}"));
        let arguments = format!(
            "graph --parts devices --bytes {bytes} --seconds 0.1 --rounds 1 --devices {devices} \
             --selections round-robin,min-transfer-size --json -"
        );
        let out = bench_in(&folder, &arguments, &[("OVERTAKE_SOFT_DEVICES", devices)]);
        let run: Value = serde_json::from_str(&out).unwrap();
        assert_eq!(rows(&run).len(), 5 * 4, "one device twice, and the two selections: {run}");
        let row = |method: &str, program: &str| {
            let is_it = |row: &&Value| row["method"] == method && row["setting"].as_str().unwrap().starts_with(program);
            rows(&run).iter().find(is_it).unwrap().clone()
        };
        let of = |method: &str, program: &str| number(&row(method, program)["ratio"], "median");
        assert!(["VEC", "BS"].iter().all(|program| of("round-robin", program) < 0.7), "{run}");
        let programs = ["VEC", "BS", "ML", "CG", "MUL"].map(|program| of("min-transfer-size", program));
        let gain = programs.iter().product::<f64>().powf(-0.2);
        assert!(gain > least_gain && programs.iter().all(|ratio| *ratio < 1.0), "{gain} on {devices}: {run}");
        let is_apart = |way| row(way, "ML")["setting"].as_str().unwrap().ends_with(" 0 B by link");
        assert!(is_apart("single-gpu") && !is_apart("round-robin"), "{run}");
    }
}

#[test]
fn an_urgent_computation_overtakes_the_bulk_of_its_graph() {
    let run = bench("graph-urgent", "graph --parts urgent --bulk-bytes 64M --seconds 0.2 --rounds 1");
    let by_idle = |method: &str| number(&row(&run, method)["ratio"], "median");
    assert!(by_idle("graph") < 1.3, "{run}");
    assert!(by_idle("no priority") > 2.0 * by_idle("graph"), "{run}");
    assert!(by_idle("ordered before submission") > by_idle("no priority"), "it stands behind five transfers: {run}");
    // It is behind one transfer or two, of 1.2 ms each.
    let waits_us = number(row(&run, "graph, behind a transfer of bulk"), "p50_us");
    assert!((500.0..3000.0).contains(&waits_us), "{run}");
    let share = |method: &str| number(row(&run, method), "bulk_gbps") / number(row(&run, "raw"), "bulk_gbps");
    assert!(share("graph") > 0.8 && share("no priority") > 0.9, "{run}");
}

#[test]
fn pageable_compares_the_driver_with_staging() {
    let arguments = "pageable --sizes 64K,8M --bulk-bytes 16M --rounds 2 --seconds 0.2 --set staging_threads=6";
    let run = bench("pageable", arguments);
    for direction in ["h2d", "d2h"] {
        let of = |method: &str, bytes: u64, setting: &str| {
            let is_it = |row: &&Value| {
                row["direction"] == direction
                    && row["method"] == method
                    && row["bulk_bytes"] == bytes
                    && row["setting"].as_str().unwrap_or("") == setting
            };
            rows(&run).iter().find(is_it).unwrap_or_else(|| panic!("no row of {method}, {bytes}, {setting} in {run}"))
        };
        let [faster, small] = [8 << 20, 64 << 10].map(|bytes| number(&of("staged", bytes, "")["ratio"], "median"));
        assert!(faster > 2.0 && (0.9..1.1).contains(&small), "{direction}: {faster} times, {small} times");
        for kind in ["pageable copy", "pinned copy"] {
            assert!(number(of("staged", 16 << 20, kind), "samples") > 10.0);
            let gbps = |method: &str| number(of(method, 16 << 20, kind), "bulk_gbps");
            assert!(gbps("staged") > 2.0 * gbps("native"));
        }
    }
}
