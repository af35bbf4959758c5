//! Programs that are not made for the drop-in: each runs natively and in every deployment that could make a difference
//! to it, with the same outcome.
//!
//! `clients.list` lists them. Each program is built with gcc against the software GPU's `libcuda.so.1`. The test
//! compares both outputs of the program and its end with those of the native run. The drop-in's reports show that it
//! did its work meanwhile, and did not merely stand aside.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use libtest_mimic::{Completion, Failed, Trial};

use crate::harness::build::PLACES;
use crate::harness::deployment::Deployment;
use crate::harness::list::Client;
use crate::harness::run::{End, Errors, Outcome};
use crate::harness::{driver_sys, list, report};

/// Clients that also run with the drop-in switched off, and with the real driver named.
const SWITCHED_OFF: &[&str] = &["kinds_linked", "runtime_13_0", "mixed", "captures", "fork_after", "end_atexit"];
/// Clients that also run while the drop-in only watches, and while it watches beside its work.
const OBSERVED: &[&str] = &["kinds_linked", "kinds_by_gpa_ptds", "runtime_13_0", "mixed", "captures", "fork_after"];
const DRIVER_NAMED: &[&str] = &["kinds_linked", "kinds_by_gpa", "plugin_deepbind", "fork_exec"];

/// Clients whose subject is how copies go. How the drop-in comes into the process makes no difference to them.
/// `gpu.sh` runs them in every deployment.
const PRELOADED: &[&str] = &[
    "captures",
    "crowd",
    "demand",
    "detach",
    "elsewhere",
    "errors",
    "freed",
    "hazard_",
    "mixed_ptds",
    "pageable",
    "places",
    "reset",
    "sizes",
    "timing",
    "torn",
    "waits",
];

/// Clients whose subject is the layer as a guest in their threads. An audit library has a C library of its own, and one
/// in place of the driver has the program's, as a preloaded one has.
const NOT_IN_PLACE: &[&str] = &["barrier_", "cancelled", "endings", "guests"];

/// Clients that also run with their pageable copies staged.
const STAGED: &[&str] = &[
    "torn",
    "places",
    "captures_beside",
    "abi_capture_calls",
    "pageable",
    "kinds_linked",
    "kinds_by_gpa_ptds",
    "mixed",
    "freed",
    "interrupted",
    "captures",
    "endings",
    "guests",
];

/// Clients most of whose pageable copies are staged then.
const MOSTLY_STAGED: &[&str] = &["pageable", "endings", "guests"];

/// Clients that make the drop-in write a message: on a thread of the program's, and on one of its own.
const SPEAKING: &[&str] = &["hazard_c_1_queue", "hazard_b"];

/// The state that all trials share. The first trial that needs the native run of a client makes it.
struct Suite {
    clients: Vec<Client>,
    native: BTreeMap<String, OnceLock<Result<Outcome, String>>>,
}

impl Suite {
    fn new() -> Suite {
        let clients = list::read(&PLACES.tests.join("clients.list"));
        let native = clients.iter().map(|client| (client.name.clone(), OnceLock::new())).collect();
        Suite { clients, native }
    }

    fn native(&self, client: &Client) -> Result<&Outcome, Failed> {
        let run = || -> Result<Outcome, String> {
            let outcome = PLACES.run(client, Deployment::Native)?;
            match client.end == outcome.end {
                true => Ok(outcome),
                false => Err(format!("natively it should end with {:?}:\n{outcome}", client.end)),
            }
        };
        self.native[&client.name].get_or_init(run).as_ref().map_err(Failed::from)
    }

    fn compare(&self, client: &Client, deployment: Deployment) -> Result<(), Failed> {
        let native = self.native(client)?;
        let outcome = PLACES.run(client, deployment)?;
        if let Some(difference) = outcome.difference_from(native) {
            return Err(format!("not as it is natively: {difference}").into());
        }
        let reports = PLACES.reports(client, deployment);
        if deployment == Deployment::Staged && MOSTLY_STAGED.contains(&client.name.as_str()) {
            report::has_staged(&reports)?;
        }
        report::check(&reports, client.report, deployment).map_err(|why| format!("{why}\n{}", reports.display()).into())
    }
}

fn trial(suite: &Arc<Suite>, client: &Client, deployment: Deployment) -> Trial {
    let (suite, client) = (suite.clone(), client.clone());
    Trial::test(format!("{}::{}", deployment.name(), client.name), move || suite.compare(&client, deployment))
}

/// A program whose error output takes no message of the drop-in. Its outcome must be the same.
fn unheard(suite: &Arc<Suite>, client: &Client, errors: Errors) -> Trial {
    let (suite, client) = (suite.clone(), client.clone());
    // Other runs of the client may be under way, and the reports of each lie in a folder of its name.
    let alone = Client { name: format!("{}_{}", client.name, errors.name()), ..client.clone() };
    Trial::test(format!("unheard::{}", alone.name), move || {
        let outcome = PLACES.run_heard(&alone, Deployment::Preload, errors)?;
        if let Some(difference) = outcome.difference_from(suite.native(&client)?) {
            return Err(format!("not as it is natively: {difference}").into());
        }
        let reports = PLACES.reports(&alone, Deployment::Preload);
        report::dropped_messages(&reports).map_err(|why| format!("{why}\n{}", reports.display()).into())
    })
}

fn rust_client() -> Trial {
    Trial::ignorable_test("cuda_driver_sys", move || match driver_sys::build(&PLACES)? {
        Err(reason) => Ok(Completion::ignored_with(reason)),
        Ok(client) => {
            let native = PLACES.run(&client, Deployment::Native)?;
            for deployment in Deployment::EVERYWHERE {
                let outcome = PLACES.run(&client, deployment)?;
                if let Some(difference) = outcome.difference_from(&native) {
                    return Err(format!("{}: not as it is natively: {difference}", deployment.name()).into());
                }
                report::check(&PLACES.reports(&client, deployment), client.report, deployment)?;
            }
            Ok(Completion::Completed)
        }
    })
}

/// A copy that the drop-in has accepted and cannot make is an error for every later call of the program, though the
/// driver reports none.
fn lost_copies() -> Trial {
    Trial::test("lost", || {
        let client = Client::program("lost", "lost.c", &["-lcuda"]);
        let codes = |deployment| -> Result<Vec<String>, Failed> {
            let outcome = PLACES.run(&client, deployment)?;
            let code = |line: &str| line.rsplit(' ').next().unwrap_or_default().to_owned();
            match outcome.end {
                End::Status(0) => Ok(outcome.output().lines().map(code).collect()),
                _ => Err(format!("it ended with {outcome}").into()),
            }
        };
        let expected = |deployment| if deployment == Deployment::Native { "0" } else { "719" };
        for deployment in [Deployment::Native].into_iter().chain(Deployment::EVERYWHERE) {
            let codes = codes(deployment)?;
            if codes.len() != 10 || codes.iter().any(|code| code != expected(deployment)) {
                return Err(format!("{}: {codes:?}", deployment.name()).into());
            }
        }
        Ok(())
    })
}

fn deployments(client: &Client) -> Vec<Deployment> {
    let is_of = |names: &[&str]| names.iter().any(|name| client.name.starts_with(name));
    match (is_of(PRELOADED), is_of(NOT_IN_PLACE)) {
        (true, _) => vec![Deployment::Preload],
        (_, true) => vec![Deployment::Preload, Deployment::Audit],
        _ => Deployment::EVERYWHERE.to_vec(),
    }
}

pub fn trials() -> Vec<Trial> {
    let suite = &Arc::new(Suite::new());
    let mut trials = vec![rust_client(), lost_copies()];
    for client in suite.clients.iter().filter(|client| !client.is_library) {
        let also = |names: &[&str], deployment| names.contains(&client.name.as_str()).then_some(deployment);
        let more = [also(SWITCHED_OFF, Deployment::Off), also(DRIVER_NAMED, Deployment::ShadowOfNamed)];
        let watched = [Deployment::Observed, Deployment::AlsoObserved].map(|deployment| also(OBSERVED, deployment));
        let more = more.into_iter().chain([also(STAGED, Deployment::Staged)]).chain(watched);
        let deployments = deployments(client).into_iter().chain(more.flatten());
        trials.extend(deployments.map(|deployment| trial(suite, client, deployment)));
    }
    let speaking = suite.clients.iter().filter(|client| SPEAKING.contains(&client.name.as_str()));
    trials.extend(speaking.flat_map(|client| Errors::UNHEARD.map(|errors| unheard(suite, client, errors))));
    trials
}
