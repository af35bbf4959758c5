//! Kernels whose launches are safe, because each is checked.

use std::sync::Arc;

use hal::Driver;
use overtake::data::{discard, read};
use overtake::task::{Error, Shape};
use overtake::{Context, ContextOptions};

use crate::bed;
use crate::failure::{Outcome, ensure, same};
use crate::raw;
use crate::rig::Rig;

/// Launches that fit run, and others are refused before anything is submitted.
pub fn stay_inside(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let add = raw::checked_add(&bed)?;
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

/// What a check does not see is refused too: uses that overlap, tokens, and kernels of another driver.
pub fn uses_that_no_check_sees(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let add = raw::checked_add(&bed)?;
    let (x, line) = (bed.arrays.array_of(&[1.0_f32; 100])?, Shape::line(1, 256));
    let said = |refused: Option<Error>| refused.map(|error| error.to_string()).unwrap_or_default();
    let overlap = (read(&x), read(&x).part(0..60), discard(&x).part(50..100), 50);
    let aliased = said(bed.arrays.call("overlap", &add, line, overlap).err());
    ensure!(aliased.contains("uses the same bytes of an array twice"), "{aliased}");
    let apart = (read(&x).part(0..50), read(&x).part(0..50), discard(&x).part(50..100), 50);
    bed.arrays.call("apart", &add, line, apart)?.submit()?.wait()?;
    let token = bed.arrays.token()?;
    let with_token = (read(&token), read(&x).part(0..50), discard(&x).part(50..100), 0);
    let tokens = said(bed.arrays.call("token", &raw::checked_add_of_bytes(&bed)?, line, with_token).err());
    ensure!(tokens.contains("a token has no memory for a kernel"), "{tokens}");
    let other: Arc<dyn Driver> = Arc::new(workloads::register(softgpu::SoftGpu::builder()).build());
    let context = Context::open_on(&other, ContextOptions::default())?;
    let (y, z) = (context.arrays().array_of(&[1.0_f32; 100])?, context.arrays().array::<f32>(&[100])?);
    let foreign = said(context.arrays().call("foreign", &add, line, (read(&y), read(&y), discard(&z), 0)).err());
    context.finish()?;
    ensure!(foreign.contains("found through another driver"), "{foreign}");
    Ok(())
}

/// Memory is given to nobody while a computation that may use it is described.
pub fn release_is_refused_beside_a_description(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let array = Arc::new(bed.arrays.array_of(&[1_u32; 100])?);
    let described = bed.arrays.host("described", (read(&*array),), |_| Ok(()));
    let array = Arc::into_inner(array).expect("the only one");
    let said = array.release().err().map(|error| error.to_string()).unwrap_or_default();
    ensure!(said.contains("computations that are not submitted"), "{said}");
    described.submit()?.wait()?;
    let array = bed.arrays.array_of(&[1_u32; 100])?;
    bed.arrays.host("submitted", (read(&array),), |_| Ok(())).held().submit()?.release()?;
    array.release()?;
    Ok(())
}

/// Types of other sizes than the kernel's parameters.
pub fn types_that_do_not_fit(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let said = raw::checked_wrongly(&bed).err().map(|error| error.to_string()).unwrap_or_default();
    ensure!(
        said.contains("kernel work_add: its parameters have [8, 8, 8, 4] bytes, and the types [8, 8, 4]"),
        "{said}"
    );
    Ok(())
}
