//! Compares an outcome with the expectations of the scenario.

use super::outcome::{self, Outcome, Semaphore};
use super::scenario::{Expectation, Names, Unit, Values};
use super::setup::{Setup, find};

/// Describes every difference; an error is an expectation that makes no sense.
pub fn unmet(expected: &Expectation, setup: &Setup, outcome: &Outcome) -> Result<Vec<String>, String> {
    let mut unmet = Vec::new();
    unmet.extend(expected.order.as_ref().map(|order| check_order(order, setup, outcome)).transpose()?.flatten());
    for (key, values) in &expected.semaphore {
        unmet.extend(check_semaphore(key, values, setup, outcome)?);
    }
    for [first, second] in &expected.before {
        unmet.extend(check_before(first, second, setup, outcome)?);
    }
    for (name, time) in &expected.done_by {
        unmet.extend(check_done_by(name, *time, setup, outcome)?);
    }
    match (&outcome.deadlock, expected.deadlock) {
        (None, true) => unmet.push("deadlock: expected, but everything was done".to_owned()),
        (Some(_), false) => unmet.push("deadlock: not expected".to_owned()),
        _ => {}
    }
    Ok(unmet)
}

fn copy(setup: &Setup, name: &str) -> Result<usize, String> {
    find("copy", name, setup.copies.iter().map(|copy| copy.name.as_str())).map_err(|error| format!("expect: {error}"))
}

fn check_order(order: &Names, setup: &Setup, outcome: &Outcome) -> Result<Option<String>, String> {
    let expected = order.list();
    for name in &expected {
        copy(setup, name)?;
    }
    let actual: Vec<&str> = outcome.order().iter().map(|copy| setup.copies[*copy].name.as_str()).collect();
    let differs = expected != actual;
    Ok(differs.then(|| format!("order: expected `{}`, got `{}`", expected.join(" "), actual.join(" "))))
}

fn check_semaphore(key: &str, values: &Values, setup: &Setup, outcome: &Outcome) -> Result<Option<String>, String> {
    let semaphore = find_semaphore(key, setup, outcome)?;
    let (expected, actual) = (values.text(), outcome::text(&semaphore.history));
    Ok((expected != actual).then(|| format!("semaphore {key}: expected {expected}, got {actual}")))
}

fn find_semaphore<'a>(key: &str, setup: &Setup, outcome: &'a Outcome) -> Result<&'a Semaphore, String> {
    let (engine, priority) = match key.rsplit_once('.') {
        Some((engine, priority)) => {
            (find("engine", engine, setup.engines.iter().map(|one| one.name.as_str()))?, priority)
        }
        None if setup.engines.len() == 1 => (0, key),
        None => {
            return Err(format!(
                "expect.semaphore: several engines are in use; write \"{}.{key}\"",
                setup.engines[0].name
            ));
        }
    };
    let is_meant = |one: &&Semaphore| one.engine == engine && one.priority.to_string() == priority;
    outcome.semaphores.iter().find(is_meant).ok_or_else(|| match setup.mode.kind() {
        None => "expect.semaphore: there are none in the mode none; drop the expectation".to_owned(),
        Some(_) => {
            format!("expect.semaphore: there is no {key}; priorities 2 to {} have one", setup.priorities.count())
        }
    })
}

fn check_before(first: &str, second: &str, setup: &Setup, outcome: &Outcome) -> Result<Option<String>, String> {
    let (one, other) = (copy(setup, first)?, copy(setup, second)?);
    let ended = outcome.completed[one];
    let is_before = match (ended, outcome.began[other]) {
        (Some(ended), Some(began)) => ended <= began,
        (ended, None) => ended.is_some(),
        (None, Some(_)) => false,
    };
    Ok((!is_before).then(|| format!("before: `{first}` had not completed when `{second}` began")))
}

fn check_done_by(name: &str, time: u64, setup: &Setup, outcome: &Outcome) -> Result<Option<String>, String> {
    let (copy, unit): (usize, Unit) = (copy(setup, name)?, setup.unit);
    let limit = unit.time(time).ok_or_else(|| format!("expect.done_by: {time} is longer than a clock can hold"))?;
    let ended = outcome.completed[copy];
    if ended.is_some_and(|ended| ended <= limit) {
        return Ok(None);
    }
    let actual = ended.map_or("never".to_owned(), |ended| format!("at {}", unit.show(ended)));
    Ok(Some(format!("done_by: `{name}` expected by {}, was done {actual}", unit.show(limit))))
}
