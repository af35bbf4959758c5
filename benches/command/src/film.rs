//! A film: different pictures in turn, the kernels that make a result of each, and the bytes of both.

use hal::{DevicePtr, Result};
use measure::ground::Ground;
use workloads::{Picture, Rows, Work, reference};
use workloads::{Pictures, Pixels};

/// Different pictures of a film.
pub const SOURCES: usize = 3;

/// Pictures of one format, and the memory of the device that their kernels need besides the pictures and the results.
/// One picture at a time.
#[derive(Clone, Copy)]
pub struct Film {
    pictures: Pictures,
    coloured: Picture,
    scaled: Picture,
}

impl Film {
    /// A film whose results have two thirds of the width and of the height, in colours.
    pub fn reduced(ground: &Ground, pictures: Pictures) -> Result<Film> {
        let Rows { width, height, .. } = pictures.rows();
        Film::new(ground, pictures, width * 2 / 3, height * 2 / 3)
    }

    /// A film whose results have the size of its pictures.
    pub fn whole(ground: &Ground, pictures: Pictures) -> Result<Film> {
        let Rows { width, height, .. } = pictures.rows();
        Film::new(ground, pictures, width, height)
    }

    fn new(ground: &Ground, pictures: Pictures, width: u32, height: u32) -> Result<Film> {
        let make = |width, height| {
            let rows = Rows { pitch_bytes: 4 * width, width, height };
            Ok::<_, hal::Error>(Picture { at: ground.memory(rows.rgba_bytes())?, rows })
        };
        let own = pictures.rows();
        ground.works()?;
        Ok(Film { pictures, coloured: make(own.width, own.height)?, scaled: make(width, height)? })
    }

    /// Bytes of a picture.
    #[must_use]
    pub fn picture_bytes(&self) -> u64 {
        self.pictures.bytes()
    }

    /// Bytes of a result.
    #[must_use]
    pub fn result_bytes(&self) -> u64 {
        self.scaled.rows.rgba_bytes()
    }

    /// Bytes that are copied for a picture and its result.
    #[must_use]
    pub fn moved_bytes(&self) -> u64 {
        self.picture_bytes() + self.result_bytes()
    }

    /// The kernels from a picture in the device's memory to its result.
    #[must_use]
    pub fn works(&self, source: DevicePtr, result: DevicePtr) -> [Work; 3] {
        let Film { coloured, scaled, .. } = *self;
        let source_pitch_bytes = self.pictures.rows().pitch_bytes;
        let first = match self.pictures.pixels {
            Pixels::Nv12 => Work::Colour { source, source_pitch_bytes, target: coloured },
            Pixels::Rgba => Work::Blur { source, source_pitch_bytes, target: coloured },
        };
        let (rows, pitch) = (scaled.rows, scaled.rows.pitch_bytes);
        let last = Work::Blur { source: scaled.at, source_pitch_bytes: pitch, target: Picture { at: result, rows } };
        [first, Work::Scale { source: coloured, target: scaled }, last]
    }

    /// Pictures of chance.
    #[must_use]
    pub fn pictures(&self, seed: u64) -> Vec<Vec<u8>> {
        (0..SOURCES as u64).map(|index| self.picture(seed.wrapping_mul(SOURCES as u64).wrapping_add(index))).collect()
    }

    fn picture(&self, seed: u64) -> Vec<u8> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        };
        (0..self.picture_bytes()).map(|_| next()).collect()
    }

    /// The result of a picture, made by the processor.
    #[must_use]
    pub fn result(&self, picture: &[u8]) -> Vec<u8> {
        let (own, small) = (self.coloured.rows, self.scaled.rows);
        let source_pitch_bytes = self.pictures.rows().pitch_bytes;
        let mut coloured = vec![0; own.rgba_bytes() as usize];
        match self.pictures.pixels {
            Pixels::Nv12 => reference::colour(picture, source_pitch_bytes, &mut coloured, own),
            Pixels::Rgba => reference::blur(picture, source_pitch_bytes, &mut coloured, own),
        }
        let (mut scaled, mut result) = (vec![0; self.result_bytes() as usize], vec![0; self.result_bytes() as usize]);
        reference::scale(&coloured, own, &mut scaled, small);
        reference::blur(&scaled, small.pitch_bytes, &mut result, small);
        result
    }
}
