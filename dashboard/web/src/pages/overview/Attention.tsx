import { ChevronRight, CircleAlert, CircleCheck } from 'lucide-react';
import { Link } from 'wouter';
import type { Overview } from '../../api/types';
import { cx } from '../../ui/classes';
import styles from './Attention.module.css';
import { concernsOf } from './attention';

/** What needs a person, above all else; one calm line when nothing does. */
export function Attention({ overview }: { overview: Overview }) {
  const concerns = concernsOf(overview);
  if (concerns.length === 0) {
    return (
      <p className={styles.well}>
        <CircleCheck aria-hidden="true" />
        Nothing needs attention
      </p>
    );
  }
  return (
    <section aria-label="Needs attention">
      <ul className={styles.list}>
        {concerns.map((concern) => (
          <li key={concern.text}>
            <Link href={concern.href} className={cx(styles.concern, styles[concern.tone])}>
              <CircleAlert aria-hidden="true" />
              <span className={styles.words}>
                <span className={styles.text}>{concern.text}</span>
                <span className={styles.hint}>{concern.hint}</span>
              </span>
              <ChevronRight aria-hidden="true" className={styles.arrow} />
            </Link>
          </li>
        ))}
      </ul>
    </section>
  );
}
