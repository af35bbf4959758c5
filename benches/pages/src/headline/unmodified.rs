//! The table of programs that nobody has written for overtake: one figure of each, by CUDA alone and under the drop-in.

use report::{Column, Table, format};

use super::cells::{factor, spread};
use super::programs::Line;
use super::sources::{self, asked};
use crate::stored::Stored;

/// What one row shows of a case.
enum Figure {
    /// The median time of an operation in this phase: less is better.
    Time(&'static str),
    /// The rate of large copies: more is better.
    Rate,
}

const ROWS: [(&str, Figure, &str); 13] = [
    ("decode", Figure::Time("loaded"), "PyTorch, a decode step beside `.cpu()` of another model"),
    ("transformers", Figure::Time("loaded"), "transformers, `generate` beside `.cpu()` of another model"),
    ("fsdp", Figure::Time("idle"), "FSDP2, a training step with parameters in host memory"),
    ("save_on_cpu", Figure::Time("idle"), "PyTorch, a training step with `save_on_cpu`"),
    ("save_on_cpu pinned", Figure::Time("idle"), "the same, pinned"),
    ("checkpoint", Figure::Time("idle"), "`torch.distributed.checkpoint.async_save`, the call"),
    ("torch copies to the host", Figure::Rate, "PyTorch, `.cpu()` of large tensors"),
    ("torch copies to the device", Figure::Rate, "PyTorch, `.to(\"cuda\")` of large tensors"),
    ("cupy copies to the host", Figure::Rate, "CuPy, `.get()` of large arrays"),
    ("cupy copies to the device", Figure::Rate, "CuPy, `cupy.asarray` of large arrays"),
    ("jax copies to the host", Figure::Rate, "JAX, `np.asarray` of large arrays"),
    ("jax copies to the device", Figure::Rate, "JAX, `device_put` of large arrays"),
    ("safetensors", Figure::Rate, "safetensors, `load_file` to the device"),
];

/// `unmodified DEVICE`: each program's figure, and how many times better it is under overtake.
pub fn table(runs: &[Stored], words: &[&str]) -> Result<String, String> {
    let device = sources::device(words)?.to_uppercase();
    let its = asked(runs, "unmodified", words)?;
    if its.is_empty() {
        return Ok(sources::none("unmodified"));
    }
    let mut table = Table::new(vec![
        Column::words(format!("{device}, program as it is, memory not pinned")),
        Column::numbers("CUDA alone"),
        Column::numbers("overtake"),
        Column::numbers("times as fast"),
        Column::numbers("rounds"),
    ]);
    for (case, figure, title) in ROWS {
        // A round counts that has both, so that each factor compares two runs of the same minutes.
        let pair = |run: &&Stored| {
            let value = |mode| match figure {
                Figure::Time(phase) => Line::find(&[run], case, mode, phase).medians_us().pop(),
                Figure::Rate => Line::find(&[run], case, mode, "loaded").rates_gbps().pop(),
            };
            Some((value("native")?, value("overtake")?))
        };
        let (native, ours): (Vec<f64>, Vec<f64>) = its.iter().filter_map(pair).unzip();
        if native.is_empty() {
            continue;
        }
        let show = |value: f64| match figure {
            Figure::Time(_) => format::span_us(value),
            Figure::Rate => format!("{value:.1} GB/s"),
        };
        let better = |(native, ours): (&f64, &f64)| match figure {
            Figure::Time(_) => native / ours,
            Figure::Rate => ours / native,
        };
        let factors: Vec<f64> = native.iter().zip(&ours).map(better).collect();
        let rounds = native.len();
        let cells = [spread(&native, show), spread(&ours, show), spread(&factors, factor), rounds.to_string()];
        table.push([title.to_owned()].into_iter().chain(cells));
    }
    Ok(table.to_markdown() + "\n" + &sources::line_of_medians(&its, "unmodified"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::headline::example;

    #[test]
    fn times_and_rates_are_factors_that_mean_better() {
        let run = |case: &str, p50_us: [f64; 4], gbps: [f64; 2]| {
            let mut run = example::contended(p50_us);
            run.question = "unmodified".into();
            for row in &mut run.rows {
                row["case"] = case.into();
                if row["phase"] == "loaded" {
                    row["bulk_gbps"] = gbps[usize::from(row["mode"] == "overtake")].into();
                }
            }
            run
        };
        let mut alone = run("decode", [1.0, 1.0, 1.0, 70_000.0], [1.0, 5.0]);
        alone.rows.retain(|row| row["mode"] == "overtake");
        let runs = [
            alone,
            run("decode", [1_000.0, 1_000.0, 44_000.0, 4_000.0], [1.0, 5.0]),
            run("decode", [1_000.0, 1_000.0, 40_000.0, 5_000.0], [1.0, 5.0]),
            run("cupy copies to the host", [1.0; 4], [2.0, 9.0]),
        ];
        let text = table(&runs, &["h100"]).unwrap();
        let row = |words: &str| text.lines().find(|line| line.contains(words)).unwrap_or("no such row").to_owned();
        let decode = row("a decode step");
        assert!(decode.contains("| 42 ms (40 ms to 44 ms) | 4.5 ms (4 ms to 5 ms) |"), "{text}");
        assert!(decode.contains("| 9.50 (8.00 to 11) | 2 |"), "{text}");
        assert!(row("CuPy").contains("| 2.0 GB/s | 9.0 GB/s | 4.50 | 1 |"), "{text}");
        assert!(!text.contains("JAX"), "no row without a run: {text}");
    }
}
