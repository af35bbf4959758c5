//! The work beside the cameras.

use std::sync::{Arc, Mutex};

use console::failure;
use hal::locks::lock;
use hal::{Result, Stream};
use measure::flow::{Cargo, Flow};
use measure::ground::Ground;
use measure::rig::STREAM_PRIORITY_DEFAULT;
use overtake::Priority;
use overtake::copy::CopyQueue;
use priority::Direction;
use workloads::Pictures;

use super::args::{BLOCK_BYTES, Background, MODEL_BYTES, VideoMethod};
use super::window::{Held, Window};
use crate::film::{Film, SOURCES};
use crate::line::CopyPath;
use crate::piece::Piece;
use crate::yard::{BOTH, Yard};

/// Blocks that are moved out or in together.
const BLOCKS: u64 = 64;
/// Chains of an archive that is transcoded.
pub const CHAINS: usize = 2;
/// Its pictures.
const ARCHIVE: &str = "4k30:rgba";
/// The lanes of copies, one for each direction; behind them come those of the chains.
const COPY_LANES: usize = 2;
/// The lanes before those of the cameras.
pub const LANES: usize = COPY_LANES + 2 * CHAINS;

/// The lanes that these backgrounds need, and their bytes.
pub fn lane_bytes(backgrounds: &[Background], bulk_bytes: u64) -> failure::Result<[u64; LANES]> {
    let has = |part| backgrounds.iter().any(|background| background.has(part));
    let need = |part, bytes| if has(part) { bytes } else { 1 };
    let (both, blocks) = (need(Background::Both, bulk_bytes), need(Background::Offload, BLOCKS * BLOCK_BYTES));
    let archive: Pictures = ARCHIVE.parse().map_err(failure::Failure::Other)?;
    let up = need(Background::Transcode, SOURCES as u64 * archive.bytes());
    let down = need(Background::Transcode, archive.bytes());
    Ok([both.max(blocks).max(need(Background::Model, MODEL_BYTES)), both.max(blocks), up, down, up, down])
}

/// The chains of an archive.
pub fn archive(ground: &Arc<Ground>) -> failure::Result<Vec<Arc<Piece>>> {
    let pictures: Pictures = ARCHIVE.parse().map_err(failure::Failure::Other)?;
    let chain = |index: usize| {
        let lanes = [COPY_LANES + 2 * index, COPY_LANES + 2 * index + 1];
        Ok(Arc::new(Piece::picture(ground, lanes, Film::whole(ground, pictures)?)))
    };
    (0..CHAINS).map(chain).collect()
}

/// The flows of a background. `word` is the first that is free.
pub fn flows(
    yard: &mut Yard,
    (background, method, window): (Background, VideoMethod, Option<&Arc<Window>>),
    (chains, bulk_bytes): (&[Arc<Piece>], u64),
    word: usize,
) -> Result<Vec<Arc<dyn Flow>>> {
    let cuda_priority = if method == VideoMethod::Native { STREAM_PRIORITY_DEFAULT } else { yard.range.least };
    let mut flows: Vec<Arc<dyn Flow>> = Vec::new();
    if background == Background::Both {
        for (lane, direction) in BOTH.into_iter().enumerate() {
            flows.push(yard.bulk(Cargo { direction, lane, bytes: bulk_bytes, word: word + lane }, cuda_priority)?);
        }
    }
    if background.has(Background::Model) {
        let cargo = Cargo { direction: BOTH[0], lane: 0, bytes: MODEL_BYTES, word: word + flows.len() };
        flows.push(yard.bulk(cargo, cuda_priority)?);
    }
    // Those so far make one copy for each request.
    let single = flows.len();
    if background.has(Background::Offload) {
        for (lane, direction) in BOTH.into_iter().enumerate() {
            let cargo = Cargo { direction, lane, bytes: BLOCKS * BLOCK_BYTES, word: word + flows.len() };
            let path = path(yard, cuda_priority)?;
            let queue = match &path {
                CopyPath::Through(adopted) => Some(Mutex::new(adopted.queue(BLOCKS as usize)?)),
                CopyPath::Plain(_) => None,
            };
            flows.push(Arc::new(Blocks { ground: Arc::clone(&yard.ground), cargo, path, queue }));
        }
    }
    for chain in chains.iter().filter(|_| background.has(Background::Transcode)) {
        let path = path(yard, cuda_priority)?;
        flows.push(Arc::new(Chain { piece: Arc::clone(chain), path, word: word + flows.len() }));
    }
    if let Some(window) = window {
        let held = |(index, flow): (usize, Arc<dyn Flow>)| -> Arc<dyn Flow> {
            Arc::new(Held::new(flow, window, index < single))
        };
        flows = flows.into_iter().enumerate().map(held).collect();
    }
    flows.iter().for_each(|flow| flow.reset());
    Ok(flows)
}

/// A stream of its own, through the layer if that is open.
fn path(yard: &mut Yard, cuda_priority: i32) -> Result<CopyPath> {
    let stream = yard.stream(cuda_priority)?;
    Ok(match &yard.overtake {
        Some(overtake) => CopyPath::Through(yard.ground.adopt(overtake, stream, Priority::LOWEST)?),
        None => CopyPath::Plain(stream),
    })
}

/// Batches of small blocks. Through the layer each is a batch of its queue, which has calls for them.
struct Blocks {
    ground: Arc<Ground>,
    cargo: Cargo,
    // Before the path: it is flushed to that stream.
    queue: Option<Mutex<CopyQueue>>,
    path: CopyPath,
}

impl Flow for Blocks {
    fn ground(&self) -> &Ground {
        &self.ground
    }

    fn cargo(&self) -> Cargo {
        self.cargo
    }

    fn stream(&self) -> Stream {
        self.path.raw()
    }

    fn copy(&self) -> Result<()> {
        let Cargo { direction, lane, .. } = self.cargo;
        if let (Some(queue), CopyPath::Through(adopted)) = (&self.queue, &self.path) {
            // No other thread takes it: a flow has one feeder.
            return adopted.copy_blocks(&mut lock(queue), (direction, lane), (BLOCKS, BLOCK_BYTES));
        }
        let block = |index| index * BLOCK_BYTES..(index + 1) * BLOCK_BYTES;
        (0..BLOCKS).try_for_each(|index| self.path.copy(&self.ground, direction, lane, block(index)))
    }

    /// As many as a stream has room for: a full one would block its submitter inside the driver.
    fn outstanding(&self) -> u32 {
        8
    }
}

/// Pictures up, kernels, and pictures down, one after another.
struct Chain {
    piece: Arc<Piece>,
    path: CopyPath,
    word: usize,
}

impl Flow for Chain {
    fn ground(&self) -> &Ground {
        self.piece.ground()
    }

    /// The bytes of both ways.
    fn cargo(&self) -> Cargo {
        let bytes = self.piece.bytes().iter().sum();
        Cargo { direction: Direction::HostToDevice, lane: COPY_LANES, bytes, word: self.word }
    }

    fn stream(&self) -> Stream {
        self.path.raw()
    }

    fn copy(&self) -> Result<()> {
        self.path.submit(&self.piece)
    }
}
