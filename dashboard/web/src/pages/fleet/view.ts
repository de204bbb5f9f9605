/** Whether the fleet is shown as cards or as rows, remembered in this browser. */
const STORED_AS = 'forge-fleet-view';

export type FleetView = 'cards' | 'rows';

export function rememberedView(): FleetView {
  try {
    return localStorage.getItem(STORED_AS) === 'rows' ? 'rows' : 'cards';
  } catch {
    return 'cards';
  }
}

export function rememberView(view: FleetView): void {
  try {
    localStorage.setItem(STORED_AS, view);
  } catch {
    // Storage is closed to this page; the choice lasts until it is left.
  }
}
