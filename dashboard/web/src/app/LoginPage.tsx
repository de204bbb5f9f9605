import { type FormEvent, useState } from 'react';
import { messageOf } from '../api/errors';
import { useLogIn } from '../api/session';
import { Button } from '../ui/Button';
import { Field } from '../ui/Field';
import styles from './LoginPage.module.css';

/** `linkError`: why a link with a token did not log in. */
export function LoginPage({ linkError }: { linkError?: unknown }) {
  const [token, setToken] = useState('');
  const logIn = useLogIn();
  const error = logIn.error ?? linkError;
  function submit(event: FormEvent) {
    event.preventDefault();
    const trimmed = token.trim();
    if (trimmed) logIn.mutate(trimmed);
  }
  return (
    <main className={styles.page}>
      <form className={styles.card} onSubmit={submit}>
        <div className={styles.brand}>
          <img src="/mark.svg" alt="" width="36" height="36" />
          <h1>Forge Fleet</h1>
        </div>
        <Field
          label="Token"
          type="password"
          autoComplete="current-password"
          required
          value={token}
          onChange={(event) => setToken(event.target.value)}
          error={error ? messageOf(error) : undefined}
        />
        <Button look="primary" type="submit" busy={logIn.isPending}>
          Log in
        </Button>
        <p className={styles.hint}>
          The hub printed its administrator token when it first started and keeps it beside its database, in{' '}
          <code>forge-fleet.secret</code>. An administrator can make a read-only token in Settings.
        </p>
      </form>
    </main>
  );
}
