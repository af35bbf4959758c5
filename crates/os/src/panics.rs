//! Turns panics of the layer into messages. The runtime's own hook writes to standard error without checking that
//! there is room, or a reader.

use std::panic::PanicHookInfo;

use log::Level;

use crate::messages;

/// Sends every later panic through the door of messages.
pub(crate) fn speak() {
    std::panic::set_hook(Box::new(|panic| messages::pass(Level::Error, &text(panic))));
}

fn text(panic: &PanicHookInfo<'_>) -> String {
    let thread = std::thread::current();
    let place = panic.location().map_or_else(|| "an unknown place".to_owned(), ToString::to_string);
    let (text, literal) = (panic.payload().downcast_ref::<String>(), panic.payload().downcast_ref::<&str>());
    let why = text.map(String::as_str).or(literal.copied()).unwrap_or("no reason");
    let name = thread.name().unwrap_or("of the program");
    format!("a defect of overtake, please report it: thread {name} panicked at {place}: {why}")
}
