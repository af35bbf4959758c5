//! The meaning of each kernel, on the processor.

/// Rows of a picture, and the bytes from one row to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rows {
    /// Bytes from the start of one row to the start of the next.
    pub pitch_bytes: u32,
    /// Pixels of a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
}

impl Rows {
    /// Bytes of a picture with four bytes a pixel.
    #[must_use]
    pub fn rgba_bytes(self) -> u64 {
        u64::from(self.pitch_bytes) * u64::from(self.height)
    }

    /// Bytes of an NV12 picture: the rows of colour are half as many as those of brightness.
    #[must_use]
    pub fn nv12_bytes(self) -> u64 {
        u64::from(self.pitch_bytes) * (u64::from(self.height) + u64::from(self.height.div_ceil(2)))
    }

    fn row(self, y: u32) -> usize {
        self.pitch_bytes as usize * y as usize
    }

    fn pixel(self, x: u32, y: u32) -> usize {
        self.row(y) + 4 * x as usize
    }

    fn pixels(self) -> impl Iterator<Item = (u32, u32)> {
        (0..self.height).flat_map(move |y| (0..self.width).map(move |x| (x, y)))
    }
}

/// `sum[i] = left[i] + right[i]`.
pub fn add(left: &[f32], right: &[f32], sum: &mut [f32]) {
    sum.iter_mut().zip(left.iter().zip(right)).for_each(|(sum, (left, right))| *sum = left + right);
}

/// The sum of all values.
#[must_use]
pub fn sum(values: &[u32]) -> u64 {
    values.iter().map(|value| u64::from(*value)).sum()
}

/// The product of two square matrices in rows. Each sum runs over rising k, by fused steps.
pub fn multiply(left: &[f32], right: &[f32], product: &mut [f32], side: u32) {
    let side = side as usize;
    for (y, row) in product.chunks_exact_mut(side).enumerate() {
        for (x, product) in row.iter_mut().enumerate() {
            *product = (0..side).fold(0.0, |sum, k| left[y * side + k].mul_add(right[k * side + x], sum));
        }
    }
}

/// NV12 (BT.709, limited range) to RGBA. The rows of colour follow those of brightness.
pub fn colour(source: &[u8], source_pitch_bytes: u32, target: &mut [u8], rows: Rows) {
    let from = Rows { pitch_bytes: source_pitch_bytes, ..rows };
    for (x, y) in rows.pixels() {
        let colours = from.row(rows.height + y / 2) + (x / 2 * 2) as usize;
        let light = 298 * (i32::from(source[from.row(y) + x as usize]) - 16) + 128;
        let (blue, red) = (i32::from(source[colours]) - 128, i32::from(source[colours + 1]) - 128);
        let channels = [light + 459 * red, light - 55 * blue - 136 * red, light + 541 * blue];
        let place = rows.pixel(x, y);
        for (channel, value) in channels.into_iter().enumerate() {
            target[place + channel] = (value >> 8).clamp(0, 255) as u8;
        }
        target[place + 3] = 255;
    }
}

/// The place in the source of the middle of a target pixel, in 1/256 pixels.
fn place(at: u32, from: u32, to: u32) -> u32 {
    let (at, from, to) = (i64::from(at), i64::from(from), i64::from(to));
    ((2 * at + 1) * from * 128 / to - 128).clamp(0, (from - 1) * 256) as u32
}

/// RGBA in another size, by the four nearest pixels.
pub fn scale(source: &[u8], from: Rows, target: &mut [u8], to: Rows) {
    for (x, y) in to.pixels() {
        let (across, down) = (place(x, from.width, to.width), place(y, from.height, to.height));
        let (left, top) = (across / 256, down / 256);
        let (right, bottom) = ((left + 1).min(from.width - 1), (top + 1).min(from.height - 1));
        let (to_right, to_bottom) = (across % 256, down % 256);
        for channel in 0..4 {
            let at = |x, y| u32::from(source[from.pixel(x, y) + channel]);
            let upper = at(left, top) * (256 - to_right) + at(right, top) * to_right;
            let lower = at(left, bottom) * (256 - to_right) + at(right, bottom) * to_right;
            let value = (upper * (256 - to_bottom) + lower * to_bottom + 32_768) >> 16;
            target[to.pixel(x, y) + channel] = value as u8;
        }
    }
}

/// RGBA, each pixel with its neighbours: 1 2 1 in both directions; the border is repeated.
pub fn blur(source: &[u8], source_pitch_bytes: u32, target: &mut [u8], rows: Rows) {
    let from = Rows { pitch_bytes: source_pitch_bytes, ..rows };
    let beside = |at: u32, step: i64, count: u32| (i64::from(at) + step).clamp(0, i64::from(count) - 1) as u32;
    for (x, y) in rows.pixels() {
        for channel in 0..4 {
            let mut sum = 8;
            for down in -1..=1 {
                for across in -1..=1 {
                    let place = from.pixel(beside(x, across, rows.width), beside(y, down, rows.height));
                    sum += (2 - down.unsigned_abs()) * (2 - across.unsigned_abs()) * u64::from(source[place + channel]);
                }
            }
            target[rows.pixel(x, y) + channel] = (sum >> 4) as u8;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grey_stays_grey_and_colours_have_their_names() {
        let rows = Rows { pitch_bytes: 8, width: 2, height: 2 };
        let picture = |light: u8, blue: u8, red: u8| {
            let mut target = [0; 16];
            colour(&[light, light, light, light, blue, red], 2, &mut target, rows);
            [target[0], target[1], target[2], target[3]]
        };
        assert_eq!(picture(16, 128, 128), [0, 0, 0, 255]);
        assert_eq!(picture(235, 128, 128), [255, 255, 255, 255]);
        let [red, green, blue, _] = picture(63, 102, 240);
        assert!(red > 230 && green < 30 && blue < 30, "BT.709 red came out as {red} {green} {blue}");
    }

    #[test]
    fn the_same_size_is_the_same_picture_and_half_is_the_mean() {
        let source: Vec<u8> = (0..64).collect();
        let from = Rows { pitch_bytes: 16, width: 4, height: 4 };
        let mut same = vec![0; 64];
        scale(&source, from, &mut same, from);
        assert_eq!(same, source);
        let mut half = [0; 16];
        scale(&source, from, &mut half, Rows { pitch_bytes: 8, width: 2, height: 2 });
        assert_eq!(half[0], 10, "of 0, 4, 16 and 20");
    }

    #[test]
    fn a_blurred_surface_stays_and_a_point_spreads() {
        let rows = Rows { pitch_bytes: 12, width: 3, height: 3 };
        let mut target = [0; 36];
        blur(&[7; 36], 12, &mut target, rows);
        assert_eq!(target, [7; 36]);
        let mut point = [0; 36];
        point[rows.pixel(1, 1)] = 160;
        blur(&point, 12, &mut target, rows);
        let red: Vec<u8> = rows.pixels().map(|(x, y)| target[rows.pixel(x, y)]).collect();
        assert_eq!(red, [10, 20, 10, 20, 40, 20, 10, 20, 10]);
    }

    #[test]
    fn products_and_sums() {
        let mut product = [0.0; 4];
        multiply(&[1.0, 2.0, 3.0, 4.0], &[5.0, 6.0, 7.0, 8.0], &mut product, 2);
        assert_eq!(product, [19.0, 22.0, 43.0, 50.0]);
        assert_eq!(sum(&[u32::MAX, 1]), 1 << 32);
        let mut total = [0.0; 2];
        add(&[1.0, 2.0], &[0.5, 0.25], &mut total);
        assert_eq!(total, [1.5, 2.25]);
    }
}
