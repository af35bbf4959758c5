//! The copy layer of a dispatcher: the one of this library in the current context; or one that passes copies on, where
//! overtake is off, and under the drop-in, which sees them there.

use std::sync::Arc;

use copies::{Options, Overtake, Priorities};
use hal::{Context, Driver};
use overtake::context::CudaContext;

use crate::codes::{OVERTAKE_ERROR_NO_DRIVER, OVERTAKE_ERROR_OFF};
use crate::exports::overtake_priorities;
use crate::failure::{Failure, Outcome};
use crate::native;
use crate::provider::table;

/// The layer, and whether copies go through the drop-in.
pub fn open() -> Outcome<(Arc<Overtake>, bool)> {
    let table = table();
    if !std::ptr::eq(table, shim::table()) {
        // Also the table of a process that has switched overtake off, which makes no copies.
        let is_relayed = !std::ptr::eq(table, &raw const crate::off::TABLE);
        return Ok((plain()?, is_relayed));
    }
    match shim::layer() {
        Ok(layer) => Ok((layer, false)),
        Err((code, text)) if code == OVERTAKE_ERROR_NO_DRIVER => Err(Failure::new(code, &text)),
        Err((code, text)) => {
            let plain = plain()?;
            if code != OVERTAKE_ERROR_OFF {
                log::warn!("tasks run, but their copies have no priorities, because overtake cannot open here: {text}");
            }
            Ok((plain, false))
        }
    }
}

/// The same in this context. The calling thread's own is current again afterwards.
pub fn open_in(context: u64) -> Outcome<(Arc<Overtake>, bool)> {
    let driver = native::driver()?;
    let before = driver.context_current()?;
    driver.context_set_current(Some(Context(context)))?;
    let opened = open();
    driver.context_set_current(before)?;
    opened
}

/// A layer that makes plain copies.
fn plain() -> Outcome<Arc<Overtake>> {
    let driver: Arc<dyn Driver> = native::driver()?;
    let count = u8::try_from(overtake_priorities()).ok().and_then(Priorities::new);
    let priorities = count.unwrap_or_else(|| Options::default().priorities);
    let options =
        Options { enabled: false, priorities, ..Options::default() }.with_profile(|profile| profile.channels = false);
    Ok(Arc::new(Overtake::open_in(&CudaContext::adopt_current(&driver)?, options)?))
}
