//! The proof that the suite can fail: for every bug that can be planted in the model, the checks that must find it.

use std::sync::Arc;

use hal::Driver;
use softgpu::{Planted, SoftGpu};

use crate::checks;
use crate::failure::{Failure, Outcome};
use crate::rig;

/// The checks that must fail with the bug in place. Without it the suite itself shows that they pass.
fn finders(bug: Planted) -> &'static [&'static str] {
    match bug {
        Planted::EventWaitIgnored => &["events::wait_orders_streams", "events::random_relay", "events::fork_and_join"],
        Planted::RowTailDropped => &["boxes::random_rectangles", "boxes::random_boxes", "boxes::tightly_packed"],
        Planted::WaitComparesWrong => &["memops::geq_is_cyclic", "memops::width_of_waits"],
        Planted::PageableReadLate => &["pageable::source_is_consumed", "pageable::source_is_consumed_behind_a_gate"],
        Planted::MemsetOvertakesCopy => &["order::random_program", "order::copy_then_memset"],
    }
}

/// Plants the bug and runs the checks that must find it, each on a model of its own.
pub fn is_found(bug: Planted) -> Outcome {
    for case in checks::named(finders(bug)) {
        let driver: Arc<dyn Driver> = Arc::new(SoftGpu::builder().devices(2).plant(bug).build());
        if rig::run(case.check, &driver).is_ok() {
            return Err(Failure::new(format_args!("{} passes with {bug:?} planted", case.name)));
        }
    }
    Ok(())
}
