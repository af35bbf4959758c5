//! The report for people.

use std::fmt::Write as _;

use console::open;
use report::format;

use super::collect::{DeviceReport, Report};
use super::drop_in::DropIn;

/// As text.
pub fn render(report: &Report) -> String {
    let mut text = format!("overtake {} (commit {})\n\n", report.version, report.commit);
    field(&mut text, "backend", &format!("{} ({})", report.backend.name, open::briefly(&report.backend.reason)));
    field(&mut text, "driver", &format!("CUDA {}", report.driver));
    for (name, value) in &report.connections {
        field(&mut text, name, value.as_deref().unwrap_or("not set"));
    }
    for device in &report.devices {
        text.push('\n');
        render_device(&mut text, device);
    }
    if report.devices.is_empty() {
        text.push_str("\nno device\n");
    }
    text.push_str("\novertake run\n");
    let DropIn { library, notes } = &report.drop_in;
    field(&mut text, "  library", library.as_deref().unwrap_or("not found; `overtake run` says where"));
    for (name, note) in notes {
        field(&mut text, &format!("  {name}"), note);
    }
    text.push('\n');
    for warning in &report.warnings {
        writeln!(text, "warning: {}\n   cure: {}", warning.what, warning.cure).expect("writing to a String");
    }
    if report.warnings.is_empty() {
        text.push_str("no warnings\n");
    }
    text
}

fn field(text: &mut String, name: &str, value: &str) {
    writeln!(text, "{name:<36}{value}").expect("writing to a String");
}

fn render_device(text: &mut String, device: &DeviceReport) {
    writeln!(text, "device {}: {} ({})", device.ordinal, device.name, device.uuid).expect("writing to a String");
    field(text, "  memory", &format::size(device.memory_bytes));
    field(text, "  compute capability", &device.compute_capability);
    field(text, "  multiprocessors", &device.multiprocessors.to_string());
    field(text, "  copy engines", &device.copy_engines.to_string());
    field(text, "  rate of its link, assumed", &format!("{} GB/s", device.link_gbps));
    if let Some((least, greatest)) = device.stream_priorities {
        field(text, "  CUDA stream priorities", &format!("{least} (least urgent) to {greatest} (most urgent)"));
    }
    field(text, "  device atomics on host memory", if device.host_atomics { "atomic" } else { "not atomic" });
}
