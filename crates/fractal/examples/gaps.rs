fn main() {
    let n: usize = std::env::args().nth(1).unwrap().parse().unwrap();
    let mut s = fdconvert_fractal::Search::new(1, 0.2).unwrap();
    let t = std::time::Instant::now();
    s.run(n, &mut |_| true).unwrap();
    println!("{} tried {} in {:?}", n, s.tried(), t.elapsed());
}
