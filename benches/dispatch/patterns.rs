//! The six shapes of Task Bench, eight tasks wide and eight steps long: the time from the submission of a task until
//! its work has been submitted, one by one and as a template.

use std::process::ExitCode;
use std::time::Instant;

use overtake::task::{Handle, Lane, More, Recording, Step, Tasks, Template};
use testkit::callgrind;

use crate::chain::Ground;
use crate::{Bounds, print};

/// Columns and steps, and the tasks of a shape.
pub const WIDTH: usize = 8;
const STEPS: usize = 8;
pub const TASKS: usize = WIDTH * STEPS;
const ROUNDS: usize = 301;
const NANOSECONDS: Bounds = Bounds { limit: 300.0, goal: 120.0 };
const NANOSECONDS_REPLAYED: Bounds = Bounds { limit: 80.0, goal: 30.0 };
const INSTRUCTIONS: Bounds = Bounds { limit: 1200.0, goal: 500.0 };
/// The limits of tasks one by one are those of tasks behind so many others; a shape with more has no limit there.
const BEFORE_MAX: usize = 2;
/// Shapes that callgrind counts.
const COUNTED: usize = 64;

/// How the tasks of a shape come after each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// After none.
    Trivial,
    /// After the neighbours of the step before, and the one between.
    Stencil,
    /// After two, at the distances of a Fourier transform.
    Fft,
    /// After the one above and the one to the left.
    Sweep,
    /// Two after each of the step before.
    Tree,
    /// After two of the step before, as they come.
    Random,
}

/// All shapes, with their names.
pub const PATTERNS: [(&str, Pattern); 6] = [
    ("trivial", Pattern::Trivial),
    ("stencil", Pattern::Stencil),
    ("fft", Pattern::Fft),
    ("sweep", Pattern::Sweep),
    ("tree", Pattern::Tree),
    ("random", Pattern::Random),
];

impl Pattern {
    /// The tasks before this one, by number.
    pub fn before(self, task: usize) -> Vec<usize> {
        let (step, column) = (task / WIDTH, task % WIDTH);
        let left = (column > 0).then(|| task - 1);
        let Some(above) = task.checked_sub(WIDTH) else {
            return if self == Pattern::Sweep { left.into_iter().collect() } else { Vec::new() };
        };
        let row = above - column;
        let mut before = match self {
            Pattern::Trivial => Vec::new(),
            Pattern::Stencil => (column.saturating_sub(1)..=(column + 1).min(WIDTH - 1)).map(|at| row + at).collect(),
            Pattern::Fft => vec![above, row + (column ^ (1 << ((step - 1) % 3)))],
            Pattern::Sweep => left.into_iter().chain([above]).collect(),
            Pattern::Tree => vec![row + column / 2],
            Pattern::Random => [7, 13].map(|by| row + (task * by + step * step * 5) % 31 % WIDTH).to_vec(),
        };
        before.dedup();
        before
    }

    /// Whether a task has more before it than the limits count on.
    fn is_beyond_limits(self) -> bool {
        (0..TASKS).any(|task| self.before(task).len() > BEFORE_MAX)
    }

    /// Tasks whose launches are made by `launch`, as a template.
    pub fn template<L>(self, launch: L) -> Template<()>
    where
        L: Fn(&mut Lane<'_>) -> overtake::task::WorkResult<More> + Clone + Send + Sync + 'static,
    {
        let mut recording = Recording::new();
        let mut steps: Vec<Step> = Vec::with_capacity(TASKS);
        for task in 0..TASKS {
            let (launch, after) = (launch.clone(), self.before(task).into_iter().map(|task| steps[task]));
            steps.push(recording.kernel("task", &after.collect::<Vec<_>>(), move |lane, ()| launch(lane)));
        }
        recording.finish().expect("each task comes after tasks before it")
    }
}

/// A shape, and all that is needed to submit it.
struct Shape<'s> {
    tasks: &'s Tasks,
    before: Vec<Vec<usize>>,
    template: Template<()>,
    handles: Vec<Handle>,
}

impl Shape<'_> {
    fn new(tasks: &Tasks, pattern: Pattern) -> Shape<'_> {
        let before = (0..TASKS).map(|task| pattern.before(task)).collect();
        Shape { tasks, before, template: pattern.template(|_| Ok(More::Done)), handles: Vec::new() }
    }

    /// Submits all tasks. callgrind counts the calls of the function of this name.
    #[inline(never)]
    fn counted_tasks(&mut self, is_replayed: bool) {
        if is_replayed {
            self.handles.push(self.template.replay(self.tasks, ()).submit().expect("there is room"));
            return;
        }
        for before in &self.before {
            let task = self.tasks.kernel("task", |_: &mut Lane<'_>| Ok(More::Done));
            let task = task.after(before.iter().map(|before| &self.handles[*before]));
            self.handles.push(task.submit().expect("there is room"));
        }
    }

    fn end(&mut self) {
        self.tasks.wait().expect("no task fails");
        self.handles.clear();
    }

    /// Nanoseconds of a task: the median over rounds.
    fn time(&mut self, is_replayed: bool) -> f64 {
        let mut samples: Vec<f64> = (0..ROUNDS)
            .map(|_| {
                let start = Instant::now();
                self.counted_tasks(is_replayed);
                let spent = start.elapsed();
                self.end();
                spent.as_nanos() as f64 / TASKS as f64
            })
            .collect();
        samples.sort_unstable_by(f64::total_cmp);
        samples[samples.len() / 2]
    }
}

/// Prints the times, or the instructions.
pub fn report(counts: bool) -> ExitCode {
    println!("from its submission until its work is submitted; shapes of {WIDTH} x {STEPS} tasks");
    let (ground, mut is_within) = (Ground::new(), true);
    let tasks = ground.tasks();
    for (name, pattern) in PATTERNS {
        for (way, is_replayed, bounds) in
            [("one by one", false, NANOSECONDS), ("as a template", true, NANOSECONDS_REPLAYED)]
        {
            let label = format!("{name}, {way}");
            let (figure, unit, bounds) = if counts {
                match instructions(pattern, is_replayed) {
                    Ok(figure) => (figure, "instructions", INSTRUCTIONS),
                    Err(error) => {
                        eprintln!("{error}");
                        return ExitCode::FAILURE;
                    }
                }
            } else {
                (Shape::new(&tasks, pattern).time(is_replayed), "ns", bounds)
            };
            if !is_replayed && pattern.is_beyond_limits() {
                println!("{label:<44}{figure:>8.0} {unit:<13}no limit: more than {BEFORE_MAX} before a task");
            } else {
                is_within &= print(&label, figure, unit, bounds);
            }
        }
    }
    if is_within { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Instructions of a task.
fn instructions(pattern: Pattern, is_replayed: bool) -> Result<f64, String> {
    let words = ["counted-shape", &format!("{pattern:?}"), if is_replayed { "replayed" } else { "alone" }];
    Ok(callgrind::count("counted_tasks", &words)? as f64 / (COUNTED * TASKS) as f64)
}

/// The part that runs under callgrind.
pub fn counted(pattern: &str, way: &str) -> ExitCode {
    let Some((_, pattern)) = PATTERNS.into_iter().find(|(_, known)| format!("{known:?}") == pattern) else {
        return ExitCode::FAILURE;
    };
    let ground = Ground::new();
    let tasks = ground.tasks();
    let mut shape = Shape::new(&tasks, pattern);
    for _ in 0..COUNTED {
        shape.counted_tasks(way == "replayed");
        shape.end();
    }
    ExitCode::SUCCESS
}
