//! Rewrites a file so that each of its statements and conditions can be left out, and each of its comparisons and sums
//! be another one, at run time, by `crate::mutant(NUMBER)`.
//!
//! Constants, tests, messages and assertions stay as they are.

use std::collections::{BTreeSet, HashSet};

use proc_macro2::{Literal, Span};
use quote::quote;
use syn::visit_mut::{self, VisitMut};
use syn::{Attribute, BinOp, Block, Expr, ReturnType, Signature, Stmt, parse_quote, spanned::Spanned};

use super::Change;

/// Macros that compute nothing.
const WORDS: [&str; 14] = [
    "assert",
    "assert_eq",
    "assert_ne",
    "debug",
    "debug_assert",
    "debug_assert_eq",
    "debug_assert_ne",
    "eprintln",
    "error",
    "info",
    "panic",
    "trace",
    "unreachable",
    "warn",
];

/// Rewrites the text of a file, and adds its changes to the list. Those of these numbers are not made.
pub(super) fn rewrite(
    file: &str,
    text: &str,
    changes: &mut Vec<Change>,
    dropped: &BTreeSet<usize>,
) -> syn::Result<String> {
    let mut parsed = syn::parse_file(text)?;
    let mut edit = Edit { file, changes, dropped, deferred: HashSet::new(), stays: false, is_end_needed: false };
    edit.visit_file_mut(&mut parsed);
    Ok(quote!(#parsed).to_string())
}

struct Edit<'e> {
    file: &'e str,
    changes: &'e mut Vec<Change>,
    dropped: &'e BTreeSet<usize>,
    /// Variables that a later statement initialises.
    deferred: HashSet<String>,
    /// Nothing here is chosen at run time.
    stays: bool,
    /// The next block has to leave its function or loop.
    is_end_needed: bool,
}

impl Edit<'_> {
    /// The question whether a change is made. `None` if it cannot be.
    fn question(&mut self, what: &'static str, span: Span, text: &str) -> Option<Expr> {
        if self.stays {
            return None;
        }
        let text: String = text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(100).collect();
        let number = self.changes.len();
        self.changes.push(Change { file: self.file.to_owned(), line: span.start().line, what: what.to_owned(), text });
        let id = Literal::usize_unsuffixed(number);
        (!self.dropped.contains(&number)).then(|| parse_quote!(crate::mutant(#id)))
    }

    fn staying(&mut self, stays: bool, visit: impl FnOnce(&mut Self)) {
        let before = self.stays;
        self.stays |= stays;
        visit(self);
        self.stays = before;
    }

    fn function(&mut self, attributes: &[Attribute], signature: &Signature, block: &mut Block) {
        let stays = signature.constness.is_some() || is_for_tests(attributes);
        self.staying(stays, |edit| {
            edit.block(block, matches!(signature.output, ReturnType::Default));
        });
    }

    /// `is_unit`: the last expression is a statement as well.
    fn block(&mut self, block: &mut Block, is_unit: bool) {
        let is_end_needed = std::mem::take(&mut self.is_end_needed);
        let last = block.stmts.len().saturating_sub(1);
        for (place, statement) in block.stmts.iter_mut().enumerate() {
            let before = statement.clone();
            visit_mut::visit_stmt_mut(self, statement);
            let is_end = place == last;
            let is_statement = match &before {
                Stmt::Local(local) => {
                    self.defer(local);
                    false
                }
                Stmt::Expr(expression, semicolon) => {
                    (semicolon.is_some() || is_end && is_unit) && self.may_go(expression)
                }
                Stmt::Macro(call) => (call.semi_token.is_some() || is_end && is_unit) && !says(&call.mac),
                Stmt::Item(_) => false,
            };
            if !is_statement || is_end && is_end_needed {
                continue;
            }
            if let Some(question) = self.question("statement", before.span(), &quote!(#before).to_string()) {
                let whole = statement.clone();
                *statement = match whole {
                    Stmt::Expr(expression, None) => parse_quote!(if !#question { #expression; }),
                    whole => parse_quote!(if !#question { #whole }),
                };
            }
        }
    }

    fn defer(&mut self, local: &syn::Local) {
        let mut pattern = &local.pat;
        if let syn::Pat::Type(typed) = pattern {
            pattern = &typed.pat;
        }
        if let (syn::Pat::Ident(name), None) = (pattern, &local.init) {
            self.deferred.insert(name.ident.to_string());
        }
    }

    /// Whether an expression that stands as a statement may be left out, and has no statements of its own that are.
    fn may_go(&self, expression: &Expr) -> bool {
        match expression {
            Expr::If(_) | Expr::Match(_) | Expr::Loop(_) | Expr::ForLoop(_) | Expr::While(_) | Expr::Block(_) => false,
            Expr::Macro(call) => !says(&call.mac),
            Expr::Assign(assign) => match &*assign.left {
                Expr::Path(path) => {
                    !path.path.get_ident().is_some_and(|name| self.deferred.contains(&name.to_string()))
                }
                _ => true,
            },
            _ => true,
        }
    }

    fn condition(&mut self, condition: &mut Expr, may_hold: bool) {
        if has_let(condition) || is_several(condition) {
            return;
        }
        let (span, text) = (condition.span(), quote!(#condition).to_string());
        if may_hold && let Some(question) = self.question("true", span, &text) {
            *condition = parse_quote!((#question || (#condition)));
        }
        if let Some(question) = self.question("false", span, &text) {
            *condition = parse_quote!((!#question && (#condition)));
        }
    }

    fn operand(&mut self, operand: &mut Expr, is_and: bool) {
        // An operand of the same operator has operands of its own.
        if has_let(operand) || is_several(operand) {
            return;
        }
        if let Some(question) = self.question("operand", operand.span(), &quote!(#operand).to_string()) {
            *operand = match is_and {
                true => parse_quote!((#question || (#operand))),
                false => parse_quote!((!#question && (#operand))),
            };
        }
    }
}

impl Edit<'_> {
    /// A comparison with the other answer for equal operands, a difference for a sum, and the reverse.
    fn operator(&mut self, before: &Expr, expression: &mut Expr) {
        let Expr::Binary(before) = before else { return };
        let mut other = before.clone();
        other.op = match before.op {
            BinOp::Lt(_) => parse_quote!(<=),
            BinOp::Le(_) => parse_quote!(<),
            BinOp::Gt(_) => parse_quote!(>=),
            BinOp::Ge(_) => parse_quote!(>),
            BinOp::Add(_) => parse_quote!(-),
            BinOp::Sub(_) => parse_quote!(+),
            _ => return,
        };
        if let Some(question) = self.question("operator", before.span(), &quote!(#before).to_string()) {
            *expression = parse_quote!((if #question { #other } else { #expression }));
        }
    }
}

impl VisitMut for Edit<'_> {
    fn visit_item_fn_mut(&mut self, it: &mut syn::ItemFn) {
        self.function(&it.attrs, &it.sig, &mut it.block);
    }

    fn visit_impl_item_fn_mut(&mut self, it: &mut syn::ImplItemFn) {
        self.function(&it.attrs, &it.sig, &mut it.block);
    }

    fn visit_trait_item_fn_mut(&mut self, it: &mut syn::TraitItemFn) {
        if let Some(block) = &mut it.default {
            self.function(&it.attrs, &it.sig, block);
        }
    }

    fn visit_item_mod_mut(&mut self, it: &mut syn::ItemMod) {
        let stays = is_for_tests(&it.attrs);
        self.staying(stays, |edit| visit_mut::visit_item_mod_mut(edit, it));
    }

    fn visit_item_impl_mut(&mut self, it: &mut syn::ItemImpl) {
        // What Debug prints is for people.
        let is_debug = it.trait_.as_ref().is_some_and(|(_, path, _)| quote!(#path).to_string().ends_with("Debug"));
        let stays = is_debug || is_for_tests(&it.attrs);
        self.staying(stays, |edit| visit_mut::visit_item_impl_mut(edit, it));
    }

    fn visit_item_const_mut(&mut self, _it: &mut syn::ItemConst) {}

    fn visit_impl_item_const_mut(&mut self, _it: &mut syn::ImplItemConst) {}

    fn visit_item_static_mut(&mut self, _it: &mut syn::ItemStatic) {}

    fn visit_type_mut(&mut self, _it: &mut syn::Type) {}

    fn visit_pat_mut(&mut self, _it: &mut syn::Pat) {}

    fn visit_expr_repeat_mut(&mut self, it: &mut syn::ExprRepeat) {
        // The length is a constant.
        self.visit_expr_mut(&mut it.expr);
    }

    fn visit_expr_const_mut(&mut self, _it: &mut syn::ExprConst) {}

    fn visit_block_mut(&mut self, block: &mut Block) {
        self.block(block, false);
    }

    fn visit_local_mut(&mut self, local: &mut syn::Local) {
        let Some(init) = &mut local.init else { return };
        self.visit_expr_mut(&mut init.expr);
        if let Some((_, other)) = &mut init.diverge {
            self.is_end_needed = true;
            self.visit_expr_mut(other);
            self.is_end_needed = false;
        }
    }

    fn visit_expr_mut(&mut self, expression: &mut Expr) {
        // A change is one: the operands of the other operator are as they were.
        let before = expression.clone();
        visit_mut::visit_expr_mut(self, expression);
        self.operator(&before, expression);
        match expression {
            Expr::If(it) => self.condition(&mut it.cond, true),
            // A loop without an end is found by the time alone.
            Expr::While(it) => self.condition(&mut it.cond, false),
            Expr::Match(it) => {
                for (_, guard) in it.arms.iter_mut().filter_map(|arm| arm.guard.as_mut()) {
                    self.condition(guard, true);
                }
            }
            Expr::Binary(it) => {
                let is_and = match it.op {
                    BinOp::And(_) => true,
                    BinOp::Or(_) => false,
                    _ => return,
                };
                self.operand(&mut it.left, is_and);
                self.operand(&mut it.right, is_and);
            }
            _ => {}
        }
    }
}

fn is_for_tests(attributes: &[Attribute]) -> bool {
    let text = |it: &Attribute| quote!(#it).to_string();
    let is_named =
        |text: String| text.contains("cfg (test") || text.contains("cfg (loom") || text.contains("(all (test");
    attributes.iter().any(|it| it.path().is_ident("test") || is_named(text(it)))
}

fn says(call: &syn::Macro) -> bool {
    call.path.segments.last().is_some_and(|name| WORDS.contains(&&*name.ident.to_string()))
}

/// Whether a condition binds a name.
fn has_let(expression: &Expr) -> bool {
    match expression {
        Expr::Let(_) => true,
        Expr::Binary(binary) => has_let(&binary.left) || has_let(&binary.right),
        Expr::Paren(paren) => has_let(&paren.expr),
        _ => false,
    }
}

/// Whether operands are chosen in place of the whole.
fn is_several(expression: &Expr) -> bool {
    match expression {
        Expr::Binary(binary) => matches!(binary.op, BinOp::And(_) | BinOp::Or(_)),
        Expr::Paren(paren) => is_several(&paren.expr),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text in which all but these changes are made, and what was changed.
    fn rewritten(text: &str, dropped: &[usize]) -> (String, Vec<String>) {
        let mut changes = Vec::new();
        let said = rewrite("a.rs", text, &mut changes, &dropped.iter().copied().collect()).unwrap();
        (said.replace(' ', ""), changes.iter().map(|it| format!("{} {}", it.what, it.text)).collect())
    }

    #[test]
    fn statements_are_left_out() {
        let (said, changes) = rewritten("fn f() { a(); let b = c; d.e() }", &[]);
        assert_eq!(said, "fnf(){if!crate::mutant(0){a();}letb=c;if!crate::mutant(1){d.e();}}");
        assert_eq!(changes, ["statement a () ;", "statement d . e ()"]);
        let (said, _) = rewritten("fn f() -> u8 { a(); b() }", &[0]);
        assert_eq!(said, "fnf()->u8{a();b()}", "a dropped one keeps its number, and a value is none");
    }

    #[test]
    fn conditions_hold_or_do_not() {
        let (said, changes) = rewritten("fn f() { if a { b(); } }", &[]);
        let expected = "fnf(){if(!crate::mutant(2)&&((crate::mutant(1)||(a)))){if!crate::mutant(0){b();}}}";
        assert_eq!((&*said, changes.len()), (expected, 3));
        let (said, _) = rewritten("fn f() -> bool { a && (b || c) }", &[]);
        let expected = "(crate::mutant(2)||(a))&&((!crate::mutant(0)&&(b))||(!crate::mutant(1)&&(c)))";
        assert_eq!(said, format!("fnf()->bool{{{expected}}}"));
    }

    #[test]
    fn comparisons_and_sums_are_others() {
        let (said, changes) = rewritten("fn f() -> bool { a + b < [c; D + 1][0] }", &[]);
        let sum = "(ifcrate::mutant(0){a-b}else{a+b})";
        assert_eq!(said, format!("fnf()->bool{{(ifcrate::mutant(1){{a+b<=[c;D+1][0]}}else{{{sum}<[c;D+1][0]}})}}"));
        assert_eq!(changes, ["operator a + b", "operator a + b < [c ; D + 1] [0]"]);
        assert_eq!(rewritten("fn f() { match a { 1 => b == c, D..=E => d * e } }", &[]).1, Vec::<String>::new());
    }

    #[test]
    fn a_chain_with_let_stays_one() {
        let (said, _) = rewritten("fn f() -> u8 { if a && let Some(b) = c { 1 } else { 2 } }", &[]);
        assert!(said.contains("if(crate::mutant(0)||(a))&&letSome(b)=c{1}"), "{said}");
    }

    #[test]
    fn nothing_that_must_stay_is_left_out() {
        for text in [
            "const fn f() { a(); }",
            "fn f() -> u8 { let a; a = 1; a }",
            "fn f() { let Some(a) = b else { return; }; }",
            "fn f() { debug!(\"a\"); assert!(b); }",
            "#[cfg(test)] mod tests { fn f() { a(); } }",
            "static A: u8 = if B { 1 } else { 2 };",
            "impl fmt::Debug for A { fn fmt(&self) -> R { a(); b() } }",
        ] {
            assert_eq!(rewritten(text, &[]).1, Vec::<String>::new(), "{text}");
        }
    }
}
