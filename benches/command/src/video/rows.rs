//! The rows of `bench video`: one for each kind of cameras, method and background.

use measure::bulk::Throughput;
use measure::case::fill_latency;
use measure::catalogue::{IDLE, RAW};
use report::{BenchRow, Distribution, Spread};

use super::args::{Background, Cameras, VideoMethod};
use super::course::slowest;
use super::slice::{Scene, Slice};

/// The slices of a scene, one of each round.
pub struct Case {
    pub name: &'static str,
    pub scene: Scene,
    pub slices: Vec<Slice>,
}

impl Case {
    pub fn new(name: &'static str, scene: Scene) -> Case {
        Case { name, scene, slices: Vec::new() }
    }

    /// The median of each round.
    fn medians(&self, kind: usize) -> Vec<Option<f64>> {
        let median = |slice: &Slice| {
            let latencies = slice.footage.get(kind)?.latencies_ns.clone();
            Distribution::new(latencies).map(|all| all.quantile_us(0.5))
        };
        self.slices.iter().map(median).collect()
    }

    fn latencies(&self, kind: usize) -> Vec<u64> {
        let of = |slice: &Slice| slice.footage.get(kind).map(|footage| footage.latencies_ns.clone());
        self.slices.iter().filter_map(of).flatten().collect()
    }

    /// The bandwidth of all flows together.
    fn gbps(&self) -> Option<f64> {
        let flows = self.slices.first()?.bulk.len();
        let flow = |index: usize| {
            let parts = self.slices.iter().filter_map(|slice| slice.bulk.get(index).copied());
            parts.fold(Throughput::default(), Throughput::and).gbps()
        };
        let gbps = (0..flows).map(flow).collect::<Option<Vec<f64>>>()?;
        (!gbps.is_empty()).then(|| gbps.iter().sum())
    }

    /// The bandwidth of all pictures and results.
    fn pictures(&self) -> Option<f64> {
        self.slices.iter().map(|slice| slice.pictures).fold(Throughput::default(), Throughput::and).gbps()
    }
}

/// The name of a setting: the wait that a pipeline's copies tolerate.
pub const TOLERANCE: &str = "tolerance_us=";
/// The same: the pictures that pipelines have at work at once.
const AT_ONCE: &str = "at_once=";

/// The arguments of a run that its rows name.
#[derive(Clone, Copy)]
pub struct Terms<'t> {
    pub kinds: &'t [Cameras],
    /// A result has to be there after so many periods.
    pub periods: u32,
    pub bulk_bytes: u64,
    pub tolerance_us: u64,
    /// As many as come if it is 0.
    pub at_once: u32,
    /// The slowest frames of a row, so many, are told.
    pub slow: usize,
}

impl Terms<'_> {
    /// The setting of a scene: its background, where that is not bulk in both directions, and those of a pipeline.
    fn setting(self, scene: Scene) -> Option<String> {
        let background = scene.background.filter(|it| *it != Background::Both).map(|it| it.name().to_owned());
        let is_pipeline = matches!(scene.method, VideoMethod::Pipeline | VideoMethod::Template);
        let has_own = is_pipeline && scene.has_pictures && scene.background.is_some();
        let own = [(TOLERANCE, self.tolerance_us), (AT_ONCE, u64::from(self.at_once))];
        let own =
            own.into_iter().filter(|(_, value)| has_own && *value > 0).map(|(name, value)| format!("{name}{value}"));
        let parts: Vec<String> = background.into_iter().chain(own).collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}

/// All rows.
pub fn rows(cases: &[Case], terms: Terms<'_>) -> Vec<BenchRow> {
    let kinds = terms.kinds;
    let idle = cases.iter().find(|case| case.name == IDLE);
    let rows = cases.iter().flat_map(|case| {
        let kinds_of_case = if case.scene.has_pictures { kinds.len() } else { 1 };
        let raw = cases.iter().find(|one| one.name == RAW && one.scene.background == case.scene.background);
        (0..kinds_of_case).map(move |kind| row(case, kind, terms, idle, raw))
    });
    rows.collect()
}

fn row(case: &Case, kind: usize, terms: Terms<'_>, idle: Option<&Case>, raw: Option<&Case>) -> BenchRow {
    let Scene { has_pictures, background, .. } = case.scene;
    let Terms { kinds, periods, bulk_bytes, .. } = terms;
    let cameras = kinds[kind];
    let mut all = super::camera::Footage::default();
    case.slices.iter().filter_map(|slice| slice.footage.get(kind)).for_each(|footage| all.add(footage));
    let idle_medians = idle.map_or(Vec::new(), |idle| idle.medians(kind));
    let ratios = case.medians(kind).into_iter().zip(idle_medians).filter_map(|(own, idle)| Some(own? / idle?));
    let counted = |count: u64| has_pictures.then_some(count);
    let mut row = BenchRow {
        method: case.name.to_owned(),
        transport: case.slices.first().map_or("", |slice| slice.transport).to_owned(),
        emulation: case.scene.emulation().to_owned(),
        direction: "both".to_owned(),
        stream: (has_pictures && kinds.len() > 1).then(|| format!("{}x{}", cameras.count, cameras.pictures)),
        setting: terms.setting(case.scene),
        high_bytes: if has_pictures { cameras.pictures.bytes() } else { 0 },
        bulk_bytes: background.map_or(0, |background| background.bytes(bulk_bytes)),
        bulk_gbps: case.gbps(),
        raw_gbps: raw.and_then(Case::gbps),
        urgent_gbps: case.pictures().filter(|_| background.is_some()),
        rescues: case.slices.iter().map(|slice| slice.rescues).sum(),
        deadline_us: has_pictures.then(|| f64::from(periods) * cameras.pictures.period().as_us()),
        due: counted(all.due),
        missed: counted(all.missed()),
        late: counted(all.late),
        dropped: all.dropped.clone(),
        jitter_us: all.jitter_us(),
        checked: (all.checked > 0).then_some(all.checked),
        wrong: (all.checked > 0).then_some(all.wrong),
        slow: slowest(&all.courses, terms.slow),
        ratio: (case.name != IDLE).then(|| Spread::of(ratios.collect())).flatten(),
        ..BenchRow::default()
    };
    fill_latency(&mut row, &case.latencies(kind), &[]);
    match idle.and_then(|idle| Distribution::new(idle.latencies(kind))) {
        Some(idle) if has_pictures => row.with_idle(idle.summary()),
        _ => row,
    }
}
