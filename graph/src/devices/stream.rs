//! The stream of a computation (GR-20 to GR-24).

use super::select::Unplaced;

/// A computation that the one at hand comes after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parent {
    /// Its device.
    pub device: u8,
    /// Another computation goes on in its stream.
    pub is_taken: bool,
}

/// Where a computation goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Behind this one of the parents, in its stream.
    Behind(usize),
    /// To a stream of this device that no parent is in.
    Other(u8),
}

/// The stream of a computation that goes on in that of no parent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NewStream {
    /// A free one of its device, the first that became free.
    #[default]
    Reuse,
    /// A new one.
    AlwaysNew,
}

/// Chooses one of these devices, or of all.
pub type Select<'a> = dyn FnMut(Option<&[u8]>) -> Result<u8, Unplaced> + 'a;

/// The policies of GrCUDA for a computation with parents. One without parents gets another stream on a device that is
/// chosen from all (GR-20).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parents {
    /// Behind the first parent (GR-21).
    Same,
    /// Behind the first parent whose stream is not taken (GR-22).
    Disjoint,
    /// A device is chosen first, then the first such parent on it (GR-23).
    EarlyDisjoint,
    /// The device is chosen among those of such parents (GR-24).
    MultiDisjoint,
}

impl Parents {
    /// All, by GrCUDA's names.
    pub const ALL: [(&'static str, Parents); 4] = [
        ("same-as-parent", Parents::Same),
        ("disjoint", Parents::Disjoint),
        ("multigpu-early-disjoint", Parents::EarlyDisjoint),
        ("multigpu-disjoint", Parents::MultiDisjoint),
    ];

    /// The stream of a computation with these parents.
    ///
    /// # Errors
    ///
    /// [`Unplaced`].
    pub fn choose(self, parents: &[Parent], select: &mut Select<'_>) -> Result<Choice, Unplaced> {
        let free = || parents.iter().enumerate().filter(|(_, parent)| !parent.is_taken);
        let on = |device| free().find(|(_, parent)| parent.device == device).map(|(number, _)| number);
        match self {
            _ if parents.is_empty() => Ok(Choice::Other(select(None)?)),
            Parents::Same => Ok(Choice::Behind(0)),
            Parents::Disjoint => match free().next() {
                Some((number, _)) => Ok(Choice::Behind(number)),
                None => Ok(Choice::Other(select(None)?)),
            },
            Parents::EarlyDisjoint => {
                let device = select(None)?;
                Ok(on(device).map_or(Choice::Other(device), Choice::Behind))
            }
            Parents::MultiDisjoint => {
                let mut devices: Vec<u8> = free().map(|(_, parent)| parent.device).collect();
                devices.sort_unstable();
                devices.dedup();
                let device = select((!devices.is_empty()).then_some(&devices[..]))?;
                Ok(on(device).map_or(Choice::Other(device), Choice::Behind))
            }
        }
    }
}
