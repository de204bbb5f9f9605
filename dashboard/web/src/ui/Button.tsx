import type { ButtonHTMLAttributes, ReactNode } from 'react';
import { Link } from 'wouter';
import styles from './Button.module.css';
import { cx } from './classes';

type Look = 'plain' | 'primary' | 'danger' | 'quiet';

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  look?: Look;
  icon?: ReactNode;
  /** Shows that the action is under way and refuses another click. */
  busy?: boolean;
}

export function Button({
  look = 'plain',
  icon,
  busy = false,
  className,
  children,
  disabled,
  ...rest
}: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      className={cx(styles.button, styles[look], className)}
      disabled={disabled || busy}
      aria-busy={busy || undefined}
    >
      {icon}
      {children}
    </button>
  );
}

interface IconButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  /** What it does: read by screen readers and shown on hover. */
  label: string;
  icon: ReactNode;
}

export function IconButton({ label, icon, className, ...rest }: IconButtonProps) {
  return (
    <button type="button" {...rest} aria-label={label} title={label} className={cx(styles.icon, className)}>
      {icon}
    </button>
  );
}

interface LinkButtonProps {
  href: string;
  look?: Look;
  icon?: ReactNode;
  children: ReactNode;
}

/** Looks like a button, leads to a page. */
export function LinkButton({ href, look = 'plain', icon, children }: LinkButtonProps) {
  return (
    <Link href={href} className={cx(styles.button, styles[look])}>
      {icon}
      {children}
    </Link>
  );
}
