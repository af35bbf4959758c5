//! The page in a browser. `OVERTAKE_CHROMIUM` names the program; `.ci/run` looks for it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use overtake_report::runs::{page, read};
use serde_json::Value;

use super::document::Document;
use super::{example, numbers, stored};

/// Sorts the first column of numbers in both orders, and copies the table.
const DRIVE: &str = "<script>
const table = document.querySelector('table[data-name=rows-1]');
const index = [...table.tHead.rows[0].cells].findIndex(cell => cell.dataset.key === 'p50_us');
const column = () => [...table.tBodies[0].rows].map(row => exact(row.cells[index])).join(' ');
const seen = [column()];
for (const round of [1, 2]) {
  table.tHead.rows[0].cells[index].querySelector('button').click();
  seen.push(column());
}
seen.push(asText(table).split('\\n').length - 2, document.querySelectorAll('button.copy').length);
const told = document.createElement('pre');
told.id = 'told';
told.textContent = seen.join('|');
document.body.append(told);
</script>";

/// Runs of a page.
const RUNS_MAX: usize = 12;

/// A browser, and a folder of its own.
struct Browser {
    program: PathBuf,
    folder: PathBuf,
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Browser {
    fn new(name: &str) -> Browser {
        let program = std::env::var_os("OVERTAKE_CHROMIUM").expect("OVERTAKE_CHROMIUM names a Chromium");
        let folder = std::env::temp_dir().join(format!("overtake-page-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Browser { program: program.into(), folder }
    }

    /// The document after its scripts have run, and the lines of the console.
    fn open(&self, html: &str) -> (String, Vec<String>) {
        let file = self.folder.join("page.html");
        std::fs::write(&file, html).unwrap();
        let mut command = Command::new("timeout");
        command.arg("120").arg(&self.program);
        command.args(["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--dump-dom"]);
        command.arg(format!("--user-data-dir={}", self.folder.join("profile").display()));
        let output = command.arg(format!("file://{}", Path::new(&file).display())).output().unwrap();
        let (out, err) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success() && out.contains("</html>"), "{:?}\n{err}", output.status);
        (out, err.lines().filter(|line| line.contains("CONSOLE")).map(str::to_owned).collect())
    }
}

#[test]
#[ignore = "needs Chromium: .ci/run names one"]
fn pages_load_and_its_numbers_are_those_of_the_json() {
    let browser = Browser::new("stored");
    // The last file of each question and device. A start of the browser takes longer than a page, so one has several.
    let of_folder = |(file, text): (String, String)| (file.rsplit_once('/').unwrap().0.to_owned(), text);
    let files: BTreeMap<String, String> = stored().into_iter().map(of_folder).collect();
    assert!(files.len() > 25, "{:?}", files.keys());
    let mut runs = vec![example()];
    for text in files.values() {
        match serde_json::from_str(text).unwrap() {
            Value::Array(several) => runs.extend(several),
            run => runs.push(run),
        }
    }
    for some in runs.chunks(RUNS_MAX) {
        let some = Value::Array(some.to_vec());
        let (document, console) = browser.open(&page("some", &read("some", &some.to_string()).unwrap()));
        assert_eq!(console, [""; 0]);
        let wrong = numbers::wrong(&some, &Document::parse(&document));
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}

#[test]
#[ignore = "needs Chromium: .ci/run names one"]
fn tables_sort_and_copy_and_errors_are_seen() {
    let browser = Browser::new("sort");
    let html = page("video", &read("video.json", &example().to_string()).unwrap());
    let (document, console) = browser.open(&html.replace("</body>", &format!("{DRIVE}</body>")));
    assert_eq!(console, [""; 0]);
    let told = document.split("<pre id=\"told\">").nth(1).and_then(|rest| rest.split("</pre>").next());
    assert_eq!(
        told,
        Some("250.125 20000.75 300.5|250.125 300.5 20000.75|20000.75 300.5 250.125|3|2"),
        "the order of the JSON, up, down; rows that are copied; tables with a button"
    );
    let (_, console) = browser.open(&html.replace("</body>", "<script>missing()</script></body>"));
    assert!(console.iter().any(|line| line.contains("missing is not defined")), "{console:?}");
}
