//! The work of a task: its function, the inside of a launch, kernels, its outcome and its failure.

pub(crate) mod entered;
pub(crate) mod fault;
pub(crate) mod function;
pub(crate) mod kernel;
pub(crate) mod outcome;
pub(crate) mod set;
