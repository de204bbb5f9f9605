// Runs before the first paint, so that a stored theme never flashes the other one.
try {
  const theme = localStorage.getItem('forge-theme');
  if (theme === 'dark' || theme === 'light') document.documentElement.dataset.theme = theme;
} catch {
  // Storage is closed to this page; the system's theme is used.
}
