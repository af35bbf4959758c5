//! The origin of numbers: the header of all JSON.

use backend::Opened;
use hal::Device;
use report::Header;

use crate::failure::Result;
use crate::{environment, version};

/// The name of the command.
pub const COMMAND: &str = "overtake";

/// The header of a run of `program`, which is this process, on `device`.
pub fn header(program: &str, opened: &Opened, device: Device) -> Result<Header> {
    let driver = &opened.driver;
    let command: Vec<String> = std::env::args().skip(1).map(|word| without_folder(&word)).collect();
    let environment = environment::relevant(environment::variables());
    Ok(Header {
        version: overtake::VERSION.to_owned(),
        commit: overtake::COMMIT.to_owned(),
        command: format!("{program} {}", command.join(" ")),
        product: report::PRODUCT,
        device: driver.device_name(device)?,
        driver: version::driver_version(driver.version()?),
        driver_release: (driver.backend() == "cuda").then(version::driver_release).flatten(),
        backend: driver.backend().to_owned(),
        environment: environment.into_iter().map(|(name, value)| (name, without_folder(&value))).collect(),
    })
}

/// A word without the folder of an absolute path: folders exist on one machine only and say nothing about a run.
fn without_folder(word: &str) -> String {
    let (option, path) = word.split_once('=').filter(|(_, path)| path.starts_with('/')).unwrap_or(("", word));
    if !path.starts_with('/') {
        return word.to_owned();
    }
    let name = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    if option.is_empty() { name.to_owned() } else { format!("{option}={name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_one_machine_are_left_out() {
        let shown =
            ["/a/b/c.json", "--json=/a/b/c.json", "a/b.json", "--set=x=1", "/a/lib/", "64K,1M"].map(without_folder);
        assert_eq!(shown, ["c.json", "--json=c.json", "a/b.json", "--set=x=1", "lib", "64K,1M"]);
    }
}
