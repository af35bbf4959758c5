//! `bench video --raise`: cameras are added one at a time, until a method misses a picture.

use console::failure::Result;
use console::progress::Progress;
use hal::Nanos;
use report::BenchRow;

use super::args::{Background, VideoMethod};
use super::camera::Footage;
use super::rows::{Case, Terms, rows};
use super::slice::{Scene, Set, film};

/// The cameras that a method carries beside a background.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Carried {
    method: VideoMethod,
    background: Background,
    /// All of them were in time.
    cameras: usize,
    /// Pictures that were missed with one camera more, if there was one.
    missed: Option<u64>,
}

/// Raises the load of each method beside each background. Each step takes `part`. Returns the rows of all steps, and
/// the results.
pub fn raise(
    set: &Set<'_>,
    (methods, backgrounds): (&[VideoMethod], &[Background]),
    terms: Terms<'_>,
    part: Nanos,
    progress: &mut Progress,
) -> Result<(Vec<BenchRow>, Vec<Carried>)> {
    let (mut all, mut carried) = (Vec::new(), Vec::new());
    for background in backgrounds.iter().copied() {
        for method in methods.iter().copied() {
            let scene = Scene { method, has_pictures: true, background: Some(background) };
            let mut most = Carried { method, background, cameras: 0, missed: None };
            while most.cameras < set.cameras.len() && most.missed.is_none() {
                progress.step(method.name());
                let count = most.cameras + 1;
                let slice = film(&Set { cameras: &set.cameras[..count], ..*set }, &scene, part)?;
                match slice.footage.iter().map(Footage::missed).sum() {
                    0 => most.cameras = count,
                    missed => most.missed = Some(missed),
                }
                let case = Case { slices: vec![slice], ..Case::new(method.name(), scene) };
                all.extend(rows(&[case], terms).into_iter().filter_map(|row| of_step(row, count)));
            }
            carried.push(most);
        }
    }
    Ok((all, carried))
}

/// A row of a step, if its cameras have begun.
fn of_step(row: BenchRow, count: usize) -> Option<BenchRow> {
    let cameras = if count == 1 { "1 camera".to_owned() } else { format!("{count} cameras") };
    let setting = row.setting.iter().cloned().chain([cameras]).collect::<Vec<_>>().join(", ");
    row.due.is_some_and(|due| due > 0).then_some(BenchRow { setting: Some(setting), ..row })
}

/// The result of each method in words.
pub fn verdict(carried: &[Carried]) -> String {
    let line = |one: &Carried| {
        let end = match one.missed {
            Some(missed) => format!("and misses {missed} pictures with one more"),
            None => "and was given no more".to_owned(),
        };
        format!("{} beside {} carries {} cameras, {end}", one.method.name(), one.background.name(), one.cameras)
    };
    carried.iter().map(line).collect::<Vec<_>>().join("\n")
}
