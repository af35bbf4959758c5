//! Tests of plans: what each policy makes of a program, and the texts of programs.

mod plans;
mod texts;
