//! Tables of built pages that are wider than their page, in a browser: their last columns are out of view.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::wheels::Scratch;

/// The widths of a laptop's window and of a phone.
const WIDTHS: [u32; 2] = [1280, 480];
/// The page that measures, beside the others.
const PAGE: &str = "widths.html";

/// Loads each page into a frame of each width, one by one, and leaves a line for each table that does not fit.
const SCRIPT: &str = r#"<body><script>
const todo = @PAGES@.flatMap(page => @WIDTHS@.map(width => [page, width])), told = [];
let tables = 0;
function next() {
  if (todo.length === 0) {
    document.body.textContent = ['TOLD', tables, ...told, 'END'].join('\n');
    return;
  }
  const [page, width] = todo.pop(), frame = document.createElement('iframe');
  frame.style.width = width + 'px';
  frame.src = page;
  frame.onload = () => {
    for (const table of frame.contentDocument.querySelectorAll('main table')) {
      tables += 1;
      const over = table.scrollWidth - table.parentElement.clientWidth;
      if (over > 1) told.push(`${page} at ${width}: ${over} too wide: ${table.rows[0].innerText.replace(/\s+/g, ' ')}`);
    }
    frame.remove();
    next();
  };
  document.body.append(frame);
}
window.onload = next;
</script></body>"#;

/// A line for each table that is too wide. `None` without a browser.
pub fn wide(folder: &Path, pages: &[PathBuf]) -> Result<Option<Vec<String>>, String> {
    let Some(browser) = browser() else { return Ok(None) };
    let names: Vec<String> =
        pages.iter().filter_map(|page| Some(page.strip_prefix(folder).ok()?.display().to_string())).collect();
    let text = SCRIPT.replace("@PAGES@", &format!("{names:?}")).replace("@WIDTHS@", &format!("{WIDTHS:?}"));
    let page = folder.join(PAGE);
    std::fs::write(&page, text).map_err(|error| format!("{}: {error}\n", page.display()))?;
    let said = look(&browser, &page);
    std::fs::remove_file(&page).map_err(|error| format!("{}: {error}\n", page.display()))?;
    let said = said?;
    let told = said.split_once("TOLD\n").and_then(|(_, rest)| rest.split_once("END"));
    let Some((tables, lines)) = told.and_then(|(told, _)| told.split_once('\n')) else {
        return Err(format!("{} did not measure the site:\n{said}", browser.display()));
    };
    // The README alone has some.
    match tables.parse() {
        Ok(0) | Err(_) => Err(format!("{} finds no table in the site\n", browser.display())),
        Ok(1_u32..) => Ok(Some(lines.lines().map(|line| format!("{line}\n")).collect())),
    }
}

/// The document after its scripts have run.
fn look(browser: &Path, page: &Path) -> Result<String, String> {
    let profile = Scratch::new()?;
    let mut command = Command::new("timeout");
    command.arg("120").arg(browser).args(["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]);
    command.args(["--allow-file-access-from-files", "--virtual-time-budget=100000", "--window-size=1600,1000"]);
    command.arg(format!("--user-data-dir={}", profile.path().display())).arg(format!("file://{}", page.display()));
    let output = command.output().map_err(|error| format!("timeout: {error}\n"))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The one that `OVERTAKE_CHROMIUM` names, else one on the path.
fn browser() -> Option<PathBuf> {
    let named = std::env::var_os("OVERTAKE_CHROMIUM").map(PathBuf::from);
    named.or_else(|| ["chromium", "chromium-browser", "google-chrome"].into_iter().find_map(super::on_path))
}
