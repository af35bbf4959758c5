//! What a heap and its blocks share. The lock is held for a few statements, and never across a driver call.

use std::sync::{Mutex, MutexGuard};

use hal::Result;
use hal::locks::lock;

use crate::heap::book::{Book, Place, Request, Taken};
use crate::heap::source::Source;
use crate::heap::{Closed, HeapOptions, HeapStatistics, Space};

pub(super) struct Shared {
    book: Mutex<Book>,
    source: Source,
}

impl Shared {
    pub(super) fn new(source: Source, options: HeapOptions) -> Shared {
        Shared { book: Mutex::new(Book::new(source.space(), options)), source }
    }

    pub(super) fn space(&self) -> Space {
        self.source.space()
    }

    /// A block, if need be in a new page.
    pub(super) fn take(&self, request: &Request<'_>) -> Result<Taken> {
        request.check()?;
        loop {
            let page_bytes = {
                let mut book = self.book()?;
                match book.take(request) {
                    Some(taken) => return Ok(taken),
                    None => book.admit(request, self.source.is_free_running())?,
                }
            };
            // Another thread may take the page's room first.
            self.grow(page_bytes)?;
        }
    }

    /// Has at least so many bytes in pages.
    pub(super) fn reserve(&self, bytes: u64) -> Result<()> {
        loop {
            let admitted = self.book()?.admit_reserve(bytes, self.source.is_free_running())?;
            let Some(page_bytes) = admitted else { return Ok(()) };
            self.grow(page_bytes)?;
        }
    }

    /// Makes a page that was admitted.
    fn grow(&self, page_bytes: u64) -> Result<()> {
        let in_order = self.book()?.pauses == 0;
        match self.source.make(page_bytes, in_order) {
            Ok(memory) => {
                self.book()?.add(memory);
                Ok(())
            }
            Err(error) => {
                self.book()?.cancel(page_bytes);
                Err(error)
            }
        }
    }

    pub(super) fn give(&self, place: &Place) {
        let Ok(mut book) = self.book() else { return };
        let emptied = book.give(place);
        drop(book);
        // The heap has been closed: there is no caller left to tell.
        if let Some(memory) = emptied
            && let Err(error) = self.source.free(&memory)
        {
            log::warn!("a page of {} bytes could not be given back, and is lost: {error}", memory.bytes);
        }
    }

    /// The books, for a few statements. In the child of a fork another thread may have had them: there is nothing to
    /// take, and nothing goes.
    pub(super) fn book(&self) -> Result<MutexGuard<'_, Book>> {
        self.source.may_enter().map(|()| lock(&self.book))
    }

    pub(super) fn statistics(&self) -> HeapStatistics {
        let none = || Book::new(self.space(), HeapOptions::default()).statistics();
        self.book().map_or_else(|_| none(), |book| book.statistics())
    }

    /// Gives empty pages back until at most `keep_bytes` are left: the bytes that went.
    pub(super) fn trim(&self, keep_bytes: u64) -> Result<u64> {
        let mut gone_bytes = 0;
        loop {
            let emptied = self.book()?.trim(keep_bytes);
            let Some(memory) = emptied else { return Ok(gone_bytes) };
            self.source.free(&memory)?;
            gone_bytes += memory.bytes;
        }
    }

    /// Gives all empty pages back. Others go with their last blocks.
    pub(super) fn close(&self) -> Closed {
        let Ok(mut book) = self.book() else {
            return Closed { space: self.space(), leaks: Vec::new(), left_bytes: 0, error: None };
        };
        let (empty, mut closed) = book.close();
        drop(book);
        for memory in empty {
            if let Err(error) = self.source.free(&memory) {
                closed.error = Some(error);
            }
        }
        closed
    }
}
