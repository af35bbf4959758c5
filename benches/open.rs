//! The time to open the copy layer, in one thread and in several at once: `cargo bench --bench open [-- rounds]`.
//!
//! The first layer of a process makes the driver load and start what later ones find. So each round is a process
//! of its own for each number of threads, in turn. A row gives the median over rounds, the least and the greatest, of
//! the time until all threads have theirs, with that of one thread in the same round as the reference; the control is
//! one thread again. On the software GPU the time is that of the model's work.
#![allow(clippy::disallowed_methods)] // the machine's clock, and processes of its own

use std::error::Error;
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use backend::{Backend, open};
use overtake::hal::{self, Device};
use overtake::{Options, Overtake};

const ROUNDS: usize = 5;
const THREADS: [(&str, usize); 4] =
    [("one thread", 1), ("control: one thread", 1), ("four threads", 4), ("eight threads", 8)];

/// Opens a layer in each of so many threads at once. Returns the milliseconds until all are open.
fn open_at_once(threads: usize) -> Result<f64, Box<dyn Error>> {
    let opened = open(Backend::from_environment()?)?;
    let driver = &opened.driver;
    let began = Instant::now();
    let one = |_| {
        let its_driver = Arc::clone(driver);
        hal::spawn(driver, "opener", move || Overtake::open(&its_driver, Device(0), Options::default()))
    };
    let all = (0..threads).map(one).collect::<hal::Result<Vec<_>>>()?;
    let layers = all.into_iter().map(|thread| thread.join(driver.host())).collect::<hal::Result<Vec<_>>>()?;
    let took_ms = began.elapsed().as_secs_f64() * 1e3;
    drop(layers);
    Ok(took_ms)
}

/// The same in a process of its own.
fn in_a_process(threads: usize) -> Result<f64, Box<dyn Error>> {
    let output = Command::new(std::env::current_exe()?).args(["child", &threads.to_string()]).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().parse().map_err(|_| format!("{text}{}", String::from_utf8_lossy(&output.stderr)).into())
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    if let [child, threads] = &words[..]
        && child == "child"
    {
        println!("{}", open_at_once(threads.parse()?)?);
        return Ok(());
    }
    let rounds = words.first().map_or(Ok(ROUNDS), |word| word.parse())?;
    let mut times_ms = THREADS.map(|_| Vec::new());
    for _ in 0..rounds {
        for ((_, threads), times_ms) in THREADS.iter().zip(&mut times_ms) {
            times_ms.push(in_a_process(*threads)?);
        }
    }
    println!("layers opened at once in a new process, {rounds} rounds");
    println!("{:<22} {:>30} {:>24}", "", "ms until all are open", "by one thread");
    for ((name, _), own_ms) in THREADS.iter().zip(&times_ms) {
        let ratios = own_ms.iter().zip(&times_ms[0]).map(|(own, one)| own / one).collect();
        println!("{name:<22} {:>30} {:>24}", spread(own_ms.clone()), spread(ratios));
    }
    Ok(())
}

fn spread(mut figures: Vec<f64>) -> String {
    figures.sort_by(f64::total_cmp);
    let (least, greatest) = (figures[0], figures[figures.len() - 1]);
    format!("{:.2} ({least:.2} to {greatest:.2})", figures[figures.len() / 2])
}
