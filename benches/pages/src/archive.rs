//! The archive of a question's runs, `reports/QUESTION/raw.tar.gz`: files `DEVICE/NAME`, each the text of a run or of
//! several. The same files make the same bytes, so that an archive changes only with its runs.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;

use flate2::read::GzDecoder;
use flate2::{Compression, GzBuilder};
use tar::{Archive, Builder, Header};

/// Its name in the folder of the question.
pub const NAME: &str = "raw.tar.gz";

/// The texts of an archive by their names; none if there is no archive.
///
/// # Errors
/// It cannot be read, or a file of it is not UTF-8.
pub fn read(path: &Path) -> Result<BTreeMap<String, String>, String> {
    if !path.exists() {
        return Ok(BTreeMap::new());
    }
    read_present(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn read_present(path: &Path) -> std::io::Result<BTreeMap<String, String>> {
    // To its end, so that its checksum is compared.
    let mut bytes = Vec::new();
    GzDecoder::new(os::file::open(path)?).read_to_end(&mut bytes)?;
    let mut texts = BTreeMap::new();
    for entry in Archive::new(&bytes[..]).entries()? {
        let mut entry = entry?;
        let name = entry.path()?.to_string_lossy().into_owned();
        let mut text = String::new();
        entry.read_to_string(&mut text)?;
        texts.insert(name, text);
    }
    Ok(texts)
}

/// Writes an archive of these texts.
///
/// # Errors
/// It cannot be written.
pub fn write(path: &Path, texts: &BTreeMap<String, String>) -> Result<(), String> {
    write_all(path, texts).map_err(|error| format!("{}: {error}", path.display()))
}

fn write_all(path: &Path, texts: &BTreeMap<String, String>) -> std::io::Result<()> {
    let mut builder = Builder::new(GzBuilder::new().write(Vec::new(), Compression::best()));
    for (name, text) in texts {
        // No time, no owner: the bytes depend on the texts alone.
        let mut header = Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        header.set_mtime(0);
        builder.append_data(&mut header, name, text.as_bytes())?;
    }
    os::file::write_whole(path, &builder.into_inner()?.finish()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_come_back_and_make_the_same_bytes_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(NAME);
        assert_eq!(read(&path), Ok(BTreeMap::new()), "no archive, no runs");
        let texts =
            [("h100/a.json", "{}"), ("soft/b.txt", "device: X\n")].map(|(name, text)| (name.into(), text.into()));
        let texts = BTreeMap::from(texts);
        write(&path, &texts).unwrap();
        assert_eq!(read(&path), Ok(texts.clone()));
        let bytes = std::fs::read(&path).unwrap();
        write(&path, &texts).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), bytes);
        std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
        assert!(read(&path).is_err(), "a part of an archive is none");
        let mut other = bytes;
        let checksum = other.len() - 8;
        other[checksum] ^= 1;
        std::fs::write(&path, other).unwrap();
        assert!(read(&path).is_err(), "its bytes are not those that were written");
    }
}
