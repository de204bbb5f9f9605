/** Runs something at once, then at most once in a while and never twice at a time; forgets no call. */
export class Pacer {
  #everyMs: number;
  #run: () => Promise<void>;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #busy = false;
  #again = false;

  constructor(everyMs: number, run: () => Promise<void>) {
    this.#everyMs = everyMs;
    this.#run = run;
  }

  ask(): void {
    if (this.#busy) {
      this.#again = true;
      return;
    }
    this.#busy = true;
    this.#again = false;
    void this.#run().finally(() => {
      this.#timer = setTimeout(() => {
        this.#busy = false;
        if (this.#again) this.ask();
      }, this.#everyMs);
    });
  }

  /** Forgets what was asked for. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#busy = false;
    this.#again = false;
  }
}
