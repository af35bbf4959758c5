//! Where numbers come from: the header of everything that is written as JSON.

use hal::Device;
use overtake::driver::Opened;
use report::Header;

use crate::failure::Result;
use crate::{environment, version};

/// The header of a run on `device`.
pub fn header(opened: &Opened, device: Device) -> Result<Header> {
    let driver = &opened.driver;
    let command: Vec<String> = std::env::args().skip(1).collect();
    Ok(Header {
        version: version::VERSION.to_owned(),
        commit: version::COMMIT.to_owned(),
        command: format!("overtake {}", command.join(" ")),
        device: driver.device_name(device)?,
        driver: version::driver_version(driver.version()?),
        backend: driver.backend().to_owned(),
        environment: environment::relevant(environment::variables()),
    })
}
