//! Events.
#![allow(unsafe_code)]
#![allow(non_snake_case)]

use abi::Flavour;
use abi::types::*;
use hal::{Code, Driver, Event, EventFlags};

use crate::answer::{Answer, Out, refuse, require};
use crate::soft::{gpu, number, pointer, stream};

/// Events between processes are not modelled.
fn event_flags(flags: c_uint) -> Answer<EventFlags> {
    let known = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
    let shared = CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING;
    require(flags & !known == 0, Code::INVALID_VALUE)?;
    match flags & shared {
        CU_EVENT_INTERPROCESS => refuse(Code::INVALID_VALUE),
        both if both == shared => refuse(Code::NOT_SUPPORTED),
        _ => Ok(EventFlags(flags)),
    }
}

pub unsafe fn cuEventCreate(_: Flavour, ph_event: *mut CUevent, flags: c_uint) -> Answer {
    let gpu = gpu()?;
    // SAFETY: the caller's promise for this output.
    let out = unsafe { Out::new(ph_event) }?;
    out.set(pointer(gpu.event_create(event_flags(flags)?)?.0));
    Ok(())
}

pub unsafe fn cuEventDestroy_v2(_: Flavour, h_event: CUevent) -> Answer {
    Ok(gpu()?.event_destroy(Event(number(h_event)))?)
}

pub unsafe fn cuEventRecord(flavour: Flavour, h_event: CUevent, h_stream: CUstream) -> Answer {
    Ok(gpu()?.event_record(Event(number(h_event)), stream(flavour, h_stream))?)
}

pub unsafe fn cuEventRecordWithFlags(flavour: Flavour, h_event: CUevent, h_stream: CUstream, flags: c_uint) -> Answer {
    gpu()?;
    match flags {
        // SAFETY: no pointer is followed.
        CU_EVENT_RECORD_DEFAULT => unsafe { cuEventRecord(flavour, h_event, h_stream) },
        CU_EVENT_RECORD_EXTERNAL => refuse(Code::NOT_SUPPORTED),
        _ => refuse(Code::INVALID_VALUE),
    }
}

pub unsafe fn cuEventQuery(_: Flavour, h_event: CUevent) -> Answer {
    let done = gpu()?.event_query(Event(number(h_event)))?;
    require(done, Code::NOT_READY)
}

pub unsafe fn cuEventSynchronize(_: Flavour, h_event: CUevent) -> Answer {
    Ok(gpu()?.event_synchronize(Event(number(h_event)))?)
}

pub unsafe fn cuEventElapsedTime(_: Flavour, p_milliseconds: *mut f32, h_start: CUevent, h_end: CUevent) -> Answer {
    let gpu = gpu()?;
    // SAFETY: the caller's promise for this output.
    let out = unsafe { Out::new(p_milliseconds) }?;
    out.set(gpu.event_elapsed_ms(Event(number(h_start)), Event(number(h_end)))?);
    Ok(())
}

pub unsafe fn cuEventElapsedTime_v2(
    flavour: Flavour,
    p_milliseconds: *mut f32,
    h_start: CUevent,
    h_end: CUevent,
) -> Answer {
    // SAFETY: the same promise.
    unsafe { cuEventElapsedTime(flavour, p_milliseconds, h_start, h_end) }
}
