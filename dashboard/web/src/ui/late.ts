import { type ComponentType, useEffect, useState } from 'react';

/**
 * A component whose code is fetched when it is first wanted. React's own `lazy` would do, but once its
 * fallback has been drawn it keeps it for 300 ms, so that pages do not flicker; here everything is
 * a few milliseconds away, and whoever opens a page should not wait for that.
 */
export class LateCode<Props = object> {
  #loading: Promise<void> | undefined;
  component: ComponentType<Props> | undefined;
  error: unknown;

  constructor(private readonly fetchCode: () => Promise<{ default: ComponentType<Props> }>) {}

  /** Ends when the code is here or cannot be had. */
  load(): Promise<void> {
    this.#loading ??= this.fetchCode().then(
      (module) => {
        this.component = module.default;
      },
      (error: unknown) => {
        this.error = error;
      },
    );
    return this.#loading;
  }
}

/** The component, once it is here. Throws what kept it from coming. */
export function useLate<Props>(code: LateCode<Props>): ComponentType<Props> | undefined {
  const [, drawAgain] = useState(0);
  useEffect(() => {
    if (code.component || code.error) return;
    let wanted = true;
    void code.load().then(() => wanted && drawAgain((times) => times + 1));
    return () => {
      wanted = false;
    };
  }, [code]);
  if (code.error) throw code.error;
  return code.component;
}
