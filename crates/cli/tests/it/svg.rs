//! Pictures of `overtake bench` are drawn, or refused before anything is measured.

use crate::common::{Folder, overtake, succeed, text};

#[test]
fn a_picture_is_drawn_or_refused() {
    let folder = Folder::new("pictures");
    let others = ["overhead", "bandwidth", "pageable", "peers", "video", "tasks", "graph"].map(|name| vec![name]);
    for bench in others.into_iter().chain([vec!["latency", "--endless"]]) {
        let arguments = [&["bench"], &bench[..], &["--seconds", "0.1", "--svg", "f.svg"]].concat();
        let output = overtake(&folder, &arguments, &[("OVERTAKE_BACKEND", "soft")]);
        assert_eq!(output.status.code(), Some(2), "{bench:?}: {}", text(&output.stdout));
        assert!(text(&output.stderr).contains("--svg"), "{}", text(&output.stderr));
    }
    let drawing = ["bench", "burst", "--seconds", "0.1", "--methods", "engine/hold", "--svg", "b.svg"];
    succeed(&folder, &drawing, &[("OVERTAKE_BACKEND", "soft")]);
    assert!(folder.path().join("b.svg").exists());
}
