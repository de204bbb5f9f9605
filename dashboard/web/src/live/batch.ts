/** Gathers live messages and hands them on together, once per frame that the page draws. */
import type { LiveMessage } from './messages';

/** More than this in one go and reading everything anew is cheaper than applying each. */
export const BATCH_MAX = 5_000;
/** A hidden page draws no frames; it still keeps up, at leisure. */
const HIDDEN_EVERY_MS = 1_000;

export class Batcher {
  #waiting: LiveMessage[] = [];
  #scheduled = false;
  #deliver: (messages: LiveMessage[]) => void;

  constructor(deliver: (messages: LiveMessage[]) => void) {
    this.#deliver = deliver;
  }

  add(messages: LiveMessage[]): void {
    this.#waiting.push(...messages);
    if (this.#waiting.length > BATCH_MAX) this.#waiting = [{ topic: 'reset' }];
    if (this.#scheduled) return;
    this.#scheduled = true;
    if (document.hidden) setTimeout(this.#flush, HIDDEN_EVERY_MS);
    else requestAnimationFrame(this.#flush);
  }

  #flush = (): void => {
    this.#scheduled = false;
    const messages = this.#waiting;
    this.#waiting = [];
    if (messages.length > 0) this.#deliver(messages);
  };
}
