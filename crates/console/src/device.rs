//! A device in use: its primary context, current on this thread, released at the end.

use std::sync::Arc;

use hal::{Code, Device, Driver, Result};

/// A retained primary context.
pub struct OpenDevice {
    driver: Arc<dyn Driver>,
    device: Device,
}

impl OpenDevice {
    /// Retains the device's primary context and makes it current on the calling thread.
    pub fn open(driver: &Arc<dyn Driver>, ordinal: i32) -> Result<OpenDevice> {
        let count = driver.device_count()?;
        if !(0..count).contains(&ordinal) {
            let text =
                format!("there is no device {ordinal}: there are {count}, counted from 0; `overtake info` lists them");
            return Err(Code::INVALID_DEVICE.at("cuDeviceGet").because(text));
        }
        let device = Device(ordinal);
        let context = driver.primary_context_retain(device)?;
        // It is built before the next call that can fail, so that an error releases the context.
        let open = OpenDevice { driver: Arc::clone(driver), device };
        driver.context_set_current(Some(context))?;
        Ok(open)
    }

    /// The device.
    #[must_use]
    pub fn device(&self) -> Device {
        self.device
    }
}

impl Drop for OpenDevice {
    fn drop(&mut self) {
        // The command is over either way, and the process is about to end.
        let _ = self.driver.context_set_current(None);
        let _ = self.driver.primary_context_release(self.device);
    }
}
