/**
 * Every page of the dashboard. To add one, write its file with a default export and add a line
 * here: navigation, palette, shortcuts, redirects and permissions follow from it.
 */
import {
  CalendarClock,
  Gauge,
  Layers,
  ListTodo,
  type LucideIcon,
  Plus,
  RefreshCw,
  Server,
  Settings,
  Skull,
} from 'lucide-react';
import type { Operation } from '../api/scopes';
import type { Overview } from '../api/types';
import { LateCode } from '../ui/late';

export interface PageEntry {
  /** With `:name` for what varies; the page reads it with wouter's `useParams`. */
  path: string;
  title: string;
  icon: LucideIcon;
  code: LateCode;
  /** Only who may call this sees the page. */
  needs: Operation;
  /** `g`, then this key, opens the page. */
  key?: string;
  /** Stands in the navigation; the first four also in a phone's bottom bar. */
  inNavigation?: boolean;
  /** A figure beside its name in the navigation. */
  count?: (overview: Overview) => number;
  /** Addresses of other systems that lead here. */
  old?: Record<string, string>;
}

export const pages: PageEntry[] = [
  {
    path: '/',
    title: 'Overview',
    icon: Gauge,
    key: 'o',
    needs: 'overview',
    inNavigation: true,
    code: new LateCode(() => import('../pages/overview/OverviewPage')),
    old: { '/overview': '/', '/job-metrics': '/' },
  },
  {
    path: '/fleet',
    title: 'Fleet',
    icon: Server,
    key: 'f',
    needs: 'fleet',
    inNavigation: true,
    code: new LateCode(() => import('../pages/fleet/FleetPage')),
    old: { '/worker-processes': '/fleet', '/workers': '/fleet' },
  },
  {
    path: '/fleet/add',
    title: 'Add a machine',
    icon: Plus,
    needs: 'create_token',
    code: new LateCode(() => import('../pages/fleet/AddMachinePage')),
  },
  {
    path: '/fleet/:id',
    title: 'Machine',
    icon: Server,
    needs: 'fleet',
    code: new LateCode(() => import('../pages/fleet/MachinePage')),
  },
  {
    path: '/jobs',
    title: 'Jobs',
    icon: ListTodo,
    key: 'j',
    needs: 'list_jobs',
    inNavigation: true,
    code: new LateCode(() => import('../pages/jobs/JobsPage')),
    old: { '/job-queues/:queue*': '/jobs?queue=:queue' },
  },
  {
    path: '/jobs/new',
    title: 'New job',
    icon: Plus,
    key: 'n',
    needs: 'enqueue',
    code: new LateCode(() => import('../pages/jobs/NewJobPage')),
  },
  {
    path: '/jobs/:id',
    title: 'Job',
    icon: ListTodo,
    needs: 'list_jobs',
    code: new LateCode(() => import('../pages/job/JobPage')),
  },
  {
    path: '/queues',
    title: 'Queues',
    icon: Layers,
    key: 'q',
    needs: 'overview',
    inNavigation: true,
    code: new LateCode(() => import('../pages/queues/QueuesPage')),
    old: { '/job-queues': '/queues' },
  },
  {
    path: '/scheduled',
    title: 'Scheduled',
    icon: CalendarClock,
    key: 's',
    needs: 'list_jobs',
    inNavigation: true,
    count: ({ views }) => views.scheduled,
    code: new LateCode(() => import('../pages/scheduled/ScheduledPage')),
    old: { '/scheduled-jobs': '/scheduled' },
  },
  {
    path: '/retries',
    title: 'Retries',
    icon: RefreshCw,
    key: 'r',
    needs: 'list_jobs',
    inNavigation: true,
    count: ({ views }) => views.retrying,
    code: new LateCode(() => import('../pages/retries/RetriesPage')),
  },
  {
    path: '/dead',
    title: 'Dead',
    icon: Skull,
    key: 'd',
    needs: 'list_jobs',
    inNavigation: true,
    count: ({ views }) => views.dead,
    code: new LateCode(() => import('../pages/dead/DeadPage')),
    old: { '/dead-jobs': '/dead' },
  },
  {
    path: '/settings',
    title: 'Settings',
    icon: Settings,
    key: ',',
    needs: 'list_solvers',
    inNavigation: true,
    code: new LateCode(() => import('../pages/settings/SettingsPage')),
  },
];
