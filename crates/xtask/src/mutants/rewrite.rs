//! Rewrites a file so that each change is made at run time, by `crate::mutant(NUMBER)`.
//!
//! A change that cannot be chosen at run time is not made: in a constant, in a function that returns an `impl Trait`,
//! and in a condition with `let`.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;

use proc_macro2::{Literal, Span};
use quote::quote;
use serde::Deserialize;
use syn::visit_mut::{self, VisitMut};
use syn::{BinOp, Block, Expr, ExprMatch, Signature, parse_quote, parse_str, spanned::Spanned};

use crate::Outcome;
use crate::codegen::read;

/// A change, as cargo-mutants lists it.
#[derive(Deserialize)]
struct Change {
    file: String,
    genre: String,
    replacement: String,
    span: Extent,
}

#[derive(Deserialize)]
struct Extent {
    start: Place,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
struct Place {
    line: usize,
    column: usize,
}

fn place(span: Span) -> Place {
    Place { line: span.start().line, column: span.start().column + 1 }
}

/// Rewrites the files of a tree. Prints the numbers of the changes that are not made. `dropped` has a line for each
/// change that is not to be made, and for each function that has to stay constant.
pub fn run(folder: &Path, list: &Path, dropped: &Path) -> Outcome {
    let changes: Vec<Change> = serde_json::from_str(&read(list)?).map_err(|error| format!("the list: {error}\n"))?;
    let dropped = read(dropped)?;
    let dropped: HashSet<&str> = dropped.lines().collect();
    let files: BTreeSet<&str> = changes.iter().map(|change| &*change.file).collect();
    let mut left_out = String::new();
    for file in files {
        let path = folder.join(file);
        let mut text = syn::parse_file(&read(&path)?).map_err(|error| format!("{file}: {error}\n"))?;
        let is_wanted = |id: &usize, it: &Change| it.file == file && !dropped.contains(&*id.to_string());
        let wanted: Vec<_> = (0..).zip(&changes).filter(|(id, it)| is_wanted(id, it)).collect();
        let mut switches = Switches::new(&wanted, &dropped);
        switches.visit_file_mut(&mut text);
        let missing = wanted.iter().filter(|(id, _)| !switches.made.contains(id));
        left_out.extend(missing.map(|(id, _)| format!("{id}\n")));
        std::fs::write(&path, quote!(#text).to_string()).map_err(|error| format!("{file}: {error}\n"))?;
    }
    Ok(left_out)
}

struct Switches<'m> {
    changes: HashMap<Place, Vec<(usize, &'m Change)>>,
    dropped: &'m HashSet<&'m str>,
    made: HashSet<usize>,
    /// Nothing is chosen at run time here.
    is_constant: bool,
}

impl<'m> Switches<'m> {
    fn new(changes: &[(usize, &'m Change)], dropped: &'m HashSet<&'m str>) -> Switches<'m> {
        let mut places: HashMap<Place, Vec<_>> = HashMap::new();
        for (id, change) in changes {
            places.entry(change.span.start).or_default().push((*id, *change));
        }
        Switches { changes: places, dropped, made: HashSet::new(), is_constant: false }
    }

    /// The changes of a kind at this place, which are made from now on.
    fn take(&mut self, span: Span, genre: &str) -> Vec<(Expr, &'m str)> {
        let here = self.changes.get(&place(span)).filter(|_| !self.is_constant);
        let taken: Vec<_> = here.into_iter().flatten().filter(|(_, change)| change.genre == genre).collect();
        self.made.extend(taken.iter().map(|(id, _)| id));
        taken.into_iter().map(|(id, change)| (question(*id), &*change.replacement)).collect()
    }

    /// A function. It is constant no longer, unless a constant is made with it.
    fn function(&mut self, signature: &mut Signature, block: &mut Block) {
        if !self.dropped.contains(&*signature.ident.to_string()) {
            signature.constness = None;
        }
        let is_opaque = quote!(#signature).to_string().contains("-> impl");
        let before = std::mem::replace(&mut self.is_constant, signature.constness.is_some());
        let first = block.stmts.first().map(|first| first.span()).filter(|_| !is_opaque);
        let values = first.map(|first| self.take(first, "FnValue")).unwrap_or_default();
        visit_mut::visit_block_mut(self, block);
        self.is_constant = before;
        for (question, value) in values {
            let value = expression(value);
            block.stmts.insert(0, parse_quote!(if #question { return #value; }));
        }
    }

    /// Operators that stand side by side. Another one of them may bind more or less, so the whole is read again.
    fn operators(&mut self, whole: &mut Expr) {
        let (mut places, before) = (Vec::new(), whole.clone());
        operators_of(whole, &mut places);
        let mut changes = Vec::new();
        for (number, span) in places.into_iter().enumerate() {
            for (question, operator) in self.take(span, "BinaryOperator") {
                let mut other = before.clone();
                replace_operator(&mut other, &mut { number }, &parse_str(operator).expect("an operator"));
                // Text that cannot be read is a change that does not build.
                let other = parse_str(&flat(&other)).unwrap_or_else(|_| parse_quote!(does_not_build));
                changes.push((question, other));
            }
        }
        self.operands(whole);
        choose(whole, changes);
    }

    fn operands(&mut self, expression: &mut Expr) {
        match expression {
            Expr::Binary(binary) => {
                self.operands(&mut binary.left);
                self.operands(&mut binary.right);
            }
            other => self.visit_expr_mut(other),
        }
    }

    fn arms(&mut self, before: &ExprMatch, after: &mut ExprMatch) {
        for (before, arm) in before.arms.iter().zip(&mut after.arms) {
            if let Some((_, guard)) = &mut arm.guard {
                let span = before.guard.as_ref().expect("the same arm").1.span();
                for (question, value) in self.take(span, "MatchArmGuard") {
                    let value = expression(value);
                    **guard = parse_quote!((if #question { #value } else { #guard }));
                }
            }
            for (question, _) in self.take(before.span(), "MatchArm") {
                let guard: Expr = match &arm.guard {
                    Some((_, guard)) => parse_quote!((!#question && (#guard))),
                    None => parse_quote!(!#question),
                };
                arm.guard = Some((<syn::Token![if]>::default(), Box::new(guard)));
            }
        }
    }
}

impl VisitMut for Switches<'_> {
    fn visit_item_fn_mut(&mut self, it: &mut syn::ItemFn) {
        self.function(&mut it.sig, &mut it.block);
    }

    fn visit_impl_item_fn_mut(&mut self, it: &mut syn::ImplItemFn) {
        self.function(&mut it.sig, &mut it.block);
    }

    fn visit_trait_item_fn_mut(&mut self, it: &mut syn::TraitItemFn) {
        if let Some(block) = &mut it.default {
            self.function(&mut it.sig, block);
        }
    }

    fn visit_item_const_mut(&mut self, _constant: &mut syn::ItemConst) {}

    fn visit_impl_item_const_mut(&mut self, _constant: &mut syn::ImplItemConst) {}

    fn visit_type_array_mut(&mut self, _length: &mut syn::TypeArray) {}

    fn visit_item_mod_mut(&mut self, module: &mut syn::ItemMod) {
        if module.ident != "tests" {
            visit_mut::visit_item_mod_mut(self, module);
        }
    }

    fn visit_expr_mut(&mut self, expression: &mut Expr) {
        match expression {
            Expr::Binary(binary) if has_let(&binary.left) || has_let(&binary.right) => {
                self.visit_expr_mut(&mut binary.left);
                self.visit_expr_mut(&mut binary.right);
                return;
            }
            Expr::Binary(_) => return self.operators(expression),
            _ => {}
        }
        let before = expression.clone();
        visit_mut::visit_expr_mut(self, expression);
        let mut changes = Vec::new();
        match (&before, &mut *expression) {
            (Expr::Unary(unary), _) => {
                let taken = self.take(unary.op.span(), "UnaryOperator");
                changes.extend(taken.into_iter().map(|(question, _)| (question, (*unary.expr).clone())));
            }
            (Expr::Struct(literal), _) => {
                for (number, field) in literal.fields.iter().enumerate() {
                    let taken = self.take(field.span(), "StructField");
                    changes.extend(taken.into_iter().map(|(question, _)| (question, without_field(literal, number))));
                }
            }
            (Expr::Match(before), Expr::Match(after)) => self.arms(before, after),
            _ => {}
        }
        choose(expression, changes);
    }
}

/// The expression that asks whether the change is made.
fn question(id: usize) -> Expr {
    let id = Literal::usize_unsuffixed(id);
    parse_quote!(crate::mutant(#id))
}

fn expression(text: &str) -> Expr {
    parse_str(text).unwrap_or_else(|_| parse_quote!(does_not_build))
}

/// Puts the choice between an expression and its changes in its place.
fn choose(expression: &mut Expr, changes: Vec<(Expr, Expr)>) {
    for (question, other) in changes {
        *expression = parse_quote!((if #question { (#other) } else { (#expression) }));
    }
}

/// Whether a condition binds a name.
pub fn has_let(expression: &Expr) -> bool {
    match expression {
        Expr::Let(_) => true,
        Expr::Binary(binary) => has_let(&binary.left) || has_let(&binary.right),
        Expr::Paren(paren) => has_let(&paren.expr),
        _ => false,
    }
}

fn operators_of(expression: &Expr, spans: &mut Vec<Span>) {
    if let Expr::Binary(binary) = expression {
        operators_of(&binary.left, spans);
        spans.push(binary.op.span());
        operators_of(&binary.right, spans);
    }
}

/// Replaces the operator of this number, counted from the left.
fn replace_operator(expression: &mut Expr, number: &mut usize, operator: &BinOp) {
    if let Expr::Binary(binary) = expression {
        replace_operator(&mut binary.left, number, operator);
        if *number == 0 {
            binary.op = *operator;
        }
        *number = number.wrapping_sub(1);
        replace_operator(&mut binary.right, number, operator);
    }
}

/// The text without the groups that the operators have made.
fn flat(expression: &Expr) -> String {
    match expression {
        Expr::Binary(binary) => {
            let operator = &binary.op;
            format!("{} {} {}", flat(&binary.left), quote!(#operator), flat(&binary.right))
        }
        other => quote!(#other).to_string(),
    }
}

fn without_field(literal: &syn::ExprStruct, number: usize) -> Expr {
    let mut other = literal.clone();
    let fields = literal.fields.iter().enumerate().filter(|(field, _)| *field != number);
    other.fields = fields.map(|(_, field)| field.clone()).collect();
    if other.rest.is_some() && !other.fields.is_empty() {
        other.fields.push_punct(<syn::Token![,]>::default());
    }
    Expr::Struct(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text with these changes, of which each is a place, a kind and a replacement. The number is that of those
    /// that are made.
    fn rewritten(text: &str, changes: &[(usize, usize, &str, &str)]) -> (String, usize) {
        let change = |&(line, column, genre, replacement): &(usize, usize, &str, &str)| Change {
            file: String::new(),
            genre: genre.to_owned(),
            replacement: replacement.to_owned(),
            span: Extent { start: Place { line, column } },
        };
        let changes: Vec<Change> = changes.iter().map(change).collect();
        let (all, kept): (Vec<_>, _) = ((0..).zip(&changes).collect(), HashSet::from(["kept"]));
        let (mut file, mut switches) = (syn::parse_file(text).unwrap(), Switches::new(&all, &kept));
        switches.visit_file_mut(&mut file);
        (quote!(#file).to_string().replace(' ', ""), switches.made.len())
    }

    #[test]
    fn values_operators_and_negations_are_chosen_at_run_time() {
        let text = "fn f() -> bool {\n    !g()\n}";
        let (value, _) = rewritten(text, &[(2, 5, "FnValue", "true")]);
        assert_eq!(value, "fnf()->bool{ifcrate::mutant(0){returntrue;}!g()}");
        let (negation, _) = rewritten(text, &[(2, 5, "UnaryOperator", "")]);
        assert_eq!(negation, "fnf()->bool{(ifcrate::mutant(0){(g())}else{(!g())})}");
        // The operators are read again, because the new one may bind more than those beside it.
        let (operator, _) = rewritten("fn f() -> u8 {\n    a + b + c\n}", &[(2, 11, "BinaryOperator", "*")]);
        assert_eq!(operator, "fnf()->u8{(ifcrate::mutant(0){(a+b*c)}else{(a+b+c)})}");
    }

    #[test]
    fn arms_guards_and_fields_are_left_out_at_run_time() {
        let text =
            "fn f() {\n    match x {\n        1 => a,\n        y if y > 2 => b,\n        _ => S { c, ..d },\n    }\n}";
        let changes = [(3, 9, "MatchArm", ""), (4, 14, "MatchArmGuard", "true"), (5, 18, "StructField", "")];
        let (said, made) = rewritten(text, &changes);
        assert!(said.contains("1if!crate::mutant(0)=>a,yif(ifcrate::mutant(1){true}else{y>2})=>b,"), "{said}");
        assert!(said.contains("(ifcrate::mutant(2){(S{..d})}else{(S{c,..d})})"), "{said}");
        assert_eq!(made, 3);
    }

    /// A build of its own makes them.
    #[test]
    fn changes_of_constants_conditions_with_let_and_opaque_values_are_not_made() {
        for (text, column, genre) in [
            ("const A: u8 =\n    1 + 2;", 7, "BinaryOperator"),
            ("const fn kept() -> u8 {\n    1 + 2\n}", 7, "BinaryOperator"),
            ("fn f() {\n    if a && let b = c {}\n}", 10, "BinaryOperator"),
            ("fn f() -> impl Iterator<Item = u8> {\n    g()\n}", 5, "FnValue"),
        ] {
            let (said, made) = rewritten(text, &[(2, column, genre, "||")]);
            assert!(made == 0 && !said.contains("mutant"), "{said}");
        }
        assert_eq!(rewritten("const fn other() -> u8 {\n    1 + 2\n}", &[(2, 7, "BinaryOperator", "-")]).1, 1);
    }
}
