fn main() {
    // First of all, because a supervisor must never have a second thread.
    if std::env::args_os().nth(1).is_some_and(|argument| argument == "__supervise") {
        forge_agent::supervise::main();
    }
}
