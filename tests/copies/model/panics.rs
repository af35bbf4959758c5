//! The program's logger panics on a thread of the layer: the program goes on.

use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use hal::Nanos;
use log::{LevelFilter, Log, Metadata, Record};
use overtake::copy::{Plan, Reason};
use overtake::options::Transport;

use crate::bed;
use crate::checks::guard::{Filled, options};

use crate::failure::{Outcome, ensure, same};
use crate::model::on;
use crate::model::stall::Stall;

/// A number that appears in no other check's messages; it identifies those of these checks.
const PATIENCE: Nanos = Nanos::from_us(21_017);
const RESCUES_MAX: u32 = 4;

/// Whether the message of the rescuer has panicked, and that of the watcher.
static PANICKED: [AtomicBool; 2] = [const { AtomicBool::new(false) }; 2];

struct Clumsy;

impl Log for Clumsy {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &Record<'_>) {
        let text = record.args().to_string();
        let ours = [format!("for {PATIENCE}"), format!("after {RESCUES_MAX} rescues")];
        if let Some((ours, panicked)) = ours.iter().zip(&PANICKED).find(|(ours, _)| text.contains(*ours)) {
            panicked.store(true, Ordering::SeqCst);
            panic!("a logger that panics at {ours}: {text}");
        }
    }

    fn flush(&self) {}
}

fn log_clumsily() {
    static SET: Once = Once::new();
    SET.call_once(|| {
        log::set_logger(&Clumsy).expect("no other check sets a logger");
        log::set_max_level(LevelFilter::Warn);
    });
}

/// The rescuer's message about giving up panics, and its copy is made nevertheless.
pub fn of_the_rescuer() -> Outcome {
    log_clumsily();
    on(
        |builder| builder,
        |_, rig| {
            let mut options = options();
            options.guard.patience = PATIENCE;
            let overtake = bed::open(rig, options)?;
            let filled = Filled::new(rig, &overtake)?;
            for round in 0..8 {
                let bulk = filled.begin(1, round)?;
                filled.release()?;
                filled.end(round)?;
                let natively = bulk[0].plan() == Plan::Native(Reason::NoKernel);
                same("whether it went natively", &natively, &(round >= 4))?;
                rig.driver().host().sleep(Nanos::from_ms(30));
            }
            ensure!(PANICKED[0].load(Ordering::SeqCst), "no message has panicked");
            Ok(())
        },
    )
}

/// The watcher's message about standing down panics, and copies go natively from then on.
pub fn of_the_watcher() -> Outcome {
    log_clumsily();
    on(
        |builder| builder,
        |gpu, rig| {
            let mut options = bed::transport(Transport::Kernel);
            options.profile.rescues_max = RESCUES_MAX;
            let stall = Stall::new(gpu, rig, options)?;
            for _ in 0..RESCUES_MAX {
                let urgent = stall.stalled(30)?;
                stall.bulk()?.wait()?;
                urgent.wait()?;
            }
            ensure!(stall.overtake.statistics().stood_down, "{:?}", stall.overtake.statistics());
            let (bulk, urgent) = (stall.bulk()?, stall.urgent()?);
            same("bulk", &bulk.plan(), &Plan::Native(Reason::StoodDown))?;
            same("urgent", &urgent.plan(), &Plan::Native(Reason::StoodDown))?;
            urgent.wait()?;
            bulk.wait()?;
            ensure!(PANICKED[1].load(Ordering::SeqCst), "no message has panicked");
            Ok(())
        },
    )
}
