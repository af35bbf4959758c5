//! One page about runs: origin, headline ratio, figures and every number, several runs side by side.
//!
//! A run is a JSON object with a header and rows, as every `overtake bench … --json` writes it, the report of
//! `overtake run --json`, or a trace. Rows may have fields that nothing here knows: the table shows them all.
//! [`read()`] takes a file apart, [`page()`] makes the document.

mod beside;
mod cells;
mod figures;
mod headline;
mod own;
mod page;
mod read;
mod table;

pub use headline::{Headline, headlines};
pub use own::{Finding, Own};
pub use page::page;
pub use read::{Stored, read};
