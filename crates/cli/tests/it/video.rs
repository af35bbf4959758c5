//! `overtake bench video` as a user runs it, on the software GPU in virtual time.

use crate::common::{Folder, overtake};
use crate::measured::{bench_in, number, rows};
use serde_json::Value;

const QUEUES: &str = "CUDA_DEVICE_MAX_CONNECTIONS";
const COPY_QUEUES: &str = "CUDA_DEVICE_MAX_COPY_CONNECTIONS";

/// The rest of a command with more cameras than the link carries.
const OVERLOAD: &str = "--background model --seconds 0.175 --methods pipeline";

/// Two kinds of cameras beside every background at once.
const FIVE: &str = "--stream 4x1080p120:nv12 --stream 4k60:nv12 --background all --seconds 0.1";

fn bench(name: &str, line: &str) -> Value {
    let out = bench_in(&Folder::new(name), &format!("video --rounds 1 {line} --json -"), &[]);
    serde_json::from_str(&out).unwrap()
}

fn of<'a>(run: &'a Value, method: &'a str) -> impl Iterator<Item = &'a Value> {
    rows(run).iter().filter(move |row| row["method"] == method)
}

#[test]
fn pictures_of_tasks_are_there_in_time() {
    let run = bench("video", "--seconds 0.4 --bulk-bytes 64M");
    let names: Vec<&str> = rows(&run).iter().filter_map(|row| row["method"].as_str()).collect();
    let ours = ["copies", "dispatcher", "pipeline", "template"];
    assert_eq!(
        names,
        [&["idle", "idle pipeline", "idle template", "raw", "native", "native+priority", "window"], &ours[..]].concat()
    );
    let row = |method| of(&run, method).next().unwrap();
    let over_idle = |method| number(&row(method)["ratio"], "median");
    for method in ["dispatcher", "pipeline", "template"] {
        let ours = row(method);
        assert!(number(ours, "due") >= 20.0 && number(ours, "missed") == 0.0, "{ours}");
        assert!(over_idle(method) < 0.5 * over_idle("native"), "{run}");
        assert!(number(ours, "jitter_us") < 0.1 * number(row("native"), "jitter_us"), "{run}");
    }
    // A program that holds its own bulk back has its pictures in time too.
    assert!(number(row("window"), "missed") == 0.0 && over_idle("window") < 1.5, "{run}");
    assert!(number(row("raw"), "bulk_gbps") > 80.0 && row("raw")["due"].is_null(), "{run}");
}

/// Of two kinds, beside everything at once, with the copy queues that the driver has by itself: natively most pictures
/// are late or skipped, and the whole stack has none.
#[test]
fn the_stack_is_in_time_beside_everything() {
    let run = bench("video-all", &format!("{FIVE} --methods native+priority,pipeline"));
    let kinds: Vec<&Value> = of(&run, "pipeline").map(|row| &row["stream"]).collect();
    assert_eq!(kinds, ["4x1080p120:nv12", "1x4k60:nv12"]);
    for ours in of(&run, "pipeline") {
        assert!(number(ours, "due") >= 6.0 && number(ours, "missed") == 0.0, "{ours}");
        assert_eq!(ours["setting"], "all");
    }
    for native in of(&run, "native+priority") {
        assert!(number(native, "missed") > 0.8 * number(native, "due"), "{native}");
        let dropped: f64 =
            native["dropped"].as_object().iter().flat_map(|all| all.values()).filter_map(Value::as_f64).sum();
        assert_eq!(number(native, "late") + dropped, number(native, "missed"), "{native}");
        assert_eq!(number(native, "samples") + dropped, number(native, "due"), "{native}");
    }
    assert!(of(&run, "native+priority").any(|row| number(&row["dropped"], "skipped") > 0.0), "{run}");
}

/// The streams of cameras and of everything beside them are more than the driver's 8 queues for kernels, where kernels
/// of pictures wait behind copy kernels that give way. The command asks for 32, unless the user did, and for more copy
/// queues where pictures tolerate chunks, which keep one each.
#[test]
fn the_driver_is_asked_for_more_queues() {
    let measure = |name: &str, line: &str, variables: &[(&str, &str)]| {
        let folder = Folder::new(name);
        let text = bench_in(&folder, &format!("video --json run.json --rounds 1 {line}"), variables);
        let run: Value = serde_json::from_slice(&std::fs::read(folder.path().join("run.json")).unwrap()).unwrap();
        let missed: f64 = rows(&run).iter().filter_map(|row| row["missed"].as_f64()).sum();
        let environment = &run["header"]["environment"];
        let recorded = [QUEUES, COPY_QUEUES].map(|name| environment[name].as_str().map(str::to_owned));
        (recorded, missed, text)
    };
    let five = format!("{FIVE} --methods dispatcher");
    let (recorded, missed, text) = measure("video-queues", &five, &[]);
    assert_eq!((recorded, missed), ([Some("32".to_owned()), Some("4".to_owned())], 0.0), "{text}");
    assert!(text.contains(&format!("{QUEUES}=32 was set for this run")), "{text}");
    let (recorded, missed, text) = measure("video-six", &five, &[(QUEUES, "6")]);
    assert_eq!(recorded, [Some("6".to_owned()), None], "{text}");
    assert!(missed > 0.0 && text.contains("6 queues for kernels"), "{text}");
    let tolerant = "--stream 360p60:nv12 --methods pipeline --tolerance-us 150 --seconds 0.1";
    let (recorded, missed, text) = measure("video-tolerant", tolerant, &[]);
    assert_eq!((recorded, missed), ([Some("32".to_owned()), Some("16".to_owned())], 0.0), "{text}");
}

/// Cameras are added until one is late: plain streams carry fewer than pipelines, which carry all five.
#[test]
fn the_load_is_raised_to_the_first_miss() {
    let run = bench("video-raise", "--stream 5x4k60:rgba --methods native+priority,pipeline --seconds 0.4 --raise");
    let carried = |method| {
        let rows: Vec<&Value> = of(&run, method).collect();
        rows.iter().enumerate().for_each(|(index, row)| {
            let count = index + 1;
            assert_eq!(row["setting"], format!("{count} camera{}", if count == 1 { "" } else { "s" }), "{row}");
            let per_camera = number(row, "due") / count as f64;
            assert!(
                (6.0..=7.0).contains(&per_camera),
                "as many cameras as it says, of which each has its pictures: {row}"
            );
            assert!(number(row, "missed") == 0.0 || count == rows.len(), "a miss is the end: {row}");
            assert!(number(row, "missed") > 0.0 || count < rows.len() || count == 5, "and the only one: {row}");
        });
        rows.iter().filter(|row| number(row, "missed") == 0.0).count()
    };
    assert!(carried("native+priority") < carried("pipeline"), "{run}");
    assert_eq!(carried("pipeline"), 5, "{run}");
}

/// Threads of every kind, twice: the same bytes.
#[test]
fn the_same_seed_gives_the_same_json() {
    let measure = |seed: &str, methods: &str| {
        let arguments = "--stream 2x1080p240:nv12 --background all --seconds 0.1";
        bench("video-again", &format!("{arguments} --seed {seed} --methods {methods}"))
    };
    let [one, two] = [(); 2].map(|()| measure("3", "native,copies,pipeline"));
    assert_eq!(one.to_string(), two.to_string());
    let other = measure("4", "native");
    let latencies = |run: &Value| of(run, "native").next().unwrap()["latency_steps_ns"].clone();
    assert_ne!(latencies(&one), latencies(&other), "it sets the cameras' times");
}

/// Each background by itself: it makes progress beside the cameras.
#[test]
fn every_background_goes_on() {
    let run = bench("video-each", "--background model,transcode,offload --methods pipeline --seconds 0.1");
    let settings: Vec<&Value> = of(&run, "pipeline").map(|row| &row["setting"]).collect();
    assert_eq!(settings, ["model", "transcode", "offload"]);
    for row in of(&run, "pipeline") {
        assert!(number(row, "missed") == 0.0 && number(row, "bulk_gbps") > 0.3 * number(row, "raw_gbps"), "{row}");
    }
}

/// The bytes of every result, in every method.
#[test]
fn every_byte_is_right() {
    for stream in ["2x360p240:nv12", "360p240:rgba"] {
        let run = bench("video-bytes", &format!("--check --stream {stream} --background offload --seconds 0.1"));
        for row in rows(&run).iter().filter(|row| row["method"] != "raw") {
            assert_eq!((&row["checked"], &row["wrong"]), (&row["samples"], &0.into()), "{row}");
            assert!(number(row, "checked") >= 6.0, "{row}");
        }
    }
}

/// Pictures of a file, by each method with buffers of its own: the results are those that the processor makes of them.
#[test]
fn pictures_come_from_files() {
    let folder = Folder::new("video-frames");
    let bytes: Vec<u8> = (0..2 * 640 * 360 * 3 / 2_u32).map(|at| (at / 97) as u8).collect();
    std::fs::write(folder.path().join("film.yuv"), bytes).unwrap();
    let (light, colour) = ([200_u8; 640 * 360], [90_u8; 640 * 180]);
    let film = [&b"YUV4MPEG2 W640 H360 F30:1 C420jpeg\nFRAME\n"[..], &light, &colour].concat();
    std::fs::write(folder.path().join("film.y4m"), film).unwrap();
    for (name, methods) in [("film.yuv", "window,pipeline"), ("film.y4m", "template")] {
        let camera = "video --rounds 1 --stream 360p60:nv12 --background offload --seconds 0.1 --json -";
        let json = bench_in(&folder, &format!("{camera} --frames {name} --methods {methods}"), &[]);
        let run: Value = serde_json::from_str(&json).unwrap();
        for row in rows(&run).iter().filter(|row| row["method"] != "raw") {
            assert_eq!((&row["checked"], &row["wrong"]), (&row["samples"], &0.into()), "{row}");
            assert!(number(row, "checked") >= 6.0, "{row}");
        }
    }
}

/// The plan of these cameras beside bulk: the bound of a picture's latency, unless it refuses them.
fn bound_us(pictures: &str, count: usize, tolerance_us: u64) -> Option<f64> {
    let here = Folder::new("video-plan-of");
    let file = format!(
        "[background]\nbulk = true\n[[stream]]\nname = \"camera\"\ncount = {count}\npictures = \"{pictures}\"\n\
         tolerance_us = {tolerance_us}\nkernels_us = [69.2, 26.4, 30.8]\ndownload_bytes = 14_745_600\n"
    );
    std::fs::write(here.path().join("cameras.toml"), file).unwrap();
    let output = overtake(&here, &["pipeline", "plan", "--json", "cameras.toml"], &[]);
    let plan: Value = serde_json::from_slice(&output.stdout).unwrap();
    output.status.success().then(|| number(&plan["streams"][0], "bound_us"))
}

/// Pipelines carry at least the cameras that the plan admits, and no picture is later than its bound. Some wait for
/// those of other cameras.
#[test]
fn the_cameras_that_the_plan_admits_are_carried() {
    let pictures = "4k120:rgba";
    let bounds: Vec<f64> = (1..=16).map_while(|count| bound_us(pictures, count, 0)).collect();
    let (admitted, streams) = (bounds.len(), format!("{}x{pictures}", bounds.len() + 2));
    assert!((2..15).contains(&admitted), "{bounds:?}");
    let run = bench("video-admitted", &format!("--stream {streams} --methods pipeline --seconds 0.3 --raise"));
    let steps: Vec<&Value> = of(&run, "pipeline").collect();
    assert!(steps.len() >= admitted, "{run}");
    for (row, bound) in steps.iter().zip(&bounds) {
        assert_eq!(number(row, "missed"), 0.0, "the plan admits them: {row}");
        assert!(number(row, "max_us") <= *bound, "{bound} {row}");
    }
    assert!(number(steps[admitted - 1], "max_us") > 1.2 * number(steps[0], "max_us"), "{run}");
}

/// Bulk of requests that pictures tolerate in their turn goes as it is: it keeps the rate of plain copies, and no
/// picture is later than the bound of the plan.
#[test]
fn short_bulk_keeps_its_rate_beside_pictures_that_tolerate_its_turns() {
    let arguments = "--stream 3x4k60:rgba --tolerance-us 150 --bulk-bytes 4M --methods pipeline --seconds 0.6";
    let run = bench("video-short", arguments);
    let row = of(&run, "pipeline").next().unwrap();
    let together = number(row, "bulk_gbps") + number(row, "urgent_gbps");
    assert!(together >= 0.95 * number(row, "raw_gbps"), "{row}");
    let bound = bound_us("4k60:rgba", 3, 150).expect("they fit");
    assert!(number(row, "missed") == 0.0 && number(row, "max_us") <= bound, "{bound} {row}");
}

/// Sixteen cameras whose pictures need half more of the link than there is, and a copy queue for each: those that share
/// one have less of the link than others. A picture is on its way for a period and the work of one of each camera at
/// most, so each has four periods. The seed sets when the cameras begin.
#[test]
fn an_overload_by_half_is_dropped_evenly_or_waits() {
    let overload = |behind: &str, seed: u32| {
        let cameras = "--stream 4k150:rgba ".repeat(16);
        let line =
            format!("video --rounds 1 {cameras}{OVERLOAD} --deadline 4 --behind {behind} --seed {seed} --json -");
        let out = bench_in(&Folder::new(&format!("video-{behind}-{seed}")), &line, &[(COPY_QUEUES, "16")]);
        serde_json::from_str::<Value>(&out).unwrap()
    };
    for seed in [1, 2, 5] {
        let run = overload("latest-only", seed);
        let dropped: Vec<f64> = of(&run, "pipeline").map(|row| number(&row["dropped"], "replaced")).collect();
        for (row, dropped) in of(&run, "pipeline").zip(&dropped) {
            assert_eq!(number(row, "late"), 0.0, "{row}");
            assert!(number(row, "max_us") <= number(row, "deadline_us"), "no queue grows: {row}");
            assert_eq!(number(row, "samples") + dropped, number(row, "due"), "{row}");
            assert!((0.2..0.45).contains(&(dropped / number(row, "due"))), "a third is too much: {row}");
        }
        assert!(dropped.len() == 16 && spread(&dropped) <= 1.0, "seed {seed}: {dropped:?}");
    }
    for row in of(&overload("block", 1), "pipeline") {
        assert!(row["dropped"].is_null() && number(row, "late") > 0.0, "{row}");
        assert_eq!(number(row, "samples"), number(row, "due"), "every picture is kept: {row}");
    }
}

fn spread(all: &[f64]) -> f64 {
    let (least, most) = all.iter().fold((f64::MAX, 0.0_f64), |(a, b), one| (a.min(*one), b.max(*one)));
    most - least
}

/// The same with an admission of four pictures at once: each has two periods in place of four, and as many come. Drops
/// are even although the cameras share copy queues.
#[test]
fn an_admission_makes_an_overload_short() {
    let overload = |places: &str, periods: &str, seed: u32| {
        let cameras = "--stream 4k150:rgba ".repeat(16);
        let arguments = format!("{cameras}{OVERLOAD} --deadline {periods} --at-once {places} --seed {seed}");
        bench(&format!("video-at-once-{places}-{seed}"), &arguments)
    };
    let of_all = |run: &Value, name: &str| of(run, "pipeline").map(|row| number(row, name)).collect::<Vec<f64>>();
    let (free, admitted) = (overload("0", "4", 1), overload("4", "2", 1));
    assert!(of(&admitted, "pipeline").all(|row| row["setting"] == "model, at_once=4"), "{admitted}");
    let longest = |run| of_all(run, "max_us").into_iter().fold(0.0, f64::max);
    assert!(longest(&admitted) < 0.55 * longest(&free), "{free} {admitted}");
    let before: f64 = of_all(&free, "samples").iter().sum();
    for run in [admitted, overload("4", "2", 3), overload("4", "2", 5)] {
        assert!(of_all(&run, "late").into_iter().all(|late| late == 0.0), "{run}");
        let samples = of_all(&run, "samples");
        assert!(samples.len() == 16 && spread(&samples) <= 1.0, "{samples:?}");
        // At the end of so short a run fewer pictures are on their way.
        assert!(samples.iter().sum::<f64>() >= 0.9 * before, "{before} {samples:?}");
    }
}

/// The slowest frames are told with the time of each of their stages, which together are their latency.
#[test]
fn slow_frames_tell_their_stages() {
    let arguments = "--stream 2x1080p120:nv12 --seconds 0.3 --methods pipeline,template --slow 3";
    let run = bench("video-slow", arguments);
    assert!(of(&run, "native").chain(of(&run, "raw")).all(|row| row["slow"].is_null()), "{run}");
    for method in ["pipeline", "template", "idle pipeline"] {
        let row = of(&run, method).next().unwrap();
        let slow = &row["slow"];
        let us = |values: &Value| values.as_array().unwrap().iter().map(|us| us.as_f64().unwrap()).sum::<f64>();
        let frames = slow["frames"].as_array().unwrap();
        assert!(frames.len() == 3 && slow["stages"].as_array().unwrap().len() == 8, "{row}");
        for frame in frames {
            assert!((us(&frame["stages_us"]) - number(frame, "latency_us")).abs() < 0.01, "{frame}");
            // A picture of 3.1 MB, three kernels and a result of 3.7 MB: each takes its time on the device.
            let stage = |index: usize| frame["stages_us"][index].as_f64().unwrap();
            assert!([3, 5, 6].into_iter().all(|index| (20.0..600.0).contains(&stage(index))), "{frame}");
            assert!([0, 1, 2, 7].into_iter().all(|index| stage(index) < 400.0), "{frame}");
        }
        let latency = |index: usize| number(&frames[index], "latency_us");
        assert!(latency(0) >= latency(1) && latency(1) >= latency(2), "{row}");
        // The result is noted in the record, and a moment later for the stages.
        assert!((latency(0) - number(row, "max_us")).abs() < 5.0, "{row}");
    }
}
