//! Circles among arrows.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::modules::Arrows;

/// For each node on a circle the shortest circle through it, each circle once: its nodes in order, from the least one
/// on.
pub fn circles(arrows: &Arrows) -> BTreeSet<Vec<String>> {
    let circles = arrows.keys().filter_map(|node| through(node, arrows));
    circles.map(beginning_with_the_least).collect()
}

/// The shortest circle through a node.
fn through(node: &str, arrows: &Arrows) -> Option<Vec<String>> {
    let mut came_from: BTreeMap<&str, &str> = BTreeMap::new();
    let mut open = VecDeque::from([node]);
    while let Some(at) = open.pop_front() {
        for to in arrows.get(at).into_iter().flat_map(BTreeMap::keys) {
            if to == node {
                let mut way = vec![at.to_owned()];
                while let Some(before) = came_from.get(way[way.len() - 1].as_str()) {
                    way.push((*before).to_owned());
                }
                way.reverse();
                return Some(way);
            }
            if !came_from.contains_key(to.as_str()) {
                came_from.insert(to, at);
                open.push_back(to);
            }
        }
    }
    None
}

fn beginning_with_the_least(mut circle: Vec<String>) -> Vec<String> {
    let least = circle.iter().enumerate().min_by_key(|(_, node)| *node).map_or(0, |(at, _)| at);
    circle.rotate_left(least);
    circle
}

/// The arrows between the folders, and the files that lie beside them, of each folder.
pub fn folded(arrows: &Arrows) -> Arrows {
    let mut folded = Arrows::new();
    for (from, to) in arrows {
        for (to, place) in to {
            let (from, to) = parting(from, to);
            if from != to {
                let first = folded.entry(from).or_default().entry(to).or_insert_with(|| place.clone());
                *first = place.min(first).clone();
            }
        }
    }
    folded
}

/// The point where two paths part: each path up to its first name that differs. `a.rs` and `a/mod.rs` belong to `a`.
fn parting(left: &str, right: &str) -> (String, String) {
    let names = |path: &str| -> Vec<String> {
        let path = path.trim_end_matches(".rs").trim_end_matches("/mod");
        path.split('/').map(str::to_owned).collect()
    };
    let (left, right) = (names(left), names(right));
    let same = left.iter().zip(&right).take_while(|(left, right)| left == right).count();
    let up_to = |names: &[String]| names[..names.len().min(same + 1)].join("/");
    match same == left.len() || same == right.len() {
        // A file and the files in its folder.
        true => (left.join("/"), left.join("/")),
        false => (up_to(&left), up_to(&right)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrows::modules::Place;

    fn arrows(list: &[(&str, &str)]) -> Arrows {
        let mut arrows = Arrows::new();
        for (from, to) in list {
            arrows.entry((*from).to_owned()).or_default().insert((*to).to_owned(), Place((*from).to_owned(), 1));
        }
        arrows
    }

    fn found(list: &[(&str, &str)]) -> Vec<String> {
        circles(&arrows(list)).iter().map(|circle| circle.join(" ")).collect()
    }

    #[test]
    fn circles_of_two_and_three_are_found_once() {
        assert_eq!(found(&[("a", "b"), ("b", "a"), ("b", "c")]), ["a b"]);
        assert_eq!(found(&[("c", "a"), ("a", "b"), ("b", "c"), ("d", "a")]), ["a b c"]);
        assert_eq!(found(&[("a", "b"), ("b", "c"), ("a", "c")]), [""; 0]);
    }

    #[test]
    fn a_short_circle_does_not_hide_a_long_one() {
        assert_eq!(found(&[("a", "b"), ("b", "a"), ("b", "c"), ("c", "d"), ("d", "b")]), ["a b", "b c d"]);
    }

    #[test]
    fn folders_have_circles_where_their_files_have_none() {
        let list =
            arrows(&[("src/a/b.rs", "src/c/d.rs"), ("src/c/e.rs", "src/a/f.rs"), ("src/a/mod.rs", "src/a/b.rs")]);
        assert_eq!(circles(&list).len(), 0);
        let folders: Vec<Vec<String>> = circles(&folded(&list)).into_iter().collect();
        assert_eq!(folders, [["src/a", "src/c"]]);
        let own = arrows(&[("src/a.rs", "src/a/b.rs"), ("src/a/b.rs", "src/c.rs"), ("src/c.rs", "src/d.rs")]);
        assert_eq!(circles(&folded(&own)).len(), 0);
    }
}
