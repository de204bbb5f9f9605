import './ui/tokens.css';
import './ui/base.css';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { newQueryClient } from './api/queries';
import { askForSession } from './api/session';
import { App } from './app/App';
import { keepAddressesNew, pageAt } from './app/addresses';

keepAddressesNew();

const client = newQueryClient();
// The session and the page's code are on their way while the first drawing is prepared.
askForSession(client);
void pageAt(location.pathname)?.code.load();

const root = document.getElementById('root');
if (!root) throw new Error('index.html has no #root');
createRoot(root).render(
  <StrictMode>
    <App client={client} />
  </StrictMode>,
);
