//! Pictures of `overtake bench` are drawn, or refused before anything is measured.

use crate::common::{Folder, overtake, succeed, text};

const SOFT: [(&str, &str); 1] = [("OVERTAKE_BACKEND", "soft")];

#[test]
fn every_bench_draws() {
    let folder = Folder::new("pictures");
    let benches: [(&[&str], &str); 9] = [
        (&["latency", "--methods", "overtake", "--direction", "h2d"], "p50"),
        (&["latency", "--endless", "--methods", "kernel/hold", "--direction", "h2d"], "bulk bandwidth"),
        (&["burst", "--methods", "engine/hold", "--direction", "h2d"], "p50"),
        (&["overhead", "--direction", "h2d"], "median latency, us"),
        (&["bandwidth", "--methods", "engine/hold", "--bulk-bytes", "4M"], "bulk bandwidth"),
        (&["pageable", "--sizes", "64K", "--rounds", "1", "--direction", "h2d"], "median latency, us"),
        (&["video", "--methods", "pipeline", "--rounds", "1", "--stream", "360p60:nv12"], "median latency, us"),
        (&["tasks", "--rounds", "1", "--parts", "ends"], "median latency, us"),
        (&["graph", "--rounds", "1", "--parts", "urgent", "--bulk-bytes", "16M"], "median latency, us"),
    ];
    for (bench, words) in benches {
        let arguments = [&["bench"], bench, &["--seconds", "0.2", "--svg", "f.svg"]].concat();
        succeed(&folder, &arguments, &SOFT);
        let path = folder.path().join("f.svg");
        let svg = std::fs::read_to_string(&path).unwrap();
        assert!(svg.contains(words) && svg.contains("<circle"), "{bench:?}: {svg}");
        std::fs::remove_file(path).unwrap();
    }
}

#[test]
fn a_matrix_is_no_picture() {
    let folder = Folder::new("matrix");
    let output = overtake(&folder, &["bench", "bandwidth", "--pairs", "--svg", "f.svg"], &SOFT);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
    let why = text(&output.stderr);
    assert!(why.contains("--pairs draws no picture") && why.contains("every bench without it draws"), "{why}");
    assert!(!folder.path().join("f.svg").exists());
}
