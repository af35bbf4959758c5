//! The policies of a plan, by name.

use graph::{Bandwidth, Inference, NewStream, Parents, Selection};

/// The policies of a plan.
#[derive(Clone, Debug, Default)]
pub struct Policies {
    /// Readers have no order among each other: GrCUDA's with-const.
    pub sees_const: Option<bool>,
    /// For a computation with parents.
    pub parents: Option<Parents>,
    /// For one that goes on in the stream of no parent.
    pub new_stream: Option<NewStream>,
    /// The device.
    pub selection: Option<Selection>,
    /// As GrCUDA does it, with its defaults, and without our corrections.
    pub is_grcuda: bool,
    /// A device has enough of the bytes if it has more than this part of them.
    pub threshold: Option<f64>,
    /// Bandwidths.
    pub bandwidth: Option<Bandwidth>,
}

/// All names, for messages.
const NAMES: &str = "with-const, no-const, same-as-parent, disjoint, multigpu-early-disjoint, multigpu-disjoint, \
                     reuse, always-new, single-gpu, round-robin, stream-aware, min-transfer-size, \
                     minmin-transfer-time, minmax-transfer-time, grcuda-compat";

impl Policies {
    /// Chooses a policy by its name; each name is that of one kind.
    ///
    /// # Errors
    ///
    /// There is no such name, or there is another choice of this kind already.
    pub fn choose(&mut self, name: &str) -> Result<(), String> {
        fn set<T: PartialEq>(slot: &mut Option<T>, value: T, name: &str) -> Result<(), String> {
            match slot.replace(value) {
                earlier if earlier.is_none() || earlier == *slot => Ok(()),
                _ => Err(format!("\"{name}\" contradicts an earlier choice: name one policy of each kind")),
            }
        }
        let parents = Parents::ALL.iter().find(|(known, _)| *known == name);
        let selection = Selection::ALL.iter().find(|(known, _)| *known == name);
        match (name, parents, selection) {
            ("with-const", ..) => set(&mut self.sees_const, true, name),
            ("no-const", ..) => set(&mut self.sees_const, false, name),
            ("reuse", ..) => set(&mut self.new_stream, NewStream::Reuse, name),
            ("always-new", ..) => set(&mut self.new_stream, NewStream::AlwaysNew, name),
            ("grcuda-compat", ..) => {
                self.is_grcuda = true;
                Ok(())
            }
            (_, Some((_, parents)), _) => set(&mut self.parents, *parents, name),
            (_, _, Some((_, selection))) => set(&mut self.selection, *selection, name),
            _ => Err(format!("there is no policy \"{name}\": name some of {NAMES}")),
        }
    }

    pub(crate) fn sees_const(&self) -> bool {
        self.sees_const.unwrap_or(!self.is_grcuda)
    }

    pub(crate) fn parents(&self) -> Parents {
        self.parents.unwrap_or(if self.is_grcuda { Parents::Same } else { Parents::MultiDisjoint })
    }

    pub(crate) fn new_stream(&self) -> NewStream {
        self.new_stream.unwrap_or(NewStream::Reuse)
    }

    pub(crate) fn selection(&self) -> Selection {
        self.selection.unwrap_or(match &self.bandwidth {
            _ if self.is_grcuda => Selection::SingleGpu,
            Some(_) => Selection::MinMinTransferTime,
            None => Selection::MinTransferSize,
        })
    }

    /// How they infer the order of computations. GrCUDA keeps redundant edges by its no-const rule (GR-04).
    #[must_use]
    pub fn inference(&self) -> Inference {
        let keeps = self.is_grcuda && !self.sees_const();
        Inference { sees_const: self.sees_const(), search_max: if keeps { 0 } else { u32::MAX } }
    }

    /// The names of the policies in force, one of each kind.
    #[must_use]
    pub fn names(&self) -> Vec<&'static str> {
        let parents = Parents::ALL.iter().find(|(_, one)| *one == self.parents()).map(|(name, _)| *name);
        let selection = Selection::ALL.iter().find(|(_, one)| *one == self.selection()).map(|(name, _)| *name);
        let dependencies = if self.sees_const() { "with-const" } else { "no-const" };
        let new_stream = if self.new_stream() == NewStream::Reuse { "reuse" } else { "always-new" };
        let compat = self.is_grcuda.then_some("grcuda-compat");
        let all = [Some(dependencies), parents, Some(new_stream), selection, compat];
        all.into_iter().flatten().collect()
    }
}
