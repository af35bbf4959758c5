//! Admissions: places for frames at work at once, of all pipelines that share them.
#![allow(unsafe_code)] // symbols that C finds by name, and C's pointers

use std::ffi::c_int;
use std::num::NonZeroU32;
use std::sync::Arc;

use overtake::pipeline::Admission;

use crate::failure::{Failure, Outcome, catch};
use crate::tasks::dispatcher::{free, output, refuse_in_child};
use crate::tasks::handles::{HandleKind, Handles};

/// Places for frames at work at once, of all pipelines that have it in their options.
#[repr(C)]
#[allow(non_camel_case_types)] // C's name
pub struct overtake_admission {
    _private: [u8; 0],
}

static ADMISSIONS: Handles<Arc<Admission>> = Handles::new(HandleKind::Admission);

/// Makes an admission with so many places. Pipelines that have it in their options have no more frames at work than
/// that, all together: a frame is admitted when the work of one before it has ended, those of the highest priority
/// first, then that of the consumer whose last frame was admitted longest ago. Until then a newer frame may take its
/// place. In an overload a frame that has begun has the link nearly to itself; a few places keep the link busy.
///
/// A thread that holds a frame and waits for another one needs a place for each.
///
/// Threads: any.
///
/// # Safety
/// `admission` points at a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_admission_open(places: u32, admission: *mut *mut overtake_admission) -> c_int {
    const CALL: &str = "overtake_admission_open";
    catch(CALL, || {
        refuse_in_child(CALL)?;
        let output = output(CALL, "admission", admission)?;
        let none =
            || Failure::argument(&format!("{CALL}: places is 0: set it to the frames that may be at work at once"));
        let places = NonZeroU32::new(places).ok_or_else(none)?;
        // SAFETY: not null, and the caller's.
        unsafe { output.write(ADMISSIONS.add(Admission::new(places))) };
        Ok(())
    })
}

/// Frees the handle of an admission. Pipelines that have it keep it.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn overtake_admission_free(admission: *mut overtake_admission) -> c_int {
    free("overtake_admission_free", &ADMISSIONS, admission)
}

/// The admission of a pipeline's options: none for null.
pub fn find(call: &str, admission: *const overtake_admission) -> Outcome<Option<Arc<Admission>>> {
    if admission.is_null() {
        return Ok(None);
    }
    ADMISSIONS.with(call, admission, Arc::clone).map(Some)
}
