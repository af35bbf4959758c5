//! Pictures from files: Y4M, raw, and other files that ffmpeg reads where it is installed.

use std::path::Path;
use std::process::{Command, Stdio};

use console::failure::{Failure, Result};
use os::file;
use workloads::{Pictures, Pixels};

use crate::film::SOURCES;

/// More of a file is not read.
const BYTES_MAX: u64 = 1 << 30;
const MAGIC: &[u8] = b"YUV4MPEG2";

/// The first pictures of a file, in the layout of these. They go round if they are fewer than [`SOURCES`].
pub fn read(path: &Path, pictures: Pictures) -> Result<Vec<Vec<u8>>> {
    let fail = |reason: String| Failure::Other(format!("{}: {reason}", path.display()));
    let is_raw = path.extension().is_some_and(|end| ["raw", "yuv", "nv12", "rgba"].iter().any(|one| end == *one));
    let is_y4m = path.extension().is_some_and(|end| end == "y4m");
    let bytes = match is_raw || is_y4m {
        true => file::read(path, BYTES_MAX).map_err(|error| fail(error.to_string()))?,
        false => decode(path, pictures).map_err(&fail)?,
    };
    let found = if bytes.starts_with(MAGIC) { y4m(&bytes, pictures) } else { raw(&bytes, pictures) };
    let found = found.map_err(&fail)?;
    if found.is_empty() {
        return Err(fail("it has no whole picture".to_owned()));
    }
    Ok(found.iter().cycle().take(SOURCES).cloned().collect())
}

/// Has ffmpeg read a file of any other kind. Its pictures come in the size of these.
fn decode(path: &Path, pictures: Pictures) -> std::result::Result<Vec<u8>, String> {
    let (size, count) = (pictures.size, SOURCES.to_string());
    let scale = format!("scale={}:{}", size.width, size.height);
    let mut ffmpeg = Command::new("ffmpeg");
    ffmpeg.args(["-v", "error", "-nostdin", "-i"]).arg(path).args(["-vf", &scale, "-frames:v", &count]);
    match pictures.pixels {
        Pixels::Nv12 => ffmpeg.args(["-pix_fmt", "yuv420p", "-f", "yuv4mpegpipe", "-strict", "-1", "-"]),
        Pixels::Rgba => ffmpeg.args(["-pix_fmt", "rgba", "-f", "rawvideo", "-"]),
    };
    let output = ffmpeg.stdin(Stdio::null()).output().map_err(|_| {
        "it is neither Y4M (.y4m) nor raw (.raw, .yuv, .nv12, .rgba), and ffmpeg, which reads others, cannot be run"
            .to_owned()
    })?;
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(output.stdout) } else { Err(format!("ffmpeg: {}", said.trim())) }
}

/// Pictures one after another, without a header and without padding.
fn raw(bytes: &[u8], pictures: Pictures) -> std::result::Result<Vec<Vec<u8>>, String> {
    let (width, height) = (pictures.size.width as usize, pictures.size.height as usize);
    let (row, rows) = match pictures.pixels {
        Pixels::Nv12 => (width, height + height / 2),
        Pixels::Rgba => (4 * width, height),
    };
    if !bytes.len().is_multiple_of(row * rows) {
        return Err(format!("its {} bytes are no number of pictures of {} bytes", bytes.len(), row * rows));
    }
    Ok(bytes.chunks_exact(row * rows).take(SOURCES).map(|one| pitched(one, row, pictures)).collect())
}

/// The rows of a picture, each at a multiple of the pitch.
fn pitched(bytes: &[u8], row: usize, pictures: Pictures) -> Vec<u8> {
    let pitch = pictures.rows().pitch_bytes as usize;
    let mut picture = vec![0; pictures.bytes() as usize];
    for (source, target) in bytes.chunks_exact(row).zip(picture.chunks_exact_mut(pitch)) {
        target[..row].copy_from_slice(source);
    }
    picture
}

/// A Y4M file of the same size, with one value of colour for four pixels.
fn y4m(bytes: &[u8], pictures: Pictures) -> std::result::Result<Vec<Vec<u8>>, String> {
    if pictures.pixels != Pixels::Nv12 {
        return Err("a Y4M file has pictures for cameras of nv12".to_owned());
    }
    let mut rest = bytes;
    let header = line(&mut rest).ok_or("its header has no end")?;
    let value = |key: char| header.split(' ').skip(1).find_map(|word| word.strip_prefix(key));
    let size = |key| value(key).and_then(|text| text.parse::<u32>().ok());
    let (width, height) = (pictures.size.width, pictures.size.height);
    if (size('W'), size('H')) != (Some(width), Some(height)) {
        return Err(format!("its pictures are no {width} x {height}: {header}"));
    }
    if value('C').is_some_and(|colour| !colour.starts_with("420") || colour.contains('p') && colour.ends_with("10")) {
        return Err(format!("its colours are not C420: {header}"));
    }
    let (light, colour) = (width as usize * height as usize, (width as usize / 2) * (height as usize / 2));
    let mut found = Vec::new();
    while found.len() < SOURCES && !rest.is_empty() {
        let frame = line(&mut rest).filter(|frame| frame.starts_with("FRAME")).ok_or("a frame has no header")?;
        let Some((planes, after)) = rest.split_at_checked(light + 2 * colour) else {
            return Err(format!("its frame {} is cut short after {frame:?}", found.len()));
        };
        let (blue, red) = planes[light..].split_at(colour);
        let pairs = blue.iter().zip(red).flat_map(|(blue, red)| [*blue, *red]);
        let nv12: Vec<u8> = planes[..light].iter().copied().chain(pairs).collect();
        found.push(pitched(&nv12, width as usize, pictures));
        rest = after;
    }
    Ok(found)
}

/// The next line, as text; the rest begins behind it.
fn line<'b>(rest: &mut &'b [u8]) -> Option<&'b str> {
    let end = rest.iter().position(|byte| *byte == b'\n')?;
    let (line, after) = rest.split_at(end);
    *rest = &after[1..];
    std::str::from_utf8(line).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str) -> Pictures {
        name.parse().unwrap()
    }

    /// A picture of 640 x 360 whose bytes tell their places.
    fn planes() -> (Vec<u8>, Vec<u8>, Vec<u8>) {
        let plane = |bytes: usize, first: u8| (0..bytes).map(|at| first.wrapping_add(at as u8)).collect();
        (plane(640 * 360, 0), plane(320 * 180, 50), plane(320 * 180, 100))
    }

    fn file(header: &str, frames: usize) -> Vec<u8> {
        let (light, blue, red) = planes();
        let frame = [&b"FRAME Ip\n"[..], &light, &blue, &red].concat();
        [header.as_bytes().to_vec(), frame.repeat(frames)].concat()
    }

    #[test]
    fn y4m_becomes_rows_with_colours_in_pairs() {
        let pictures = of("360p30:nv12");
        let found = y4m(&file("YUV4MPEG2 W640 H360 F30:1 C420jpeg\n", 4), pictures).unwrap();
        assert_eq!(found.len(), SOURCES);
        let (pitch, picture, (light, blue, red)) = (pictures.rows().pitch_bytes as usize, &found[2], planes());
        assert_eq!((pitch, picture.len() as u64), (768, pictures.bytes()));
        assert_eq!(
            (&picture[pitch..pitch + 640], picture[640]),
            (&light[640..1280], 0),
            "a row, and the gap before it"
        );
        let colours = &picture[360 * pitch + pitch..][..4];
        assert_eq!(colours, [blue[320], red[320], blue[321], red[321]]);
    }

    #[test]
    fn files_that_do_not_fit_are_refused() {
        let pictures = of("360p30:nv12");
        let refused = |bytes: &[u8]| y4m(bytes, pictures).unwrap_err();
        assert!(refused(&file("YUV4MPEG2 W640 H480\n", 1)).contains("no 640 x 360"));
        assert!(refused(&file("YUV4MPEG2 W640 H360 C444\n", 1)).contains("C420"));
        let whole = file("YUV4MPEG2 W640 H360\n", 1);
        assert!(refused(&whole[..whole.len() - 1]).contains("cut short"));
        assert!(refused(b"YUV4MPEG2 W640 H360").contains("no end"));
        assert!(y4m(&whole, of("360p30:rgba")).is_err());
        assert!(raw(&whole, pictures).unwrap_err().contains("no number of pictures"));
    }

    #[test]
    fn raw_pictures_come_in_the_layout_of_the_device() {
        let pictures = of("360p30:rgba");
        let bytes: Vec<u8> = (0..2 * 4 * 640 * 360_usize).map(|at| (at / 7) as u8).collect();
        let found = raw(&bytes, pictures).unwrap();
        assert_eq!((found.len(), &found[1][..]), (2, &bytes[4 * 640 * 360..]), "rows of RGBA need no gap");
        let light = [7_u8; 640 * 540];
        let found = raw(&light, of("360p30:nv12")).unwrap();
        assert_eq!((found[0][639], found[0][640], found[0][768]), (7, 0, 7));
    }

    #[test]
    fn few_pictures_go_round() {
        let name = format!("overtake-frames-{}.y4m", std::process::id());
        let path = std::env::temp_dir().join(name);
        os::file::write_whole(&path, &file("YUV4MPEG2 W640 H360\n", 2)).unwrap();
        let found = read(&path, of("360p30:nv12")).unwrap();
        assert!(found.len() == SOURCES && found[0] == found[2]);
        let missing = read(Path::new("nothing.y4m"), of("360p30:nv12")).unwrap_err();
        assert!(missing.to_string().contains("nothing.y4m"), "{missing}");
        let _ = std::fs::remove_file(path);
    }
}
