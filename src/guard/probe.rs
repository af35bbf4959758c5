//! Whether kernels of one stream pass those of another that wait.
//!
//! With one hardware queue for all kernels (`CUDA_DEVICE_MAX_CONNECTIONS=1`) a copy kernel that waits for its stream's
//! earlier work holds up all kernels after it, also the one that the earlier work may be waiting for.

use std::sync::Arc;

use channels::Adder;
use hal::{Driver, Host, MemOp, Nanos, Result, Stream, Wait, WaitCondition};
use semaphores::Words;

use super::carrier::Carrier;
use crate::kernel::CopyKernel;

/// How long the kernel may take, in turns of this thread. Where there is one queue the application's start takes so
/// much longer; where there are more, a host that lets nobody run for a while must not be taken for that. So a turn
/// counts as no more than [`TURN`], however long this thread had to wait for the next one: of plain time, 50 ms were
/// too short in 4 of 314 starts at a load of 7 on two cores, and 300 ms in one of about a thousand at a higher load.
const TURNS: u32 = 60;
const TURN: Nanos = Nanos::from_ms(5);

/// Host words of the probe: one opens the streams that wait, the other says that the kernel has ended.
const OPEN: u64 = 0;
const ENDED: u64 = 1;

/// Lets all streams of the carriers but one wait, and runs a kernel in that one.
pub(super) fn kernels_pass_waits(driver: &Arc<dyn Driver>, carriers: &[Carrier], kernel: &CopyKernel) -> Result<bool> {
    let Some(last) = carriers.last() else { return Ok(false) };
    let words = Words::new(driver, 2)?;
    let waiting: Vec<Stream> = carriers.iter().flat_map(|carrier| [carrier.copies, carrier.waits]).collect();
    let passed = try_it(&**driver, &words, &waiting, last.rescues, kernel);
    words.store(OPEN, 1);
    // The words must not go before whoever waits for them.
    let ended = waiting.into_iter().chain([last.rescues]).map(|stream| driver.stream_synchronize(stream));
    let ended = ended.fold(Ok(()), Result::and);
    passed.and_then(|passed| ended.map(|()| passed))
}

fn try_it(
    driver: &dyn Driver,
    words: &Words,
    waiting: &[Stream],
    passing: Stream,
    kernel: &CopyKernel,
) -> Result<bool> {
    for stream in waiting {
        driver.mem_op(*stream, MemOp::wait32(words.host_address(OPEN), 1, WaitCondition::Geq))?;
        kernel.add(*stream, words.device_address(OPEN), 1)?;
    }
    kernel.add(passing, words.device_address(ENDED), 1)?;
    driver.mem_op(passing, MemOp::write32(words.host_address(ENDED), 1))?;
    Ok(comes_true(driver.host(), &mut || words.load(ENDED) == 1))
}

fn comes_true(host: &dyn Host, condition: &mut dyn FnMut() -> bool) -> bool {
    let mut turns = (0..TURNS).map(|_| host.wait_until(Some(host.now() + TURN), condition));
    turns.find(|wait| *wait != Wait::Deadline) == Some(Wait::Met)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::driver::RealHost;

    #[test]
    fn a_host_that_lets_nobody_run_is_waited_for() {
        let (mut looks, starved) = (0, Duration::from_nanos(2 * TURN.0));
        let ended = comes_true(&RealHost::new(), &mut || {
            std::thread::sleep(starved);
            looks += 1;
            looks == TURNS - 1
        });
        assert!(ended, "a turn for each look, and more patience than there were looks");
        assert!(!comes_true(&RealHost::new(), &mut || false));
    }
}
