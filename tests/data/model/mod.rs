//! Trials that need the model: calls fail, spans of virtual time are judged, objects are counted.

mod faults;
mod kept;
mod overlap;
mod real_time;
mod storms;
mod urgency;

use testkit::fixture::trial::{named, table};

use crate::failure::{Failure, Outcome};
use crate::machine;
use crate::rig::Rig;

pub type OnModel = fn() -> Outcome;

/// Checks that need the model.
pub const ALL: &[(&str, OnModel)] = table! { named;
    faults: of_an_upload of_a_download of_a_crossing every_call every_call_on_two every_call_elsewhere;
    kept: nothing nothing_of_a_run_elsewhere a_closed_dispatcher a_task_of_another_set_is_left
        a_wait_without_end_is_told a_thread_that_waits_at_the_end_is_told;
    overlap: more_chains_than_lanes;
    real_time: functions_submit late_accesses serial_submissions;
    storms: calls_fail;
    urgency: a_function_begins_at_once its_bytes_overtake_bulk a_shared_transfer_is_lifted;
};

/// Runs a check on a fresh software GPU that knows the kernels of the suite.
fn on<T>(check: impl FnOnce(&softgpu::SoftGpu, &Rig) -> Result<T, Failure>) -> Result<T, Failure> {
    machine::on(workloads::register, check)
}

/// The same in real time.
fn on_real_time<T>(check: impl FnOnce(&Rig) -> Result<T, Failure>) -> Result<T, Failure> {
    machine::on(real_time_model, |_, rig| check(rig))
}

/// One in real time.
pub fn real_time_model(builder: softgpu::Builder) -> softgpu::Builder {
    workloads::register(builder.clock(softgpu::Clock::FreeRunning))
}

/// The same with two devices.
fn on_two<T>(check: impl FnOnce(&softgpu::SoftGpu, &Rig) -> Result<T, Failure>) -> Result<T, Failure> {
    machine::on(|builder| workloads::register(builder.devices(2)), check)
}
