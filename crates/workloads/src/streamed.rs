//! The twin of a kernel that runs on and consumes stages (`crates/feed/src/overtake_pipeline.cuh`).

use softgpu::{Builder, Io, KernelSpec, Running, Step};

/// PTX of `work_streamed` and `work_launched`, made from `streamed.cu` by nvcc.
pub const STREAMED_PTX: &str = include_str!("streamed.ptx");

/// A waiting block looks at the words of the device this often, and at that of the host (`OVERTAKE_LOOK_NS`).
const LOOK_NS: u64 = 500;
const LOOK_AT_HOST_NS: u64 = 1_000_000;
/// The kernel adds up so many bytes in a nanosecond.
const BYTES_PER_NS: u64 = 1_950;
/// A launch of the same work takes so long beside it.
const START_NS: u64 = 4_200;
/// A multiprocessor has room for two blocks of 1024 threads.
const BLOCKS_EACH: u32 = 2;

/// The places in `overtake_pipeline`.
const ORDER: u64 = 4;
const STAGES: u64 = 128;
const BYTES_EACH: u64 = 136;
const RESULTS_EACH: u64 = 144;
const BYTES: u64 = 152;
const RESULTS: u64 = 160;
const RELEASED: u64 = 168;
const ENDED: u64 = 176;
const QUITS: u64 = 184;

const CLOSED: u32 = 1;
const QUIT: u32 = 2;

/// A software GPU that knows the kernels.
pub(crate) fn register(builder: Builder) -> Builder {
    let streamed = || -> Box<dyn Running> { Box::new(Streamed { position: 0, looked_ns: None, is_at_work: false }) };
    let launched = KernelSpec::once(&[8, 8, 8, 8, 4], |io| START_NS + 4 * io.parameter(1) / BYTES_PER_NS, launched);
    builder
        .kernel("work_streamed", KernelSpec::new(&[8, 8, 8], streamed).blocks_per_multiprocessor(BLOCKS_EACH))
        .kernel("work_launched", launched.blocks_per_multiprocessor(BLOCKS_EACH))
}

/// All blocks of `work_streamed`: they are in step.
struct Streamed {
    /// The number of the stage that they have, or wait for.
    position: u32,
    /// The last look at the host's word.
    looked_ns: Option<u64>,
    is_at_work: bool,
}

impl Streamed {
    /// `overtake_look`.
    fn look(&mut self, io: &mut Io<'_>) -> Step {
        let (words, now_ns) = (io.parameter(0), io.now_ns());
        let looked_ns = *self.looked_ns.get_or_insert(now_ns);
        let order = io.load32(words + ORDER);
        if order != QUIT && io.load32(words).wrapping_sub(self.position) as i32 > 0 {
            return self.begin(io);
        }
        let quits = io.load64(words + QUITS);
        if order != 0 {
            debug_assert!(order == CLOSED || order == QUIT, "the words are those of a feed");
            return self.leave(io);
        }
        // It is peeked at, because a look that comes later is none that waits for ever.
        if io.peek32(quits) != 0 {
            let left_ns = (looked_ns + LOOK_AT_HOST_NS).saturating_sub(now_ns);
            if left_ns > 0 {
                return Step::Busy(left_ns);
            }
            io.store32(words + ORDER, QUIT);
            return Step::Busy(LOOK_NS);
        }
        if now_ns >= looked_ns + LOOK_AT_HOST_NS {
            io.load32(quits);
            self.looked_ns = Some(now_ns);
        }
        Step::Poll(LOOK_NS)
    }

    fn begin(&mut self, io: &mut Io<'_>) -> Step {
        let (words, begun, span_ns) = (io.parameter(0), io.parameter(1), io.parameter(2));
        if begun != 0 {
            io.store32(begun, self.position.wrapping_add(1));
        }
        self.is_at_work = true;
        Step::Busy(span_ns.max(io.load64(words + BYTES_EACH) / BYTES_PER_NS))
    }

    /// The sums of the blocks, and `overtake_release`.
    fn finish(&mut self, io: &mut Io<'_>) -> Step {
        let words = io.parameter(0);
        let stage = u64::from(self.position % io.load32(words + STAGES));
        let (bytes, bytes_each) = (io.load64(words + BYTES), io.load64(words + BYTES_EACH));
        let results = io.load64(words + RESULTS) + stage * io.load64(words + RESULTS_EACH);
        sums(io, bytes + stage * bytes_each, bytes_each / 4, results);
        self.position = self.position.wrapping_add(1);
        let released = io.load64(words + RELEASED);
        io.store32(released, self.position);
        (self.is_at_work, self.looked_ns) = (false, None);
        Step::Busy(LOOK_NS)
    }

    fn leave(&self, io: &mut Io<'_>) -> Step {
        let ended = io.load64(io.parameter(0) + ENDED);
        io.store32(ended, 1);
        Step::Done
    }
}

impl Running for Streamed {
    fn step(&mut self, io: &mut Io<'_>) -> Step {
        if self.is_at_work { self.finish(io) } else { self.look(io) }
    }
}

fn launched(io: &mut Io<'_>) {
    let begun = io.parameter(3);
    if begun != 0 {
        io.store32(begun, io.parameter(4) as u32);
    }
    sums(io, io.parameter(0), io.parameter(1), io.parameter(2));
}

/// The sum of each block: its threads take every so many words.
fn sums(io: &mut Io<'_>, at: u64, count: u64, results: u64) {
    let (blocks, threads) = (io.blocks() as usize, io.block_threads() as usize);
    let bytes = io.read(at, 4 * count);
    let mut sums = vec![0_u64; blocks];
    for (place, run) in bytes.chunks(4 * threads).enumerate() {
        let words = run.as_chunks().0.iter().map(|bytes| u64::from(u32::from_le_bytes(*bytes)));
        sums[place % blocks] += words.sum::<u64>();
    }
    (0..).zip(sums).for_each(|(block, sum)| io.store64(results + 8 * block, sum));
}
