//! Tests of the graph, a file for each subject (`graph/tests/README.md`).

mod abreast;
mod accesses;
mod answers;
mod batches;
mod besides;
mod bounds;
mod cases;
mod corners;
mod data;
mod devices;
mod direct;
mod failures;
mod lanes;
mod laws;
mod left;
mod model;
mod physx;
mod ranks;
mod reserved;
mod script;
mod templates;
mod uses;
mod validity;
mod wide;
