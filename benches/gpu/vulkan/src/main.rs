//! Another API and overtake share memory and semaphores by descriptor: bytes both ways, and their order.
//!
//! In each round the other API writes a word everywhere in the shared memory and signals. A stream of overtake's waits
//! for that, copies all bytes down and others up, and signals. The other API waits for that and reads. The host waits
//! for none of it until the end of the round. Then both sides compare their bytes with those of this round.
//!
//! Rows in which one side waits behind its accesses are the proof that the others could fail: they must see wrong
//! bytes.
#![deny(unsafe_code)]
#![allow(clippy::disallowed_methods)] // a program of its own: its limit is in real time

mod foreign;
mod layer;
mod rounds;
mod sides;
mod vulkan;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use backend::Backend;
use overtake::hal::{Device, Driver};

use crate::foreign::Foreign;
use crate::layer::Layer;
use crate::rounds::{Row, rows};
use crate::sides::{Ours, Outcome, Sentence, Theirs};
use crate::vulkan::{Alone, Gpu, Vulkan};

const USAGE: &str = "usage: overtake-vulkan [--alone] [--rounds N] [--kib N] [--limit-s N]
  --alone      Vulkan plays both sides: no CUDA is needed, and no row without a wait is shown
  --rounds N   rounds in each row (100)
  --kib N      shared memory (4096)
  --limit-s N  end with status 124 after so many seconds (120)
With OVERTAKE_BACKEND=soft the other API is that of the software GPU, and no Vulkan is needed.";

#[derive(Clone, Copy, Debug)]
struct Arguments {
    is_alone: bool,
    rounds: u64,
    kib: u64,
    limit_s: u64,
}

/// The other API.
enum Other {
    Vulkan(std::rc::Rc<Gpu>, Option<Arc<dyn Driver>>),
    Soft(Arc<dyn Driver>),
}

fn main() -> ExitCode {
    let arguments = match arguments(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(error) => {
            eprintln!("{error}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    // A lost signal would be waited for without an end.
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_secs(arguments.limit_s));
        eprintln!("not done after {} s: a signal was lost, or the machine is very slow", arguments.limit_s);
        std::process::exit(124);
    });
    match run(arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("failed: {error}");
            ExitCode::FAILURE
        }
    }
}

fn arguments(mut words: impl Iterator<Item = String>) -> Outcome<Arguments> {
    let mut arguments = Arguments { is_alone: false, rounds: 100, kib: 4096, limit_s: 120 };
    while let Some(word) = words.next() {
        let mut number = || -> Outcome<u64> {
            let text = words.next().unwrap_or_default();
            let number = text.parse().ok().filter(|number| *number > 0);
            Ok(number.ok_or_else(|| Sentence(format!("{word} needs a number, not `{text}`")))?)
        };
        match word.as_str() {
            "--alone" => arguments.is_alone = true,
            "--rounds" => arguments.rounds = number()?,
            "--kib" => arguments.kib = number()?,
            "--limit-s" => arguments.limit_s = number()?,
            _ => Err(Sentence(format!("unknown argument `{word}`")))?,
        }
    }
    Ok(arguments)
}

fn run(arguments: Arguments) -> Outcome<bool> {
    let other = open(arguments.is_alone)?;
    println!("{} rounds of {} KiB in each row", arguments.rounds, arguments.kib);
    println!("{}", rounds::HEAD);
    let mut is_right = true;
    for row in rows(arguments.is_alone) {
        let (mut theirs, mut ours) = sides(&other, row, arguments.kib << 10)?;
        let line = rounds::play(row, arguments.rounds, &mut *theirs, &mut *ours)?;
        println!("{line}");
        is_right &= line.is_right();
        // Ours uses memory and semaphores of theirs.
        drop(ours);
    }
    println!("{}", if is_right { "holds" } else { "DOES NOT HOLD" });
    Ok(is_right)
}

fn open(is_alone: bool) -> Outcome<Other> {
    if is_alone {
        let gpu = Gpu::open(None)?;
        println!("Vulkan alone: {}", gpu.name);
        return Ok(Other::Vulkan(gpu, None));
    }
    let opened = backend::open(Backend::from_environment()?)?;
    let (driver, device) = (opened.driver, Device(0));
    println!("overtake: {}, {} ({})", driver.device_name(device)?, opened.backend, opened.reason);
    if opened.backend == Backend::Soft {
        return Ok(Other::Soft(driver));
    }
    let gpu = Gpu::open(Some(driver.device_uuid(device)?.0))?;
    if !gpu.has_semaphores {
        Err(Sentence(format!("{} cannot export semaphores; --alone does without", gpu.name)))?;
    }
    println!("Vulkan: {}, the same UUID", gpu.name);
    Ok(Other::Vulkan(gpu, Some(driver)))
}

fn sides(other: &Other, row: Row, bytes: u64) -> Outcome<(Box<dyn Theirs>, Box<dyn Ours>)> {
    let device = Device(0);
    match other {
        Other::Soft(driver) => {
            let theirs = Foreign::new(driver, row.kind, bytes)?;
            let ours = Layer::new(driver, device, theirs.export()?, bytes, row.urgency)?;
            Ok((Box::new(theirs), Box::new(ours)))
        }
        Other::Vulkan(gpu, Some(driver)) => {
            let theirs = Vulkan::new(gpu, row.kind, bytes)?;
            let ours = Layer::new(driver, device, theirs.export()?, bytes, row.urgency)?;
            Ok((Box::new(theirs), Box::new(ours)))
        }
        Other::Vulkan(gpu, None) => {
            let theirs = Vulkan::new(gpu, row.kind, bytes)?;
            let ours = Alone::new(&theirs)?;
            Ok((Box::new(theirs), Box::new(ours)))
        }
    }
}
