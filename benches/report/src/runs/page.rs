//! The page about runs.

use super::figures;
use super::headline::{self, Headline, headlines};
use super::own::{self, Own};
use super::read::Stored;
use super::table::{Rows, list, slow_frames};
use super::{beside, cells};
use crate::format;
use crate::page::{document, origin};
use crate::svg::escape;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
/// The page works without the network, and cannot reach it.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'";
/// The parts of a header that the origin shows.
const ORIGIN: [&str; 9] =
    ["version", "commit", "product", "command", "device", "driver", "driver_release", "backend", "environment"];
/// Headlines of a run that are shown large; the table has all.
const LARGE_MAX: usize = 4;

/// The page as an HTML document. It fetches nothing, and its tables are complete without scripts.
#[must_use]
pub fn page(title: &str, runs: &[Stored]) -> String {
    let labels: Vec<String> = (1..=runs.len()).map(|number| number.to_string()).collect();
    let found: Vec<(String, Vec<Headline>)> =
        labels.iter().zip(runs).map(|(label, run)| (label.clone(), headlines(run))).collect();
    let mut body = contents(runs);
    body.push_str(&verdicts(&labels, runs));
    if found.iter().any(|(_, found)| !found.is_empty()) {
        body.push_str(
            "<section>\n<h2>Headline</h2>\n<p>The better of CUDA's own two ways beside the best of \
                       overtake's, by median latency beside bulk. The ratio is native by ours: above 1, ours is \
                       shorter.</p>\n",
        );
        body.push_str(&large(&found));
        body.push_str(&headline::grid(&found).to_html());
        body.push_str("</section>\n");
    }
    if runs.len() > 1 && runs.iter().any(|run| !run.rows.is_empty()) {
        body.push_str("<section>\n<h2>Side by side</h2>\n");
        body.push_str(&beside::grid(runs, &labels).to_html());
        body.push_str("</section>\n");
    }
    labels.iter().zip(runs).for_each(|(label, run)| body.push_str(&section(label, run)));
    body.push_str(&format!("<script>\n{SCRIPT}</script>\n"));
    let head =
        format!("<meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n<style>\n{STYLE}</style>\n");
    document(title, &head, &body)
}

fn contents(runs: &[Stored]) -> String {
    let line = |(index, run): (usize, &Stored)| {
        let other = if run.own.is_some() { "the report of a program" } else { "a trace" };
        let device = run.header.as_ref().map_or(other, |header| header.device.as_str());
        let (number, name) = (index + 1, escape(&run.name));
        format!("<li><a href=\"#run-{number}\">{name}</a>: {}</li>\n", escape(device))
    };
    let lines: String = runs.iter().enumerate().map(line).collect();
    format!("<nav>\n<ol>\n{lines}</ol>\n</nav>\n")
}

/// The verdicts about programs, one for each report.
fn verdicts(labels: &[String], runs: &[Stored]) -> String {
    let own = || labels.iter().zip(runs).filter_map(|(label, run)| Some((label, run.own.as_ref()?)));
    let is_one = own().count() == 1;
    let verdict = |(label, own): (&String, &Own)| {
        let run = if is_one { String::new() } else { format!(" of run {label}") };
        let command = escape(&own.command.join(" "));
        format!("<section>\n<h2>Headline{run}</h2>\n<p><code>{command}</code></p>\n{}</section>\n", own.verdict())
    };
    own().map(verdict).collect()
}

/// Who waited for whom: as the drop-in saw it, and as the trace has it.
fn waits(label: &str, run: &Stored) -> String {
    let seen = run.own.as_ref().and_then(|own| own.waits(label));
    let traced = run.trace.as_ref().and_then(|trace| own::beside(label, &trace.beside()));
    let tables: String = seen.into_iter().chain(traced).collect();
    if tables.is_empty() { tables } else { format!("<h3>Who waited for whom</h3>\n{tables}") }
}

fn large(found: &[(String, Vec<Headline>)]) -> String {
    let line = |run: &str, headline: &Headline| {
        let run = if found.len() > 1 { format!("run {run}, ") } else { String::new() };
        let ratio = format::ratio(headline.ratio, 1.0);
        format!("<li><strong>{ratio}</strong> {}</li>\n", escape(&format!("{run}{}", headline::words(headline))))
    };
    let lines = found.iter().flat_map(|(run, of_run)| of_run.iter().take(LARGE_MAX).map(move |one| line(run, one)));
    format!("<ul class=\"headline\">\n{}</ul>\n", lines.collect::<String>())
}

fn section(label: &str, run: &Stored) -> String {
    let mut html = format!("<section id=\"run-{label}\">\n<h2>Run {label}: {}</h2>\n", escape(&run.name));
    if let Some(header) = &run.header {
        html.push_str(&origin(header));
    }
    let more = run.rest.get("header").and_then(serde_json::Value::as_object);
    let mut further = more.map_or_else(Vec::new, |header| cells::flatten(header, &ORIGIN));
    further.extend(cells::flatten(&run.rest, &["header"]));
    html.push_str(&waits(label, run));
    if !further.is_empty() {
        let all = list(&format!("whole-{label}"), &further);
        // A program's report has hundreds of figures, which the sections above have told.
        html.push_str(&match run.own {
            Some(_) => format!("<details>\n<summary>Every figure of the report</summary>\n{all}</details>\n"),
            None => format!("<h3>Of the whole run</h3>\n{all}"),
        });
    }
    let mut heading = "";
    for figure in figures::all(run) {
        if figure.heading != heading {
            html.push_str(&format!("<h3>{}</h3>\n", figure.heading));
            heading = figure.heading;
        }
        html.push_str(&figure.svg);
    }
    if !run.rows.is_empty() {
        let rows = Rows::of(run, format!("rows-{label}"));
        html.push_str("<h3>Rows</h3>\n");
        html.push_str(&rows.grid.to_html());
        if !rows.common.is_empty() {
            html.push_str(&format!("<h4>In every row</h4>\n{}", list(&format!("common-{label}"), &rows.common)));
        }
        if let Some(grid) = slow_frames(run, format!("slow-{label}")) {
            html.push_str(&format!(
                "<h3>Slowest frames, and how long each of their stages took</h3>\n{}",
                grid.to_html()
            ));
        }
    }
    html + "</section>\n"
}
