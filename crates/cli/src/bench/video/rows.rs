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

/// The missed pictures of each method in words.
pub fn verdict(rows: &[BenchRow]) -> String {
    let line = |row: &BenchRow| {
        let (missed, due) = (row.missed?, row.due?);
        let beside = match &row.setting {
            Some(name) => format!("beside {name}"),
            None if row.bulk_bytes > 0 => "beside bulk".to_owned(),
            None => "without bulk".to_owned(),
        };
        let stream = row.stream.as_ref().map_or(String::new(), |stream| format!(" {stream}"));
        let wrong = row.wrong.filter(|wrong| *wrong > 0).map_or(String::new(), |wrong| {
            format!("\n{}{stream} {beside}: {wrong} RESULTS HAVE WRONG BYTES", row.method)
        });
        Some(format!("{}{stream} {beside}: {missed} of {due} pictures missed their deadline{wrong}", row.method))
    };
    rows.iter().filter_map(line).collect::<Vec<_>>().join("\n")
}
