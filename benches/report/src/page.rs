//! One self-contained HTML file. It fetches nothing, so it can be mailed, archived or opened from a disk.

use crate::svg::escape;
use crate::{Header, Table};

/// A part of a page, in the order text, figure, table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Section {
    /// The text of its `h2`.
    pub heading: String,
    /// A paragraph.
    pub text: String,
    /// An SVG document, put into the page as it is.
    pub svg: Option<String>,
    /// A table.
    pub table: Option<Table>,
}

/// A page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The text of its `h1`, and of the window.
    pub title: String,
    /// The origin of the numbers.
    pub header: Header,
    /// The parts, in order.
    pub sections: Vec<Section>,
}

const STYLE: &str = "\
:root{color-scheme:light dark}
body{font:16px/1.5 system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif;max-width:62rem;margin:2rem auto;
padding:0 1rem;color:#1f2328;background:#ffffff}
h1{font-size:1.6rem}h2{font-size:1.2rem;margin-top:2.2rem}
svg{max-width:100%;height:auto}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;margin:1rem 0;display:block;overflow-x:auto}
th,td{padding:.3rem .8rem;border-bottom:1px solid #d1d9e0;text-align:left}
.number{text-align:right}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1rem}dt{color:#59636e}dd{margin:0}
code{font:14px ui-monospace,Menlo,Consolas,monospace;overflow-wrap:anywhere}
@media (prefers-color-scheme:dark){body{color:#e6edf3;background:#0d1117}th,td{border-color:#3d444d}dt{color:#9198a1}}";

impl Page {
    /// As an HTML document.
    #[must_use]
    pub fn to_html(&self) -> String {
        let sections: String = self.sections.iter().map(section).collect();
        document(&self.title, "", &format!("{}{sections}", origin(&self.header)))
    }
}

/// A document with a title, with more for its head and with a body below the title.
pub(crate) fn document(title: &str, head: &str, body: &str) -> String {
    let title = escape(title);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<title>{title}</title>\n\
         <style>\n{STYLE}\n</style>\n{head}</head>\n<body>\n<h1>{title}</h1>\n{body}</body>\n</html>\n"
    )
}

/// The origin of numbers as a list.
pub(crate) fn origin(header: &Header) -> String {
    let environment = header.environment.iter().map(|(name, value)| format!("{name}={value} "));
    let command = format!("{}{}", environment.collect::<String>(), header.command);
    let version = format!("{} (commit {}, product {})", header.version, header.commit, header.product);
    let release = header.driver_release.as_ref().map(|release| format!(" (driver {release})"));
    let driver = format!("{}{}", header.driver, release.unwrap_or_default());
    let row = |name: &str, value: &str| format!("<dt>{name}</dt><dd>{value}</dd>\n");
    format!(
        "<dl>\n{}{}{}{}{}</dl>\n",
        row("Device", &escape(&header.device)),
        row("Backend", &escape(&header.backend)),
        row("CUDA driver API", &escape(&driver)),
        row("overtake", &escape(&version)),
        row("Command", &format!("<code>{}</code>", escape(&command))),
    )
}

fn section(section: &Section) -> String {
    let mut html = format!("<section>\n<h2>{}</h2>\n", escape(&section.heading));
    if !section.text.is_empty() {
        html.push_str(&format!("<p>{}</p>\n", escape(&section.text)));
    }
    html.push_str(section.svg.as_deref().unwrap_or_default());
    if let Some(table) = &section.table {
        html.push_str(&table.to_html());
    }
    html + "</section>\n"
}
