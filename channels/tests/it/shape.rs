//! Shapes: which of them are one run of bytes, and parts of them.

use overtake_channels::{Shape, Side, chunk};
use priority::Direction;

const TARGET: u64 = 1 << 20;
const SOURCE: u64 = 1 << 30;

/// 10 bytes a row, with pitches between rows and between slices on both sides.
fn shape(rows: u64, depth: u64, target: (u64, u64), source: (u64, u64)) -> Shape {
    let side = |address, (row_pitch_bytes, slice_pitch_bytes)| {
        Side::unified(address).pitched(row_pitch_bytes, slice_pitch_bytes)
    };
    Shape { target: side(TARGET, target), source: side(SOURCE, source), width_bytes: 10, rows, depth }
}

#[test]
fn rows_that_touch_on_both_sides_become_one_run() {
    let run = |bytes| Shape::linear(TARGET, SOURCE, bytes);
    assert_eq!(shape(1, 1, (16, 99), (32, 0)).flattened(), run(10), "one row has no neighbour");
    assert_eq!(shape(4, 1, (10, 7), (10, 9)).flattened(), run(40), "rows touch, and there is one slice");
    assert_eq!(shape(4, 3, (10, 40), (10, 40)).flattened(), run(120));
    assert_eq!(shape(1, 3, (10, 10), (10, 10)).flattened(), run(30));
}

#[test]
fn rows_that_touch_on_one_side_only_stay_apart() {
    for (target, source) in [((10, 40), (16, 64)), ((16, 64), (10, 40))] {
        let rows = shape(4, 1, target, source);
        assert_eq!(rows.flattened(), rows);
    }
    let slices_apart = shape(4, 3, (10, 40), (10, 50));
    assert_eq!(slices_apart.flattened(), slices_apart, "rows touch, slices on one side only");
    let slices_touch = shape(4, 3, (16, 64), (32, 128));
    assert_eq!(slices_touch.flattened(), Shape { rows: 12, depth: 1, ..slices_touch }, "as many rows of one slice");
    assert!(!slices_touch.is_linear() && shape(1, 1, (0, 0), (0, 0)).is_linear());
    assert!(!shape(1, 2, (0, 0), (0, 0)).is_linear() && !shape(2, 1, (0, 0), (0, 0)).is_linear());
}

#[test]
fn parts_lie_where_they_lay_in_the_whole() {
    let whole = shape(4, 3, (16, 100), (32, 200));
    let part = whole.rows_from(2, 1, 3);
    assert_eq!((part.target.address, part.source.address), (TARGET + 200 + 16, SOURCE + 400 + 32));
    assert_eq!((part.rows, part.depth, part.bytes(), whole.bytes()), (3, 1, 30, 120));
    let run = Shape::linear(TARGET, SOURCE, 10).bytes_from(4, 6);
    assert_eq!(run, Shape::linear(TARGET + 4, SOURCE + 4, 6));
    assert_eq!(run.target.pointer().0, TARGET + 4);
}

#[cfg(debug_assertions)]
#[test]
fn parts_beyond_the_whole_are_a_defect() {
    let panics = |part: fn() -> Shape| std::panic::catch_unwind(part).is_err();
    assert!(panics(|| Shape::linear(0, 0, 10).bytes_from(5, 6)));
    assert!(panics(|| shape(2, 1, (16, 32), (16, 32)).bytes_from(0, 5)), "no run");
    assert!(panics(|| shape(2, 2, (16, 32), (16, 32)).rows_from(2, 0, 1)), "no such slice");
    assert!(panics(|| shape(2, 2, (16, 32), (16, 32)).rows_from(1, 1, 2)), "no such row");
}

#[test]
fn a_copy_is_cut_only_if_it_must_be() {
    let whole = shape(4, 3, (16, 100), (32, 200));
    assert_eq!(chunk::cut(&whole, 120), [whole]);
    assert_eq!(chunk::cut(&whole, 119).len(), 3, "a slice each");
    assert_eq!(chunk::cut(&whole, 10).len(), 12, "a row each");
    assert_eq!(chunk::cut(&whole, 9).len(), 24);
    assert_eq!(chunk::cut(&Shape::linear(0, 0, 0), 10), []);
}

#[test]
fn directions_have_names() {
    use Direction::{DeviceToDevice, DeviceToHost, HostToDevice, Peer};
    let names = [HostToDevice, DeviceToHost, DeviceToDevice, Peer].map(Direction::name);
    assert_eq!(names, ["h2d", "d2h", "d2d", "p2p"]);
}
