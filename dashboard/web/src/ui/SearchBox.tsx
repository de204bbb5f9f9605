import { Search } from 'lucide-react';
import { useId } from 'react';
import styles from './SearchBox.module.css';

interface SearchBoxProps {
  /** What is searched, for screen readers. */
  label: string;
  placeholder: string;
  value: string;
  onChange: (text: string) => void;
}

/** A text that filters what is shown. */
export function SearchBox({ label, placeholder, value, onChange }: SearchBoxProps) {
  const id = useId();
  return (
    <div className={styles.box}>
      <Search aria-hidden="true" />
      <label htmlFor={id} className="visually-hidden">
        {label}
      </label>
      <input
        id={id}
        type="search"
        placeholder={placeholder}
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
    </div>
  );
}
