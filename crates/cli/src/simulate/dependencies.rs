//! The order of copies: names become indices, and copies are sorted by submission.

use super::setup::{CopySetup, find};

/// Resolves the `after` of each copy and sorts the copies by arrival.
pub fn resolve(copies: Vec<CopySetup>, afters: &[&Vec<String>]) -> Result<Vec<CopySetup>, String> {
    let mut edges = Vec::with_capacity(copies.len());
    for (copy, names) in copies.iter().zip(afters) {
        let known = copies.iter().map(|copy| copy.name.as_str());
        let found: Result<Vec<usize>, String> = names.iter().map(|name| find("copy", name, known.clone())).collect();
        edges.push(found.map_err(|error| format!("copy `{}`, after: {error}", copy.name))?);
    }
    if let Some(cycle) = cycle(&edges) {
        let names: Vec<&str> = cycle.iter().map(|copy| copies[*copy].name.as_str()).collect();
        return Err(format!("copies wait for each other in a circle: {}; drop one `after`", names.join(" after ")));
    }
    let mut order: Vec<usize> = (0..copies.len()).collect();
    order.sort_by_key(|copy| copies[*copy].arrival);
    let mut place = vec![0; copies.len()];
    order.iter().enumerate().for_each(|(at, copy)| place[*copy] = at);
    for (copy, after) in edges.iter().enumerate() {
        // A driver's wait for an event covers only earlier records, so the wait would not cover a later copy.
        if let Some(later) = after.iter().find(|other| place[**other] > place[copy]) {
            return Err(format!(
                "copy `{0}` comes after `{1}`, which is submitted later; a stream can only wait for submitted copies: \
                 let `{1}` arrive earlier, or list it above `{0}`",
                copies[copy].name, copies[*later].name
            ));
        }
    }
    let placed = |copy: usize| {
        let after = edges[copy].iter().map(|other| place[*other]).collect();
        CopySetup { after, ..copies[copy].clone() }
    };
    Ok(order.into_iter().map(placed).collect())
}

/// A circle among the dependencies, with its first copy repeated at the end.
fn cycle(edges: &[Vec<usize>]) -> Option<Vec<usize>> {
    let mut finished = vec![false; edges.len()];
    for start in 0..edges.len() {
        // A path of copies, each with the number of its edges that have been followed.
        let mut path: Vec<(usize, usize)> = vec![(start, 0)];
        while let Some((copy, followed)) = path.last_mut() {
            let Some(&next) = edges[*copy].get(*followed).filter(|_| !finished[*copy]) else {
                finished[*copy] = true;
                path.pop();
                continue;
            };
            *followed += 1;
            if let Some(at) = path.iter().position(|(copy, _)| *copy == next) {
                return Some(path[at..].iter().map(|(copy, _)| *copy).chain([next]).collect());
            }
            path.push((next, 0));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn circles_are_found_and_named_in_order() {
        assert_eq!(cycle(&[vec![], vec![0], vec![0, 1]]), None);
        assert_eq!(cycle(&[vec![1], vec![2], vec![3, 1], vec![]]), Some(vec![1, 2, 1]));
        assert_eq!(cycle(&[vec![0]]), Some(vec![0, 0]));
    }

    #[test]
    fn long_chains_are_no_circles() {
        let chain: Vec<Vec<usize>> = (0..2_000).map(|copy: usize| copy.checked_sub(1).into_iter().collect()).collect();
        assert_eq!(cycle(&chain), None);
    }
}
