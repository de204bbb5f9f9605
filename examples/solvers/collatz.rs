//! Finds the start below a limit whose Collatz sequence is longest. Params: `{"below": 1000000}`.
//!
//! Built with nothing but the compiler, `rustc -O collatz.rs`, so it reads its one number by hand.

use std::{io::Read, process::exit};

fn main() {
    let mut params = String::new();
    std::io::stdin().read_to_string(&mut params).expect("params come on standard input");
    let digits: String = params.chars().filter(char::is_ascii_digit).collect();
    let below: u64 = match digits.parse() {
        Ok(below) if below > 1 => below,
        _ => {
            eprintln!("params must be like {{\"below\": 1000000}}");
            exit(100);
        }
    };
    let (mut best, mut longest) = (1, 1);
    for start in 1..below {
        let (mut n, mut steps) = (start, 1);
        while n != 1 {
            n = if n % 2 == 0 { n / 2 } else { 3 * n + 1 };
            steps += 1;
        }
        if steps > longest {
            (best, longest) = (start, steps);
        }
    }
    println!("{{\"start\": {best}, \"steps\": {longest}}}");
}
