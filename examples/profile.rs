//! Kernels that note the times of their blocks, as a trace for Perfetto:
//! `cargo run --example profile -- kernels.trace.json`.
#![allow(unsafe_code)] // launches; each buffer is that of a recording

use std::error::Error;

use backend::{Backend, open_with};
use overtake::hal::Device;
use overtake::profile::{Detail, Profiler, ProfilerOptions};
use overtake::{Options, Overtake, Priority};
use workloads::Profiled;

fn main() -> Result<(), Box<dyn Error>> {
    let opened = open_with(Backend::from_environment()?, workloads::register)?;
    let driver = opened.driver;
    let overtake = Overtake::open(&driver, Device(0), Options::from_environment()?)?;
    let (kernel, stream) = (Profiled::load(&*driver)?, overtake.stream(Priority::LOWEST)?);

    let profiler = Profiler::new(&overtake, ProfilerOptions::default())?;
    let first = profiler.register(&["short", "long"]);
    profiler.collect(true);
    for _ in 0..3 {
        // The events of a batch are fetched when its recording is dropped.
        let recording = profiler.begin(&stream);
        for (number, span_ns, blocks) in [(first, 10_000, 300), (first + 1, 40_000, 50)] {
            // SAFETY: the buffer is that of the recording.
            unsafe { kernel.launch(&*driver, recording.buffer(), number, span_ns, blocks, stream.raw())? };
        }
        drop(recording);
        stream.synchronize()?;
    }
    let profile = profiler.take();
    let events: usize = profile.batches.iter().map(|batch| batch.events.len()).sum();
    println!("{} batches with {events} blocks", profile.batches.len());
    if let Some(path) = std::env::args().nth(1) {
        std::fs::write(&path, profile.trace(Detail::Blocks))?;
        println!("{path}: open it at https://ui.perfetto.dev");
    }
    Ok(())
}
