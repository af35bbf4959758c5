//! One process of random programs, natively or in a deployment.

use std::time::Duration;

use crate::harness::build::Places;
use crate::harness::deployment::Deployment;
use crate::harness::list::Client;
use crate::harness::report::{Expect, Work};
use crate::harness::run::{End, Outcome};

/// Every batch runs in these: as users deploy the drop-in, and with small pageable copies staged.
pub const DEPLOYMENTS: [Deployment; 4] = {
    let [preload, shadow, audit] = Deployment::EVERYWHERE;
    [preload, shadow, audit, Deployment::Staged]
};

/// Far more than a process of programs needs on an idle machine.
pub const PROGRAM_TIME_MAX: Duration = Duration::from_secs(40);

/// The programs of one process.
#[derive(Clone, Debug)]
pub struct Batch {
    pub first: u32,
    /// The number of programs.
    pub count: u32,
    /// The seed of the environment and of the end. Both stay as they are when a batch is made smaller.
    pub options: u32,
    /// Whether handle 0 is the thread's own stream.
    pub per_thread: bool,
    /// Steps that are left out, as `thread.step`.
    pub skipped: Vec<String>,
    /// Further arguments.
    pub further: Vec<String>,
}

impl Batch {
    /// The program as a client. Its name is that of the folder of its reports.
    pub fn client(&self) -> Client {
        let flavour = self.per_thread.then_some("-DCUDA_API_PER_THREAD_DEFAULT_STREAM");
        Client {
            name: format!("fuzz_{}_{}_{}", self.options, self.first, self.count),
            source: "fuzz/main.c".to_owned(),
            flags: flavour.into_iter().chain(["-lcuda"]).map(str::to_owned).collect(),
            end: End::Status(0),
            report: Expect::Warnings,
            arguments: self.arguments(),
            is_library: false,
        }
    }

    pub fn arguments(&self) -> Vec<String> {
        let mut words = vec![self.first.to_string(), self.count.to_string()];
        words.extend(["--options".to_owned(), self.options.to_string()]);
        if !self.skipped.is_empty() {
            words.extend(["--skip".to_owned(), self.skipped.join(",")]);
        }
        words.extend(self.further.iter().cloned());
        words
    }

    /// The command that repeats this run.
    pub fn command(&self) -> String {
        let binary = if self.per_thread { "fuzz_ptds" } else { "fuzz" };
        format!("{binary} {}", self.arguments().join(" "))
    }
}

#[derive(Clone, Debug)]
pub struct Difference {
    pub deployment: Deployment,
    /// The first difference.
    pub text: String,
    /// Whether the test had to end the program.
    pub is_hang: bool,
}

/// Runs a batch in one way. `Err` is trouble of the test itself.
pub fn run(places: &Places, batch: &Batch, deployment: Deployment, limit: Duration) -> Result<Outcome, String> {
    places.run_within(&batch.client(), deployment, limit)
}

/// The counts of the layer's reports about a batch.
pub fn work(places: &Places, batch: &Batch, deployment: Deployment) -> Result<Work, String> {
    Work::reported(&places.reports(&batch.client(), deployment))
}

/// Removes the reports and outputs of a batch.
pub fn tidy(places: &Places, batch: &Batch) {
    for deployment in DEPLOYMENTS.into_iter().chain([Deployment::Native]) {
        let _absent = std::fs::remove_dir_all(places.reports(&batch.client(), deployment));
    }
}

/// The difference between a run and the native one.
pub fn compare(deployment: Deployment, native: &Outcome, here: &Outcome) -> Option<Difference> {
    let text = here.difference_from(native)?;
    Some(Difference { deployment, text, is_hang: here.end == End::Never })
}
