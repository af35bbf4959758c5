//! What the layer says in the log.

use std::cell::RefCell;
use std::sync::Once;

thread_local! {
    static LINES: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Keeps warnings of the thread that says them: tests run beside each other.
struct Keeper;

impl log::Log for Keeper {
    fn enabled(&self, metadata: &log::Metadata<'_>) -> bool {
        metadata.level() <= log::Level::Warn
    }

    fn log(&self, record: &log::Record<'_>) {
        if self.enabled(record.metadata()) {
            LINES.with_borrow_mut(|lines| lines.push(record.args().to_string()));
        }
    }

    fn flush(&self) {}
}

/// The value, and the warnings of this thread meanwhile.
pub fn by<T>(body: impl FnOnce() -> T) -> (T, Vec<String>) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        log::set_logger(&Keeper).expect("the only one of this program");
        log::set_max_level(log::LevelFilter::Warn);
    });
    LINES.with_borrow_mut(Vec::clear);
    let value = body();
    (value, LINES.with_borrow_mut(std::mem::take))
}
