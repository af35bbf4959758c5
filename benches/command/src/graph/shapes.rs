//! The programs that are measured, as texts of `docs/plan.md`: the six of GrCUDA's paper (arXiv 2012.09646).
//!
//! The orders, the uses and the relations of sizes are the paper's. A computation with the label `multiply` is a
//! product of matrices, any other one adds arrays up ([`super::content`] has the meaning).

use overtake_plan::dag::Program;

/// Pixels, vectors and matrices of `N` bytes; arrays of eight bytes are totals.
const TEXTS: [&str; 6] = [
    // Two squares, and the sum of both.
    "VEC: square(x const, x1 discard) square(y const, y1 discard) reduce(x1 const, y1 const, total) !total const
     size N total=8",
    // Ten options that have nothing in common.
    "BS: repeat 10 i { price(x.i const, y.i discard) } repeat 10 i { !y.i const } size N",
    // Filters of a picture.
    "IMG: blur(1 const, 2 discard) blur(1 const, 3 discard) blur(1 const, 4 discard) sobel(2 const, 5 discard)
     sobel(3 const, 6 discard) maximum(4 const, 7) minimum(4 const, 8) extend(4, 7 const, 8 const)
     unsharpen(1 const, 4 const, 9 discard) combine(9 const, 3 const, 6 const, 10 discard)
     combine(10 const, 2 const, 5 const, 11 discard) !11 const size N size 7=8 8=8",
    // Naive Bayes beside a ridge regression, on the same data.
    "ML: multiply(x const, nb.features const, r1 discard) normalise(x const, z discard)
     maximum(r1 const, nb.most) multiply(z const, ridge.weights const, r2 discard)
     logarithm(r1 const, nb.most const, nb.l discard) intercept(r2, ridge.intercept const)
     exponential(r1, nb.l const) softmax(r1) softmax(r2) argmax(r1 const, r2 const, r discard) !r const
     size N nb.features=M r1=M nb.most=8 ridge.weights=M r2=M nb.l=M ridge.intercept=M r=M",
    // Hubs and authorities, five steps.
    "HITS: repeat 5 { spread(1 const, 2 discard) spread(3 const, 4 discard) sum(2 const, 5) sum(4 const, 6)
     divide(2 const, 5 const, 3) divide(4 const, 6 const, 1) } !3 const !1 const size N size 5=8 6=8",
    // Two towers of convolutions, joined by a dense layer.
    "DL: multiply(x const, k1 const, x1 discard) multiply(y const, k3 const, y1 discard)
     pool(x1 const, x11 discard) pool(y1 const, y11 discard)
     multiply(x11 const, k2 const, x2 discard) multiply(y11 const, k4 const, y2 discard)
     join(x2 const, y2 const, z discard) multiply(z const, weights const, result discard) !result const
     size M size x=N y=N",
];

/// Programs in parts, for several devices (AlbertoParravicini/grcuda-data): the same uses, sixteen or more times.
/// `y.*` are the uses of `y.0` to `y.15`.
const SPREAD: [&str; 5] = [
    "VEC: repeat 16 i { square(x.i const, x1.i discard) square(y.i const, y1.i discard)
     reduce(x1.i const, y1.i const, total.i) } repeat 16 i { !total.i const } size N total=8",
    "BS: repeat 24 i { price(x.i const, y.i discard) } repeat 24 i { !y.i const } size N",
    "ML: repeat 16 i { mean(x.i const, mean.i discard, deviation.i discard) }
     repeat 16 i { merge(mean.i const, deviation.i const, mean, deviation) }
     repeat 16 i { normalise(x.i const, mean const, deviation const, z.i discard)
     multiply(z.i const, weights const, part.i discard) multiply(x.i const, features const, bayes.i discard) }
     repeat 16 i { gather(part.i const, r2) gather(bayes.i const, r1) } softmax(r1) softmax(r2)
     argmax(r1 const, r2 const, r discard) !r const
     size M x=N z=N",
    // Conjugate gradients: the matrix and the residue in parts, three steps.
    "CG: repeat 16 i { precondition(A.i) multiply(A.i const, x const, r.i discard) } copy(p discard, r.* const)
     square(r.* const, t1)
     repeat 3 { repeat 16 i { multiply(A.i const, p const, y.i discard) } dot(p const, y.* const, t2)
     !t1 const !t2 const add(x, p const) repeat 16 i { subtract(r.i, y.i const) } square(r.* const, t1)
     !t1 const add(p, r.* const) } !x const
     size M A=N t1=8 t2=8",
    "MUL: repeat 16 i { multiply(x.i const, y const, z.i discard) } repeat 16 i { gather(z.i const, o) } !o const
     size N y=M z=M o=M",
];

/// A matrix has at most this part of the bytes of a vector.
const MATRIX_PART: u64 = 16;

/// The programs, with vectors of so many bytes.
///
/// # Panics
/// If a text has a mistake.
#[must_use]
pub fn programs(bytes: u64) -> Vec<Program> {
    parse(&TEXTS, bytes)
}

/// Those for several devices.
///
/// # Panics
/// As [`programs`].
#[must_use]
pub fn spread(bytes: u64) -> Vec<Program> {
    let all = |name: &str| (0..16).map(|part| format!("{name}.{part} const")).collect::<Vec<_>>().join(", ");
    let spelled = |text: &str| text.replace("r.* const", &all("r")).replace("y.* const", &all("y"));
    parse(&SPREAD.map(spelled), bytes)
}

fn parse(texts: &[impl AsRef<str>], bytes: u64) -> Vec<Program> {
    // Matrices are square, of 32-bit numbers.
    let side = (bytes / MATRIX_PART / 4).isqrt().max(8);
    let sized = |text: &str| text.replace('M', &(4 * side * side).to_string());
    let texts = texts.iter().filter_map(|text| {
        let (name, rest) = text.as_ref().split_once(':')?;
        Some(format!("{name}:{}", sized(rest).replace('N', &bytes.to_string())))
    });
    texts.map(|text| Program::parse(&text).unwrap_or_else(|fault| panic!("{text}: {}", fault.message))).collect()
}
