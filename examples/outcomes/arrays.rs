//! Computations whose order follows from their uses: one that is late, one that is cancelled, one that fails, and an
//! order by a token. The same program in C, C++ and Python stands beside it; all four print `arrays.txt`:
//! `cargo run --example outcomes_arrays`.

use std::error::Error;
use std::sync::mpsc::channel;
use std::time::Duration;

use backend::{Backend, open};
use overtake::data::{discard, read, write};
use overtake::task::Handle;
use overtake::{Context, ContextOptions};

const SHORT: Duration = Duration::from_millis(20);

fn tell(name: &str, task: &Handle) {
    match task.wait() {
        Ok(()) => println!("{name}: it has ended"),
        Err(error) => println!("{name}: {error}"),
    }
}

/// # Errors
/// Where something goes wrong that is not to.
pub fn main() -> Result<(), Box<dyn Error>> {
    let driver = open(Backend::from_environment()?)?.driver; // the real driver, else the software GPU
    let context = Context::open_on(&driver, ContextOptions::from_environment()?)?;
    let arrays = context.arrays();
    let numbers = arrays.array_of(&[1, 2, 3])?;
    let (twice, sum, table) = (arrays.array::<i32>(&[3])?, arrays.array::<i32>(&[1])?, arrays.array::<i32>(&[1])?);

    let double = arrays.host("double", (read(&numbers), discard(&twice)), |(numbers, twice)| {
        twice.iter_mut().zip(numbers).for_each(|(to, from)| *to = 2 * from);
        Ok(())
    });
    double.submit()?;
    let add_up = arrays.host("add up", (read(&twice), discard(&sum)), |(twice, sum)| {
        sum[0] = twice.iter().sum();
        Ok(())
    });
    add_up.submit()?;
    println!("order: the sum is {}", sum.read()?[0]);

    let held = arrays.host("held", (discard(&twice),), |_| Ok(())).held().submit()?;
    let behind = arrays.host("behind", (read(&twice),), |_| Ok(())).submit()?;
    if arrays.wait_for(SHORT)?.is_none() {
        println!("held: the set has not ended within {} ms", SHORT.as_millis());
    }
    if behind.cancel()? {
        tell("behind", &behind); // it had not started
    }
    held.release()?;
    tell("held", &held);

    let (token, (say, said)) = (arrays.token()?, channel());
    for word in ["first", "second"] {
        let say = say.clone();
        arrays.host(word, (write(&token),), move |_| Ok(say.send(word)?)).submit()?;
    }
    arrays.wait()?;
    println!("token: {}", said.try_iter().collect::<Vec<_>>().join(" "));

    let parse = arrays.host("parse", (discard(&table),), |_| Err("the file is empty".into())).submit()?;
    tell("parse", &parse);
    if let Err(error) = table.read() {
        println!("table: {error}"); // its contents are lost
    }
    table.overwrite()?[0] = 5;
    println!("table: it is {} now", table.read()?[0]);
    Ok(context.finish()?)
}
