//! A plan as a picture: text for Graphviz.

use std::fmt::Write;

use terms::Priority;

use super::program::Program;
use super::step::Plan;
use crate::devices::Location;

impl Plan {
    /// The plan in the language of Graphviz's `dot`: a box for each device, a colour for each stream, transfers at the
    /// edges into the computation that they are for.
    #[must_use]
    pub fn dot(&self, program: &Program) -> String {
        let mut text =
            format!("digraph {:?} {{\n  node [shape=box, style=filled, colorscheme=set312];\n", program.name);
        let mut places: Vec<Location> = self.steps.iter().map(|step| step.at).collect();
        places.sort_unstable();
        places.dedup();
        for place in places {
            let title = if place == Location::Host { "host".to_owned() } else { format!("device {place}") };
            let _ = writeln!(text, "  subgraph \"cluster {place}\" {{\n    label={title:?};");
            for (number, step) in self.steps.iter().enumerate().filter(|(_, step)| step.at == place) {
                if !step.is_skipped {
                    let colour = step.stream.map_or(9, |stream| stream % 12 + 1);
                    let label = self.label(program, number);
                    let _ = writeln!(text, "    {number} [label={label:?}, fillcolor={colour}];");
                }
            }
            text += "  }\n";
        }
        for (number, step) in self.steps.iter().enumerate() {
            for parent in &step.parents {
                let style = if self.steps[*parent].stream == step.stream { "" } else { " [style=dashed]" };
                let _ = writeln!(text, "  {parent} -> {number}{style};");
            }
        }
        text + "}\n"
    }

    /// The priority of a computation in words, if it is not the lowest.
    #[must_use]
    pub fn priority(&self, program: &Program, number: usize) -> Option<String> {
        let (own, priority) = (program.computations[number].priority, self.steps[number].priority);
        let inherited = if priority > own { " inherited" } else { "" };
        (priority > Priority::LOWEST).then(|| format!("priority {priority}{inherited}"))
    }

    /// The number, the label, the stream and the transfers of a computation, a line each.
    fn label(&self, program: &Program, number: usize) -> String {
        let (step, computation) = (&self.steps[number], &program.computations[number]);
        let name = if computation.label.is_empty() { program.arguments(number) } else { computation.label.clone() };
        let mut label = format!("{number}: {name}");
        if let Some(stream) = step.stream {
            let _ = write!(label, "\nstream {stream}");
        }
        if let Some(priority) = self.priority(program, number) {
            let _ = write!(label, "\n{priority}");
        }
        for moved in &step.transfers {
            let array = &program.arrays[moved.array].name;
            let _ = write!(label, "\n{array}: {} -> {}, {} bytes", moved.from, moved.to, moved.bytes());
        }
        label
    }
}
