//! Two processes on one device.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use overtake_softgpu::Connections;

use super::Figures;
use crate::facts::{Direction, Row};
use crate::rig::{BULK, KIB, Random, Rig, SMALL, Word, p50};

/// Bulk until it is stopped, each chunk behind a wait for the word if there is one; returns its rate in GB/s.
fn feed(rig: &Rig, chunk: u64, word: Option<Word>, stopped: &AtomicBool) -> f64 {
    rig.driver.context_set_current(Some(rig.context)).unwrap();
    let stream = rig.stream(0);
    let (started_us, mut bytes) = (rig.now_us(), 0);
    while !stopped.load(Ordering::Acquire) {
        for index in 0..BULK / chunk {
            if let Some(word) = word {
                rig.wait_zero(stream, word.address());
            }
            rig.copy(Direction::H2d, rig.bulk, index * chunk, chunk, stream);
        }
        rig.driver.stream_synchronize(stream).unwrap();
        bytes += BULK;
    }
    bytes as f64 / (rig.now_us() - started_us) / 1e3
}

/// Bulk in one process and a small copy in another. The word is registered in both.
pub fn processes(row: &Row) -> Figures {
    let rig = Rig::new(Connections::default());
    let other = Rig::on(rig.gpu.process());
    let (raised, chunk) = (row.method == "cpu", row.chunk_kib * KIB);
    let page = rig.word(1);
    // SAFETY: the page belongs to the first bench's pinned words, which are never freed.
    unsafe {
        let flags = hal::HostRegisterFlags::DEVICEMAP;
        other.driver.host_register(page.address().0 as *mut u8, 256, flags).unwrap();
    }
    let stop = Arc::new(AtomicBool::new(false));
    let (stopped, bulk) = (Arc::clone(&stop), other.clone());
    let word = raised.then_some(page);
    let thread = hal::spawn(&other.driver, "bulk process", move || feed(&bulk, chunk, word, &stopped));
    let thread = thread.unwrap();
    rig.sleep_us(30_000);
    let stream = rig.stream(0);
    let mut random = Random::new(4);
    let mut samples = Vec::new();
    for _ in 0..300 {
        let begin_us = rig.now_us();
        if raised {
            page.store(1);
        }
        rig.copy(Direction::H2d, rig.small, 0, SMALL, stream);
        if raised {
            rig.write(stream, page.address(), 0);
        }
        rig.driver.stream_synchronize(stream).unwrap();
        samples.push(rig.now_us() - begin_us);
        rig.sleep_us(1_200 + u64::from(random.below(800)));
    }
    stop.store(true, Ordering::Release);
    let bulk_gbps = thread.join(rig.driver.host());
    Figures { p50_us: Some(p50(samples)), bulk_gbps: Some(bulk_gbps) }
}
