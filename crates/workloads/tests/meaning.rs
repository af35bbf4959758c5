//! Each kernel gives the bytes of its reference: on the software GPU, and on a GPU with `OVERTAKE_BACKEND=cuda`.

mod bed;

use bed::Bed;
use hal::DevicePtr;
use overtake_workloads::{Argument, Picture, Rows, Work, reference};

/// So many bytes that look random.
fn bytes(count: u64, seed: u64) -> Vec<u8> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    (0..count).map(|_| next()).collect()
}

/// Floats between -1 and 1, and their bytes.
fn floats(count: usize, seed: u64) -> (Vec<f32>, Vec<u8>) {
    let floats: Vec<f32> = bytes(count as u64, seed).into_iter().map(|byte| f32::from(byte) / 127.5 - 1.0).collect();
    let bytes = to_bytes(&floats);
    (floats, bytes)
}

fn to_bytes(floats: &[f32]) -> Vec<u8> {
    floats.iter().flat_map(|float| float.to_le_bytes()).collect()
}

/// Sizes that fill blocks, and sizes that do not.
const SIZES: [(u32, u32); 4] = [(64, 16), (33, 9), (1, 1), (130, 46)];

fn padded(width: u32, height: u32) -> Rows {
    Rows { pitch_bytes: width * 4 + 12, width, height }
}

#[test]
fn add() {
    let bed = Bed::new();
    for count in [1_u32, 255, 4_096, 300_001] {
        let ((left, left_bytes), (right, right_bytes)) = (floats(count as usize, 1), floats(count as usize, 2));
        let sum = bed.upload(&vec![0; 4 * count as usize]);
        bed.launch(&Work::Add { left: bed.upload(&left_bytes), right: bed.upload(&right_bytes), sum, count });
        let mut expected = vec![0.0; count as usize];
        reference::add(&left, &right, &mut expected);
        assert!(bed.download(sum, 4 * count as usize) == to_bytes(&expected), "{count} floats");
    }
}

#[test]
fn sum() {
    let bed = Bed::new();
    for count in [1_u32, 31, 300_001] {
        let values = bytes(4 * u64::from(count), 3);
        let numbers: Vec<u32> = values.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
        let total = bed.upload(&5_u64.to_le_bytes());
        bed.launch(&Work::Sum { values: bed.upload(&values), total, count });
        assert_eq!(bed.download(total, 8), (5 + reference::sum(&numbers)).to_le_bytes(), "{count} numbers");
    }
}

#[test]
fn multiply() {
    let bed = Bed::new();
    for side in [1_u32, 7, 64, 97] {
        let count = (side * side) as usize;
        let ((left, left_bytes), (right, right_bytes)) = (floats(count, 4), floats(count, 5));
        let product = bed.upload(&vec![0; 4 * count]);
        bed.launch(&Work::Multiply { left: bed.upload(&left_bytes), right: bed.upload(&right_bytes), product, side });
        let mut expected = vec![0.0; count];
        reference::multiply(&left, &right, &mut expected, side);
        assert!(bed.download(product, 4 * count) == to_bytes(&expected), "{side} rows");
    }
}

/// Draws into a picture that was full of one byte: the bytes between its rows stay.
fn draws(bed: &Bed, rows: Rows, work: impl FnOnce(Picture) -> Work, expected: impl FnOnce(&mut [u8])) {
    let mut wanted = vec![0xa5; rows.rgba_bytes() as usize];
    let target = Picture { at: bed.upload(&wanted), rows };
    bed.launch(&work(target));
    expected(&mut wanted);
    let found = bed.download(target.at, wanted.len());
    let differs = found.iter().zip(&wanted).position(|(found, wanted)| found != wanted);
    assert_eq!(differs, None, "the first byte that differs in a picture of {rows:?}");
}

#[test]
fn colour() {
    let bed = Bed::new();
    for (width, height) in SIZES {
        let (width, height) = (width.next_multiple_of(2), height.next_multiple_of(2));
        let (rows, source_pitch_bytes) = (padded(width, height), width + 6);
        let source = bytes(Rows { pitch_bytes: source_pitch_bytes, ..rows }.nv12_bytes(), 6);
        let memory = bed.upload(&source);
        let work = |target| Work::Colour { source: memory, source_pitch_bytes, target };
        draws(&bed, rows, work, |target| reference::colour(&source, source_pitch_bytes, target, rows));
    }
}

#[test]
fn scale() {
    let bed = Bed::new();
    for (from, to) in SIZES.iter().flat_map(|from| SIZES.iter().map(move |to| (from, to))) {
        let (from, to) = (padded(from.0, from.1), padded(to.0, to.1));
        let source = bytes(from.rgba_bytes(), 7);
        let picture = Picture { at: bed.upload(&source), rows: from };
        let work = |target| Work::Scale { source: picture, target };
        draws(&bed, to, work, |target| reference::scale(&source, from, target, to));
    }
}

#[test]
fn blur() {
    let bed = Bed::new();
    for (width, height) in SIZES {
        let rows = padded(width, height);
        let source_pitch_bytes = width * 4;
        let source = bytes(Rows { pitch_bytes: source_pitch_bytes, ..rows }.rgba_bytes(), 8);
        let memory = bed.upload(&source);
        let work = |target| Work::Blur { source: memory, source_pitch_bytes, target };
        draws(&bed, rows, work, |target| reference::blur(&source, source_pitch_bytes, target, rows));
    }
}

#[test]
fn arguments_are_those_that_the_kernels_declare() {
    let (bed, at, rows) = (Bed::new(), DevicePtr(0), padded(1, 1));
    let target = Picture { at, rows };
    for work in [
        Work::Add { left: at, right: at, sum: at, count: 0 },
        Work::Sum { values: at, total: at, count: 0 },
        Work::Multiply { left: at, right: at, product: at, side: 0 },
        Work::Colour { source: at, source_pitch_bytes: 0, target },
        Work::Scale { source: target, target },
        Work::Blur { source: at, source_pitch_bytes: 0, target },
    ] {
        let size = |argument: &Argument| if matches!(argument, Argument::Address(_)) { 8 } else { 4 };
        let own: Vec<u64> = work.arguments().iter().map(size).collect();
        assert_eq!(bed.parameters(&work), own, "{work:?}");
    }
}

/// The most that a time of the software GPU may differ from that of an H100, as a factor.
const FACTOR_MAX: f64 = 1.3;

/// Prints the times on a GPU, from which `soft.rs` has its rates, beside the modelled ones.
#[test]
#[ignore = "for an H100: OVERTAKE_BACKEND=cuda cargo test -p overtake-workloads -- --ignored --nocapture times"]
fn times() {
    let (bed, soft) = (Bed::new(), Bed::soft());
    let memory = |bed: &Bed| bed.upload(&vec![1; 64 << 20]);
    let (hd, uhd) = ((1_920, 1_080), (3_840, 2_160));
    let picture = |at, (width, height)| Picture { at, rows: Rows { pitch_bytes: width * 4, width, height } };
    let works = |at: DevicePtr| {
        [
            ("add of 1 Mi", Work::Add { left: at, right: at, sum: at, count: 1 << 20 }),
            ("add of 16 Mi", Work::Add { left: at, right: at, sum: at, count: 16 << 20 }),
            ("sum of 16 Mi", Work::Sum { values: at, total: at, count: 16 << 20 }),
            ("product of 512", Work::Multiply { left: at, right: at, product: at, side: 512 }),
            ("product of 1024", Work::Multiply { left: at, right: at, product: at, side: 1_024 }),
            ("colour 1080p", Work::Colour { source: at, source_pitch_bytes: 1_920, target: picture(at, hd) }),
            ("colour 4K", Work::Colour { source: at, source_pitch_bytes: 3_840, target: picture(at, uhd) }),
            ("1080p to 720p", Work::Scale { source: picture(at, hd), target: picture(at, (1_280, 720)) }),
            ("4K to 1080p", Work::Scale { source: picture(at, uhd), target: picture(at, hd) }),
            ("blur 1080p", Work::Blur { source: at, source_pitch_bytes: 7_680, target: picture(at, hd) }),
            ("blur 4K", Work::Blur { source: at, source_pitch_bytes: 15_360, target: picture(at, uhd) }),
        ]
    };
    println!("{:16} | {:>10} | {:>10}", "kernel", "device, us", "soft, us");
    for ((name, work), (_, modelled)) in works(memory(&bed)).into_iter().zip(works(memory(&soft))) {
        let (device_us, soft_us) = (bed.time_us(&work, 21), soft.time_us(&modelled, 1));
        println!("{name:16} | {device_us:10.1} | {soft_us:10.1}");
        let factor = (soft_us / device_us).max(device_us / soft_us);
        assert!(factor <= FACTOR_MAX, "{name}: {device_us:.1} us on the device, {soft_us:.1} us on the software GPU");
    }
}
