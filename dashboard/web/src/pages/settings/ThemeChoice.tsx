import { Monitor, Moon, Sun } from 'lucide-react';
import { setTheme, useTheme } from '../../app/theme';
import { Card } from '../../ui/Layout';
import { Segments } from '../../ui/Segments';
import styles from './Settings.module.css';

export function ThemeChoice() {
  const theme = useTheme();
  return (
    <Card title="Theme">
      <p className={styles.hint}>Remembered in this browser.</p>
      <Segments
        label="Theme"
        options={[
          { value: 'system', label: 'As the system', icon: <Monitor aria-hidden="true" /> },
          { value: 'dark', label: 'Dark', icon: <Moon aria-hidden="true" /> },
          { value: 'light', label: 'Light', icon: <Sun aria-hidden="true" /> },
        ]}
        chosen={theme}
        onChoose={setTheme}
      />
    </Card>
  );
}
