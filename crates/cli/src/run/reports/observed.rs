//! What was seen of the copies, for people.

use report::{Column, Table, format};
use shim::observed::{Observed, Site, Spans};

use super::text::{count, line, percentile, section};

/// The functions of a place that are named.
const FRAMES_SHOWN: usize = 3;

/// Adds the tables of what was seen.
pub fn render(text: &mut String, seen: &Observed) {
    if !seen.engines.is_empty() {
        section(text, "copies as the program makes them", &engine_table(seen));
    }
    if seen.waits.behind.count + seen.waits.alone.count > 0 {
        section(text, "urgent copies that the program waited for", &wait_table(seen));
    }
    render_sites(text, seen);
}

fn span(us: u64) -> String {
    format::span_us(us as f64)
}

fn engine_table(seen: &Observed) -> Table {
    let columns = vec![
        Column::words("device"),
        Column::numbers("streams"),
        Column::numbers("copies"),
        Column::numbers("size"),
        Column::numbers("in calls"),
        Column::numbers("urgent"),
        Column::numbers("behind bulk"),
        Column::numbers("bulk"),
        Column::numbers("captured"),
    ];
    let mut table = Table::new(columns);
    for engine in &seen.engines {
        table.push([
            format!("{} {}", engine.device, engine.direction),
            count(engine.streams),
            count(engine.copies),
            format::size(engine.bytes),
            span(engine.blocked_us),
            count(engine.urgent),
            count(engine.behind),
            count(engine.bulk),
            count(engine.captured),
        ]);
    }
    table
}

fn wait_table(seen: &Observed) -> Table {
    let columns = vec![
        Column::words("issued"),
        Column::numbers("waited for"),
        Column::numbers("p50 (us)"),
        Column::numbers("p99 (us)"),
        Column::numbers("max (us)"),
    ];
    let mut table = Table::new(columns);
    for (name, spans) in [("while bulk was in flight", seen.waits.behind), ("while none was", seen.waits.alone)] {
        table.push([
            name.to_owned(),
            count(spans.count),
            percentile(spans.p50_us),
            percentile(tail(&spans)),
            format::us(spans.max_us),
        ]);
    }
    table
}

/// A 99th percentile of few is none.
pub fn tail(spans: &Spans) -> Option<f64> {
    let count = usize::try_from(spans.count).unwrap_or(usize::MAX);
    spans.p99_us.filter(|_| report::carries(count, 0.99))
}

/// The stall report.
fn render_sites(text: &mut String, seen: &Observed) {
    if seen.sites.is_empty() {
        return;
    }
    line(text, "\ncalls that copy and blocked for 1 ms or more, by their place in the program");
    for site in &seen.sites {
        let (calls, time, longest) = (count(site.calls), span(site.blocked_us), span(site.blocked_max_us));
        line(text, &format!("  {time} in {calls} calls, {longest} at most, {}", format::size(site.bytes)));
        site.python.iter().for_each(|place| line(text, &format!("    at {place}")));
        let shown = if site.python.is_empty() { FRAMES_SHOWN } else { 1 };
        site.frames.iter().take(shown).for_each(|place| line(text, &format!("    at {place}")));
        let (why, cure) = reason(site, seen.only);
        line(text, &format!("    because {why}"));
        line(text, &format!("    try: {cure}"));
    }
    if seen.sites_left_out > 0 {
        line(text, &format!("  {} more such calls from other places", count(seen.sites_left_out)));
    }
}

/// Why the calls of a place blocked, and what would help.
fn reason(site: &Site, is_native: bool) -> (&'static str, &'static str) {
    let is_most = |part: u64| part * 2 > site.calls;
    let staged = "pinned memory (cudaHostAlloc, pin_memory=True), and a copy that does not wait (non_blocking=True)";
    match () {
        () if is_most(site.pageable) && is_native => (
            "the memory is pageable: the call returns when the driver, with one thread, has read or written it",
            "overtake, which copies large pageable memory with several threads; or pinned memory",
        ),
        () if is_most(site.pageable) => {
            ("the memory is pageable: the call does not return until it has been copied", staged)
        }
        () if is_most(site.behind) => (
            "the copy was urgent, and bulk of another stream was in flight",
            "overtake, which lets such copies pass; or a copy that does not wait",
        ),
        () if is_most(site.blocking) => (
            "the call waits for the copy, and for all work before it in its stream",
            "a copy that does not wait (cudaMemcpyAsync, non_blocking=True), and a wait where the bytes are needed",
        ),
        () => (
            "the call had to wait inside the driver: for memory, for a full queue, or for another thread",
            "fewer copies in flight at once, and allocations before the work begins",
        ),
    }
}

#[cfg(test)]
mod tests {
    use shim::observed::{Engine, Waits};

    use super::*;

    fn site() -> Site {
        let frames = ["loader.so load+0x10", "a", "b", "c"].map(str::to_owned).to_vec();
        Site { frames, calls: 4, blocked_us: 8_000, blocked_max_us: 3_000, bytes: 1 << 20, ..Site::default() }
    }

    fn seen() -> Observed {
        let engine = Engine { direction: "h2d".to_owned(), copies: 12, bytes: 1 << 30, ..Engine::default() };
        let engine = Engine { streams: 2, urgent: 7, behind: 6, bulk: 5, blocked_us: 9_000, ..engine };
        let behind = Spans { count: 6, sum_us: 48_000.0, p50_us: Some(8_000.0), p99_us: Some(9e3), max_us: 9e3 };
        let waits = Waits { behind, ..Waits::default() };
        Observed { only: true, engines: vec![engine], waits, sites: vec![site()], ..Observed::default() }
    }

    #[test]
    fn copies_waits_and_places_are_shown() {
        let mut text = String::new();
        render(&mut text, &seen());
        for part in [
            "0 h2d         2      12  1 GiB      9 ms       7            6     5",
            "while bulk was in flight           6     8,000         -",
        ] {
            assert!(text.contains(part), "{part} is not in:\n{text}");
        }
        assert!(text.contains("8 ms in 4 calls, 3 ms at most, 1 MiB\n    at loader.so load+0x10\n"), "{text}");
        assert!(!text.contains("at c\n"), "three functions: {text}");
    }

    #[test]
    fn each_stall_has_its_reason() {
        let of = |change: fn(&mut Site), is_native| {
            let mut site = site();
            change(&mut site);
            reason(&site, is_native).0
        };
        assert!(of(|site| site.pageable = 4, true).contains("one thread"));
        assert!(of(|site| site.pageable = 4, false).contains("until it has been copied"));
        assert!(of(|site| site.behind = 3, true).contains("bulk of another stream"));
        assert!(of(|site| site.blocking = 4, true).contains("the call waits for the copy"));
        assert!(of(|site| site.blocking = 2, true).contains("inside the driver"), "half of them is not most");
    }

    #[test]
    fn where_python_is_known_it_comes_first() {
        let site = Site { python: vec!["train.py:41 load".to_owned()], ..site() };
        let mut text = String::new();
        render_sites(&mut text, &Observed { sites: vec![site], ..Observed::default() });
        assert!(text.contains("at train.py:41 load\n    at loader.so load+0x10\n    because"), "{text}");
    }
}
