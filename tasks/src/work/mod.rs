//! What a task does and how it ends: its function, the lane of its launch, kernels, its outcome and its failure.

pub(crate) mod captures;
pub(crate) mod caught;
pub(crate) mod failed;
pub(crate) mod fault;
pub(crate) mod function;
pub(crate) mod graphs;
pub(crate) mod kernel;
pub(crate) mod lane;
pub(crate) mod levels;
pub(crate) mod outcome;
pub(crate) mod replay;
pub(crate) mod retry;
pub(crate) mod set;
pub(crate) mod sets;
pub(crate) mod span;
