//! The files of the Python package.

use std::collections::BTreeMap;
use std::path::Path;

use super::failed;

/// The name by which programs import it.
pub const PACKAGE: &str = "overtake_gpu";
const FOLDER: &str = "crates/capi/python";

/// The contents of the package's files, by their names. Byte code that an interpreter left there is none of them.
pub fn sources(root: &Path) -> Result<BTreeMap<String, Vec<u8>>, String> {
    let folder = root.join(FOLDER).join(PACKAGE);
    let mut sources = BTreeMap::new();
    for entry in std::fs::read_dir(&folder).map_err(|error| failed(&folder, &error))? {
        let path = entry.map_err(|error| failed(&folder, &error))?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()).filter(|_| path.is_file()) else { continue };
        if [".py", ".pyi", ".typed"].iter().any(|end| name.ends_with(end)) {
            sources.insert(name.to_owned(), std::fs::read(&path).map_err(|error| failed(&path, &error))?);
        }
    }
    Ok(sources)
}
