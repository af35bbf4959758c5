//! Many batches of programs on several threads, with a summary.

use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use serde_json::{Value, json};

use super::request::Request;
use super::shrink::shrink;
use super::trial::{Batch, DEPLOYMENTS, Difference, PROGRAM_TIME_MAX, compare, run, tidy, work};
use crate::harness::build::PLACES;
use crate::harness::deployment::Deployment;
use crate::harness::report::Work;
use crate::harness::run::End;

/// A run ends after so many findings: more would be like them.
const FINDINGS_MAX: usize = 20;
/// One in so many batches runs with handle 0 as the thread's own stream.
const PER_THREAD_EVERY: u32 = 4;
/// Programs between two lines of progress.
const PROGRAMS_A_LINE: u32 = 200;

/// A batch whose outcome was not the native one, with the smallest program that still differs.
#[derive(Debug)]
pub struct Finding {
    deployment: Deployment,
    text: String,
    batch: Batch,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}\n  {}", self.deployment.name(), self.batch.command(), self.text)
    }
}

/// The result of a run.
#[derive(Debug, Default)]
pub struct Summary {
    programs: u32,
    runs: u32,
    work: Work,
    findings: Vec<Finding>,
    seconds: f64,
}

impl Summary {
    /// An error if a program's outcome differed, or if the layer did not act.
    pub fn judge(&self) -> Result<(), String> {
        if !self.findings.is_empty() {
            return Err(self.to_string());
        }
        let idle = [
            ("was urgent", self.work.urgent),
            ("went by kernel", self.work.kernel),
            ("was guarded", self.work.guarded),
            ("was rescued", self.work.rescued),
            ("was passed on", self.work.passed_on),
        ];
        let idle: Vec<&str> = idle.iter().filter(|(_, count)| *count == 0).map(|(what, _)| *what).collect();
        if idle.is_empty() { Ok(()) } else { Err(format!("no copy {}:\n{self}", idle.join(", nor "))) }
    }

    /// The same for scripts.
    pub fn json(&self) -> Value {
        let Work { reports, urgent, kernel, guarded, rescued, passed_on, stood_down } = self.work;
        let finding = |found: &Finding| {
            let (deployment, command) = (found.deployment.name(), found.batch.command());
            json!({"deployment": deployment, "command": command, "difference": found.text})
        };
        json!({
            "programs": self.programs, "runs": self.runs, "seconds": self.seconds,
            "reports": reports, "stood_down": stood_down,
            "copies": {"urgent": urgent, "kernel": kernel, "guarded": guarded, "rescued": rescued,
                       "passed_on": passed_on},
            "findings": self.findings.iter().map(finding).collect::<Vec<_>>(),
        })
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let work = self.work;
        writeln!(
            f,
            "{} programs, {} runs of processes in {:.0} s: {} findings",
            self.programs,
            self.runs,
            self.seconds,
            self.findings.len()
        )?;
        writeln!(
            f,
            "{} reports: {} urgent copies, {} of bulk by kernel, {} guarded, {} rescued, {} passed on; {} stood down",
            work.reports, work.urgent, work.kernel, work.guarded, work.rescued, work.passed_on, work.stood_down
        )?;
        self.findings.iter().try_for_each(|finding| writeln!(f, "{finding}"))
    }
}

pub struct Campaign {
    request: Request,
    next: AtomicU32,
    summary: Mutex<Summary>,
}

impl Campaign {
    pub fn new(request: Request) -> Campaign {
        Campaign { request, next: AtomicU32::new(0), summary: Mutex::default() }
    }

    /// Runs all batches; `say` is called with lines of progress.
    pub fn run(self, say: impl Fn(String) + Sync) -> Result<Summary, String> {
        let started = Instant::now();
        for per_thread in [false, true] {
            let mut client = self.batch(0, 0, per_thread).client();
            client.name = if per_thread { "fuzz_ptds" } else { "fuzz" }.to_owned();
            PLACES.binary(&client)?;
        }
        let trouble = Mutex::new(None);
        std::thread::scope(|scope| {
            for _ in 0..self.request.jobs {
                scope.spawn(|| {
                    if let Err(why) = self.work(&say) {
                        trouble.lock().expect("the lock is held for a moment").get_or_insert(why);
                    }
                });
            }
        });
        if let Some(why) = trouble.into_inner().expect("all threads have ended") {
            return Err(why);
        }
        let summary = self.summary.into_inner().expect("all threads have ended");
        Ok(Summary { seconds: started.elapsed().as_secs_f64(), ..summary })
    }

    fn batch(&self, first: u32, count: u32, per_thread: bool) -> Batch {
        let further = self.request.further.clone();
        Batch { first, count, options: first, per_thread, skipped: Vec::new(), further }
    }

    /// Runs batch after batch on one thread.
    fn work(&self, say: &(impl Fn(String) + Sync)) -> Result<(), String> {
        let Request { programs, first, each, .. } = self.request;
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let at = number * each;
            let is_enough = self.summary.lock().expect("the lock is held for a moment").findings.len() >= FINDINGS_MAX;
            if at >= programs || is_enough {
                return Ok(());
            }
            let per_thread = number % PER_THREAD_EVERY == PER_THREAD_EVERY - 1;
            let batch = self.batch(first + at, each.min(programs - at), per_thread);
            let (findings, done, runs) = self.one(&batch)?;
            tidy(&PLACES, &batch);
            let mut summary = self.summary.lock().expect("the lock is held for a moment");
            findings.iter().for_each(|finding| say(finding.to_string()));
            summary.findings.extend(findings);
            summary.work = summary.work.plus(done);
            summary.runs += runs;
            let before = summary.programs;
            summary.programs += batch.count;
            if before / PROGRAMS_A_LINE != summary.programs / PROGRAMS_A_LINE {
                say(format!("{} programs, {} findings", summary.programs, summary.findings.len()));
            }
        }
    }

    /// Runs a batch natively and in every deployment.
    fn one(&self, batch: &Batch) -> Result<(Vec<Finding>, Work, u32), String> {
        let (mut findings, mut done, mut runs) = (Vec::new(), Work::default(), 1);
        let native = run(&PLACES, batch, Deployment::Native, PROGRAM_TIME_MAX)?;
        if native.end == End::Never {
            findings.push(self.found(batch, Deployment::Native, "it does not end natively"));
        }
        for deployment in DEPLOYMENTS {
            let here = run(&PLACES, batch, deployment, PROGRAM_TIME_MAX)?;
            runs += 1;
            done = done.plus(work(&PLACES, batch, deployment)?);
            if let Some(difference) = compare(deployment, &native, &here) {
                findings.push(self.made_small(batch, difference)?);
            }
        }
        Ok((findings, done, runs))
    }

    fn found(&self, batch: &Batch, deployment: Deployment, text: &str) -> Finding {
        Finding { deployment, text: text.to_owned(), batch: batch.clone() }
    }

    fn made_small(&self, batch: &Batch, difference: Difference) -> Result<Finding, String> {
        let again = run(&PLACES, batch, Deployment::Native, PROGRAM_TIME_MAX)?;
        let native = run(&PLACES, batch, Deployment::Native, PROGRAM_TIME_MAX)?;
        if let Some(other) = compare(Deployment::Native, &again, &native) {
            return Ok(self.found(
                batch,
                Deployment::Native,
                &format!("natively it is not always the same: {}", other.text),
            ));
        }
        let small = shrink(&PLACES, batch, &difference)?;
        Ok(Finding { deployment: difference.deployment, text: small.text, batch: small.batch })
    }
}
