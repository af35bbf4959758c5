//! The copy kernel of the library.

use hal::{Function, Launch, Stream};
use overtake_softgpu::Connections;

use super::Figures;
use super::feeder::Feeder;
use crate::facts::{Direction, Row};
use crate::rig::{BULK, Random, Rig, SMALL, p50};

/// The copy kernel of the library, its descriptors and its gate as `copies/src/kernel` declares them.
const COPY_PTX: &str = include_str!("../../../../../copies/src/kernel/copy.ptx");

/// One copy of 64 KiB by the copy kernel on 16 multiprocessors; it never yields.
fn launch_copy(rig: &Rig, function: Function, direction: Direction, stream: Stream) {
    let (host, device) = rig.small.addresses();
    let (target, source) = if direction == Direction::D2h { (host, device) } else { (device, host) };
    let mut descriptors = [[0_u64; 8]; 8];
    descriptors[0] = [target, source, SMALL, 1, 0, 0, 0, 0];
    let (mut count, mut gate) = (1_u32, [0_u64; 5]);
    let parameters = [descriptors.as_mut_ptr().cast(), (&raw mut count).cast(), gate.as_mut_ptr().cast()];
    let (grid, block) = ([16, 1, 1], [512, 1, 1]);
    let launch = Launch { function, grid, block, shared_bytes: 0, stream, parameters: &parameters };
    // SAFETY: three parameters of 512, 4 and 32 bytes, as the kernel declares them; both buffers outlive the bench.
    unsafe { rig.driver.launch(&launch).unwrap() };
}

/// 64 small copies at once by kernel, each with a completion word, beside bulk on the engine.
pub fn kernels(row: &Row) -> Figures {
    let rig = Rig::new(Connections::default());
    let (low, high, direction) = (rig.stream(0), rig.stream(0), row.direction);
    let module = rig.driver.module_load(COPY_PTX.as_bytes()).unwrap();
    let function = rig.driver.module_function(module, "overtake_copy").unwrap();
    let feeder = Feeder::start(&rig, low, 4, move |rig| {
        rig.copy(direction, rig.bulk, 0, BULK, low);
        BULK
    });
    rig.sleep_us(30_000);
    let (flag, mut random, mut samples) = (rig.word(0), Random::new(6), Vec::new());
    let (started_us, before) = (rig.now_us(), rig.word(2).load());
    for index in 1..=100 {
        let begin_us = rig.now_us();
        for copy in 1..=64 {
            launch_copy(&rig, function, direction, high);
            rig.write(high, flag.address(), 64 * index + copy);
        }
        rig.spin(flag, 64 * index + 64);
        samples.push(rig.now_us() - begin_us);
        rig.sleep_us(1_070 + u64::from(random.below(700)));
    }
    let bulk = u64::from(rig.word(2).load() - before) * BULK;
    let bulk_gbps = bulk as f64 / (rig.now_us() - started_us) / 1e3;
    feeder.finish(&rig);
    Figures { p50_us: Some(p50(samples)), bulk_gbps: Some(bulk_gbps) }
}
