//! Opening a pipeline, its counts and its records.
#![allow(unsafe_code)] // symbols that C finds by name, and C's pointers

use std::ffi::c_int;
use std::sync::Arc;

use overtake::heap::{Heap, HeapOptions, Space};
use overtake::pipeline::{Pipeline, StageBuffer};

use crate::failure::{Outcome, catch};
use crate::pipelines::end::{self, Stage, overtake_pipeline_end};
use crate::pipelines::failure;
use crate::pipelines::options::{
    FRAME_RECORD_BYTES_MIN, FrameTimes, PIPELINE_OPTIONS_BYTES_MIN, PIPELINE_STATISTICS_BYTES_MIN, PipelineCounts,
    PipelineSpec, read,
};
use crate::sized::{self, bytes_of};
use crate::tasks::callback::refuse_inside;
use crate::tasks::dispatcher::{Home, free, layers_of, output, refuse_in_child};
use crate::tasks::handles::{HandleKind, Handles};
use crate::tasks::set::{self, overtake_tasks};
use crate::tasks::task::text_of;

/// A pipeline, seen from beside it: its counts and its records.
#[repr(C)]
#[allow(non_camel_case_types)] // C's name
pub struct overtake_pipeline {
    _private: [u8; 0],
}

struct Opened {
    pipeline: Arc<Pipeline<Stage>>,
    home: Home,
}

static PIPELINES: Handles<Opened> = Handles::new(HandleKind::Pipeline);

/// Frees the pipelines of a dispatcher that is closed.
pub fn forget(home: Home) {
    drop(PIPELINES.remove_all(|opened| opened.home == home));
}

/// Opens a pipeline: frames from a producer to a consumer, each in a stage with a buffer in pinned memory of the host
/// and one in memory of the device. Nothing is allocated for a frame. The copies and tasks of its frames are tasks of
/// `tasks`, on the first device of the dispatcher.
///
/// The three handles are of the pipeline's counts and records (overtake_pipeline_free), and of its two ends
/// (overtake_pipeline_leave).
///
/// Threads: any, but not in the function of a task.
///
/// # Safety
/// `options` points at a structure of the size that its struct_size says, with a NUL-terminated string; `pipeline`,
/// `producer` and `consumer` point at handles.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_pipeline_open(
    tasks: *mut overtake_tasks,
    options: *const PipelineSpec,
    pipeline: *mut *mut overtake_pipeline,
    producer: *mut *mut overtake_pipeline_end,
    consumer: *mut *mut overtake_pipeline_end,
) -> c_int {
    const CALL: &str = "overtake_pipeline_open";
    catch(CALL, || {
        let outputs = (output(CALL, "pipeline", pipeline)?, output(CALL, "producer", producer)?);
        let consumer = output(CALL, "consumer", consumer)?;
        refuse_inside(CALL)?;
        // SAFETY: the caller's promise; bytes of 0 are numbers and null pointers.
        let spec = unsafe { sized::read(CALL, "options", options, PIPELINE_OPTIONS_BYTES_MIN) }?;
        // SAFETY: the caller's promise.
        let name = unsafe { text_of(CALL, "name", spec.name) }?.unwrap_or("unnamed");
        let needs = || format!("pipeline \"{name}\" needs a set of a dispatcher that is open");
        let (set, home) = set::find(CALL, tasks).map_err(|failure| failure.because(&needs()))?;
        let options = read(CALL, &spec, name)?;
        let behind = options.behind;
        let layers = layers_of(CALL, home)?;
        let heap = |space| Heap::open_beside(&layers[0], space, HeapOptions::default());
        let heaps = Arc::new([heap(Space::Pinned)?, heap(Space::Device)?]);
        let make = |_| {
            let buffer = StageBuffer::new(&heaps[0], &heaps[1], spec.bytes)?;
            Ok(Stage::new(buffer, &heaps))
        };
        let opened = Pipeline::open(&set, options, make).map_err(|error| failure(CALL, error))?;
        let (opened, filler, emptier) = opened;
        let opened = Opened { pipeline: Arc::new(opened), home };
        // Where the dispatcher is closed between two of them, that takes the first back.
        let opened = PIPELINES.add_to(CALL, home, opened)?;
        let filler = end::add_producer(CALL, filler, behind, (&set, home))?;
        let emptier = end::add_consumer(CALL, emptier, behind, (&set, home))?;
        // SAFETY: not null, and the caller's.
        unsafe {
            outputs.0.write(opened);
            outputs.1.write(filler);
            consumer.write(emptier);
        }
        Ok(())
    })
}

/// Frees the handle of a pipeline. Its ends go on, and records that were not taken are lost.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn overtake_pipeline_free(pipeline: *mut overtake_pipeline) -> c_int {
    free("overtake_pipeline_free", &PIPELINES, pipeline)
}

fn find(call: &str, pipeline: *const overtake_pipeline) -> Outcome<Arc<Pipeline<Stage>>> {
    refuse_in_child(call)?;
    PIPELINES.with(call, pipeline, |opened| Arc::clone(&opened.pipeline))
}

/// The counts so far. The structure is written only if the call succeeds; struct_size is then the number of bytes that
/// the library knows.
///
/// Threads: any.
///
/// # Safety
/// `statistics` points at a structure of the size that its struct_size says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_pipeline_read_statistics(
    pipeline: *mut overtake_pipeline,
    statistics: *mut PipelineCounts,
) -> c_int {
    const CALL: &str = "overtake_pipeline_read_statistics";
    catch(CALL, || {
        let fresh = PipelineCounts::from(find(CALL, pipeline)?.statistics());
        // SAFETY: the caller's promise.
        unsafe { sized::write(CALL, "statistics", statistics, PIPELINE_STATISTICS_BYTES_MIN, &fresh) }
    })
}

/// Takes the record of a frame that has ended, in the order of their ends. `end` is 0 in it if there is none.
///
/// Threads: any.
///
/// # Safety
/// `record` points at a structure of the size that its struct_size says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_pipeline_take_record(
    pipeline: *mut overtake_pipeline,
    record: *mut FrameTimes,
) -> c_int {
    const CALL: &str = "overtake_pipeline_take_record";
    catch(CALL, || {
        output(CALL, "record", record)?;
        let pipeline = find(CALL, pipeline)?;
        let none = FrameTimes { struct_size: bytes_of::<FrameTimes>(), ..FrameTimes::default() };
        // A record that cannot be written is not taken.
        // SAFETY: the caller's promise.
        unsafe { sized::check(CALL, "record", record, FRAME_RECORD_BYTES_MIN)? };
        let taken = pipeline.take_record().map_or(none, FrameTimes::from);
        // SAFETY: as above.
        unsafe { sized::write(CALL, "record", record, FRAME_RECORD_BYTES_MIN, &taken) }
    })
}
