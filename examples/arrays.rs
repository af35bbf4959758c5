//! Squares of matrices by the hundred, of which each tenth is urgent, on a device that has room for some of them:
//! `cargo run --example arrays`. The program states no copy and no order.

use std::error::Error;
use std::sync::Arc;

use backend::{Backend, open_with};
use overtake::data::{Array, ArrayOptions, Arrays, discard, read};
use overtake::dispatch::{DispatchOptions, Dispatcher};
use overtake::hal::Device;
use overtake::heap::HeapOptions;
use overtake::task::{Handle, Kernel, Shape};
use overtake::{Options, Overtake, Priority};
use workloads::{Kernels, reference, register};

const SIDE: usize = 64;
const MATRICES: usize = 100;
const BYTES: u64 = 4 * (SIDE * SIDE) as u64;

/// The kernels of the program.
struct Work {
    multiply: Kernel,
    add: Kernel,
}

/// The elements of a matrix.
fn elements(number: usize) -> Vec<f32> {
    (0..SIDE * SIDE).map(|at| ((at * number) % 17) as f32).collect()
}

/// Squares a matrix, and adds it to the square.
fn submit(arrays: &Arrays, work: &Work, from: &Array<f32>, at: Priority) -> Result<Array<f32>, Box<dyn Error>> {
    let [square, sum] = [arrays.array::<f32>(from.shape())?, arrays.array::<f32>(from.shape())?];
    let blocks = Shape { grid: [SIDE as u32 / 32, SIDE as u32 / 8, 1], block: [32, 8, 1], shared_bytes: 0 };
    let uses = (read(from), read(from), discard(&square), SIDE as u32);
    // SAFETY: each matrix has as many elements, and the kernel uses them so.
    unsafe { arrays.compute("square", &work.multiply, blocks, uses) }.priority(at).submit()?;
    let uses = (read(&square), read(from), discard(&sum), (SIDE * SIDE) as u32);
    // SAFETY: as above.
    unsafe { arrays.compute("add", &work.add, Shape::line(16, 256), uses) }.priority(at).submit()?;
    Ok(sum)
}

/// Compares the result with the processor's, when it is there.
fn check(arrays: &Arrays, number: usize, sum: &Array<f32>, at: Priority) -> Result<Handle, overtake::task::Error> {
    let check = arrays.host("check", (read(sum),), move |(seen,)| {
        let matrix = elements(number);
        let (mut square, mut expected) = (vec![0.0; SIDE * SIDE], vec![0.0; SIDE * SIDE]);
        reference::multiply(&matrix, &matrix, &mut square, SIDE as u32);
        reference::add(&square, &matrix, &mut expected);
        if seen == expected { Ok(()) } else { Err(format!("matrix {number} is wrong").into()) }
    });
    check.priority(at).submit()
}

fn main() -> Result<(), Box<dyn Error>> {
    let opened = open_with(Backend::from_environment()?, register)?;
    let overtake = Arc::new(Overtake::open(&opened.driver, Device(0), Options::from_environment()?)?);
    let driver = &**overtake.driver();
    let module = Kernels::load(driver)?.module();
    let work = Work {
        multiply: Kernel::find(driver, module, "work_multiply")?,
        add: Kernel::find(driver, module, "work_add")?,
    };
    let dispatcher = Dispatcher::open(&overtake, DispatchOptions::default())?;
    let device = HeapOptions { page_bytes: BYTES, max_bytes: 50 * BYTES, ..HeapOptions::default() };
    let arrays = Arrays::open(&dispatcher, ArrayOptions { device, ..ArrayOptions::default() })?;

    let (mut checks, mut kept) = (Vec::new(), Vec::new());
    for number in 0..MATRICES {
        let at = if number % 10 == 0 { overtake.priorities().highest() } else { Priority::LOWEST };
        let matrix = arrays.array::<f32>(&[SIDE, SIDE])?;
        matrix.overwrite()?.copy_from_slice(&elements(number));
        let sum = submit(&arrays, &work, &matrix, at)?;
        checks.push(check(&arrays, number, &sum, at)?);
        kept.push((matrix, sum));
    }
    for check in checks {
        check.wait()?; // an error names its computation
    }
    // The first of them has left the device long ago.
    let again = submit(&arrays, &work, &kept[0].1, Priority::LOWEST)?;
    drop(again.read()?);
    println!("{MATRICES} matrices are right; {:?}", arrays.statistics());
    Ok(())
}
