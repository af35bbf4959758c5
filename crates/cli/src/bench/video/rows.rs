//! The rows of `bench video`: one for each kind of cameras, method and background.

use report::{BenchRow, Distribution, Spread};

use super::super::bulk::Throughput;
use super::super::case::fill_latency;
use super::super::catalogue::{IDLE, RAW};
use super::args::{Background, Cameras};
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

/// All rows. A result has to be there after so many periods.
pub fn rows(cases: &[Case], (kinds, periods): (&[Cameras], u32), bulk_bytes: u64) -> Vec<BenchRow> {
    let idle = cases.iter().find(|case| case.name == IDLE);
    let rows = cases.iter().flat_map(|case| {
        let kinds_of_case = if case.scene.has_pictures { kinds.len() } else { 1 };
        let raw = cases.iter().find(|one| one.name == RAW && one.scene.background == case.scene.background);
        (0..kinds_of_case).map(move |kind| row(case, (kind, kinds, periods), idle, raw, bulk_bytes))
    });
    rows.collect()
}

fn row(
    case: &Case,
    (kind, kinds, periods): (usize, &[Cameras], u32),
    idle: Option<&Case>,
    raw: Option<&Case>,
    bulk_bytes: u64,
) -> BenchRow {
    let Scene { has_pictures, background, .. } = case.scene;
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
        setting: background.filter(|it| *it != Background::Both).map(|background| background.name().to_owned()),
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
        ratio: (case.name != IDLE).then(|| Spread::of(ratios.collect())).flatten(),
        ..BenchRow::default()
    };
    fill_latency(&mut row, &case.latencies(kind), &[]);
    match idle.and_then(|idle| Distribution::new(idle.latencies(kind))) {
        Some(idle) if has_pictures => row.with_idle(idle.summary()),
        _ => row,
    }
}
