//! Kernels whose launches are safe, because each is checked.

use overtake::data::{discard, read};
use overtake::task::{Error, Shape};

use crate::bed;
use crate::doors;
use crate::failure::{Outcome, ensure, same};
use crate::rig::Rig;

/// Launches that fit run, and others are refused before anything is submitted.
pub fn stay_inside(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let add = doors::checked_add(&bed)?;
    let (x, y) = (bed.arrays.array_of(&[1.0_f32; 100])?, bed.arrays.array_of(&[0.5_f32; 100])?);
    let line = Shape::line(1, 256);
    bed.arrays.call("all", &add, line, (read(&x), read(&x), discard(&y), 100))?.submit()?;
    let parts = (read(&y).part(0..10), read(&x).part(5..15), discard(&y).part(50..60), 10);
    bed.arrays.call("parts", &add, line, parts)?.submit()?;
    let beyond = (read(&y).part(0..10), read(&x), discard(&y), 11);
    let refused = bed.arrays.call("beyond", &add.clone(), line, beyond).err();
    let said = refused.as_ref().map(Error::to_string).unwrap_or_default();
    ensure!(said.contains("kernel work_add would leave its arguments in \"beyond\""), "{said}");
    let seen = y.read()?;
    same("the sums", &[seen[49], seen[50], seen[59], seen[60]], &[2.0, 3.0, 3.0, 2.0])
}

/// Types of other sizes than the kernel's parameters.
pub fn types_that_do_not_fit(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let said = doors::checked_wrongly(&bed).err().map(|error| error.to_string()).unwrap_or_default();
    ensure!(
        said.contains("kernel work_add: its parameters have [8, 8, 8, 4] bytes, and the types [8, 8, 4]"),
        "{said}"
    );
    Ok(())
}
